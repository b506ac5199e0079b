"""Description of a game on one page: observations, messages, answers, rewards, and one round."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.games.channels.channels import Channel
from ecsuite.games.config.registry import CHANNELS, LOSSES, MEETINGS, PLAYS, TASKS
from ecsuite.games.config.sections import Experiment
from ecsuite.games.pictures.rounds import make_preview
from ecsuite.games.plays.notes import agents_text, candidates_text, objects_text, words_text
from ecsuite.games.plays.play import play_class
from ecsuite.games.worlds.world import World, make_world
from ecsuite.parts.registry import Part, Registry
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class GamePage:
    """Description of a game for readers."""

    facts: dict[str, str]
    """Sentences by topic: seen, said, asked, rewarded and so on."""
    round: list[str]
    """One training round, a line per object; empty if it can't be shown as text."""


def game_page(experiment: Experiment) -> GamePage:
    """Describe a game. If its data are missing, the page says so instead of describing the objects.

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
    words = words_text(channel, experiment.training, experiment.evaluation)
    facts = {
        "seen": seen,
        "said": f"{words}. {_line(CHANNELS, experiment.channel)}",
        "by": _agents(experiment),
        "asked": _sentences(TASKS, experiment.task),
        "rewarded": _line(LOSSES, experiment.loss),
        **({} if chance is None else {"chance": _levels(chance)}),
        **_training(experiment, world),
    }
    return GamePage(facts=facts, round=drawn)


def _seen(experiment: Experiment) -> tuple[World | None, str, list[str]]:
    """World, text about its objects, and lines of a round; if data are missing: None, the reason, and no lines."""
    try:
        world = make_world(experiment)
        preview = make_preview(experiment, num_rounds=1)
    except ConfigError as error:
        return None, f"Not known without its data: {error}.", []
    text = f"{objects_text(world)}. {_view_sentence(world)}"
    if preview.has_images:
        return world, f"{text} `ecsuite show {experiment.name}` draws them.", []
    return world, text, preview.lines()[2:]


def _view_sentence(world: World) -> str:
    """Sentence about the objects that sender and receiver see in a round."""
    spec = world.rounds
    what = "the target" if world.num_targets == 1 else f"{world.num_targets} targets"
    shown = what + (" and the distractors" if spec.sender_sees_all else "")
    if spec.in_batch or world.num_distractors or world.num_targets > 1:
        choice = f"chooses{candidates_text(world)}"
    else:
        choice = "sees the message"
    return f"The sender sees {shown}; the receiver {choice}."


def _agents(experiment: Experiment) -> str:
    """Text about the agents and their meetings."""
    agents = agents_text(experiment.sender, experiment.receiver, experiment.society)
    if experiment.is_society:
        agents += f", who meet: {_line(MEETINGS, experiment.society.meets)}"
    lines = {_line(SENDERS, experiment.sender), _line(RECEIVERS, experiment.receiver)}
    return agents if experiment.sender.kind == "recurrent" else f"{agents}. {' '.join(sorted(lines))}"


def _training(experiment: Experiment, world: World | None) -> dict[str, str]:
    """Length of training: steps, epochs and rounds."""
    training = experiment.training
    num_rounds = training.num_examples if world is None else world.num_train
    steps = -(-num_rounds // training.batch_size) * training.num_epochs
    text = f"{steps:,} steps: {training.num_epochs} epochs of {num_rounds:,} rounds, {training.batch_size:,} per step"
    return {"trained": text}


def _levels(chance: Mapping[str, float]) -> str:
    """Text of the chance levels: measures of the best answers that ignore the message."""
    levels = ", ".join(f"{name.replace('_', ' ')} {level:.3g}" for name, level in chance.items())
    return f"{levels}: the best answer that ignores the message"


def _line(registry: Registry, part: Part) -> str:
    """One-line description of a part, as a sentence; for user code, from its docstring."""
    line = registry.lines().get(part.kind)
    return _sentences(registry, part) if line is None else f"{line[0].upper()}{line[1:]}."


def _sentences(registry: Registry, part: Part) -> str:
    """Docstring of a part, without its sections Args and Raises."""
    text = (inspect.getdoc(registry.load(part.kind)) or part.kind).partition("\n\nRaises:")[0]
    return " ".join(text.partition("\n\nArgs:")[0].split())
