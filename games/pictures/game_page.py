"""A game on one page: what agents see, say, answer and are rewarded for, and one round."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.games.channels.channels import Channel
from ecsuite.games.config.registry import CHANNELS, LOSSES, MEETINGS, PLAYS, TASKS
from ecsuite.games.config.sections import Experiment
from ecsuite.games.pictures.rounds import make_preview
from ecsuite.games.plays.play import play_class
from ecsuite.games.training.notes import agents_text, candidates_text, objects_text, words_text
from ecsuite.games.worlds.world import World, make_world
from ecsuite.parts.registry import Part, Registry
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class GamePage:
    """A game for people."""

    facts: dict[str, str]
    """What is seen, said, asked, rewarded and so on, a sentence or two each."""
    round: list[str]
    """One round of training, a line an object; empty where there is none to tell."""


def game_page(experiment: Experiment) -> GamePage:
    """What a game is. Where its data are not there, the page says so in the place of what is seen.

    Args:
        experiment: The game.
    """
    if not play_class(experiment).can_speak:
        play = experiment.play
        return GamePage(facts={"played": _sentences(PLAYS, play), **_training(experiment, None)}, round=[])
    world, seen, drawn = _seen(experiment)
    chance = None
    if world is not None:
        chance = TASKS.make(experiment.task, world=world, state_size=1).chance()
    channel: Channel = CHANNELS.make(experiment.channel)
    facts = {
        "seen": seen,
        "said": f"{words_text(channel, experiment)}. {_line(CHANNELS, experiment.channel)}",
        "by": _agents(experiment),
        "asked": _sentences(TASKS, experiment.task),
        "rewarded": _line(LOSSES, experiment.loss),
        **({} if chance is None else {"chance": _levels(chance)}),
        **_training(experiment, world),
    }
    return GamePage(facts=facts, round=drawn)


def _seen(experiment: Experiment) -> tuple[World | None, str, list[str]]:
    """The world, what is seen of it, and a round; without its data no world and no round."""
    try:
        world = make_world(experiment)
        preview = make_preview(experiment, num_rounds=1)
    except ConfigError as error:
        return None, f"Not known without its data: {error}.", []
    text = f"{objects_text(world)}. {_who_sees(world)}"
    if preview.has_images:
        return world, f"{text} `ecsuite show {experiment.name}` draws them.", []
    return world, text, preview.lines()[2:]


def _who_sees(world: World) -> str:
    """What the sender and the receiver see in a round."""
    spec = world.rounds
    what = "the target" if world.num_targets == 1 else f"{world.num_targets} targets"
    shown = what + (" and the distractors" if spec.sender_sees_all else "")
    if spec.in_batch or world.num_distractors or world.num_targets > 1:
        choice = f"chooses{candidates_text(world)}"
    else:
        choice = "sees the message"
    return f"The sender sees {shown}; the receiver {choice}."


def _agents(experiment: Experiment) -> str:
    """Who plays."""
    agents = agents_text(experiment)
    if experiment.is_society:
        agents += f", who meet: {_line(MEETINGS, experiment.society.meets)}"
    lines = {_line(SENDERS, experiment.sender), _line(RECEIVERS, experiment.receiver)}
    return agents if experiment.sender.kind == "recurrent" else f"{agents}. {' '.join(sorted(lines))}"


def _training(experiment: Experiment, world: World | None) -> dict[str, str]:
    """How long it is trained."""
    training = experiment.training
    num_rounds = training.num_examples if world is None else world.num_train
    steps = -(-num_rounds // training.batch_size) * training.num_epochs
    text = f"{steps:,} steps: {training.num_epochs} epochs of {num_rounds:,} rounds, {training.batch_size:,} a step"
    return {"trained": text}


def _levels(chance: Mapping[str, float]) -> str:
    """Chance levels: what the best answer that reads no message is worth."""
    levels = ", ".join(f"{name.replace('_', ' ')} {level:.3g}" for name, level in chance.items())
    return f"{levels}: the best answer that reads no message"


def _line(registry: Registry, part: Part) -> str:
    """The line about a part, as a sentence; of a user's own part the first of its docstring."""
    line = registry.lines().get(part.kind)
    return _sentences(registry, part) if line is None else f"{line[0].upper()}{line[1:]}."


def _sentences(registry: Registry, part: Part) -> str:
    """The first paragraphs of the docstring of a part, up to what it raises."""
    text = (inspect.getdoc(registry.load(part.kind)) or part.kind).partition("\n\nRaises:")[0]
    return " ".join(text.partition("\n\nArgs:")[0].split())
