"""Plays of rounds in which a person takes the place of an agent: what they are asked in which step, and of what.

The rounds of a person are a pure function of the game and of the seed, whoever the other agents are; what is said in
them is not. The play itself, which asks the others, is run by `ecsuite.people.plays`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.registry import PLAYS
from ecsuite.games.config.sections import Experiment
from ecsuite.games.participants.exemplars import Exemplars
from ecsuite.games.participants.language_model import LanguageModel
from ecsuite.games.participants.participant import Round, label
from ecsuite.games.plays.play import make_play
from ecsuite.games.plays.rounds import Rounds
from ecsuite.language_models.backend import Page
from ecsuite.parts.registry import Part
from ecsuite.people.game import Shown
from ecsuite.people.study import Study
from ecsuite.runtime.errors import ConfigError

SPEAKS, LISTENS, NAMES = "round_speaking", "round_listening", "round_test"
"""Kinds of steps: in a test nobody listens."""
OVER = "round_over"
"""The kind of the step after the last one, while the others have not done yet."""
MOST_GAMES = 1024
EXEMPLARS = Part("exemplars", Exemplars.Options())


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundsGame:
    """One participant's side of a play of rounds."""

    rounds: tuple[tuple[int, Shown], ...]
    """By step, the number of the round and what it shows."""
    candidates: tuple[tuple[int, ...], ...]
    """By step, what the listener chooses among; nothing where all things can be answered, or names."""
    things: tuple[str, ...]
    """What rounds are about, in words."""
    are_named: bool
    """Whether listeners answer by a name, and not by a thing."""
    first_available = max_available = 0
    has_pictures = False

    @property
    def num_examples(self) -> int:
        """Rounds of the person."""
        return len(self.rounds)

    @property
    def num_steps(self) -> int:
        """The same, and a last step, in which the end of the play is waited for."""
        return len(self.rounds) + 1

    def example_of(self, step: int) -> int:
        """The round of a step, from 0."""
        return min(step, len(self.rounds) - 1)

    def shown(self, step: int, num_available: int) -> Shown:
        """What a step is about."""
        return self.rounds[step][1] if step < len(self.rounds) else Shown(kind=OVER, thing=-1)

    def available_after(self, step: int, shown: Shown, num_available: int) -> int:
        """Nothing is taught here: the prompts tell it."""
        return 0

    def name_of(self, thing: int) -> str:
        """A thing in words."""
        return self.things[thing]

    def right_answer(self, step: int, shown: Shown) -> str:
        """Of a listener the thing; nothing is right or wrong of what is said, and of names it shows later."""
        return self.things[shown.thing] if shown.kind == LISTENS and not self.are_named else ""

    def chosen(self, step: int, typed: str) -> str:
        """What an answer stands for: of a label, the thing in words."""
        labels = [label(n) for n in range(len(self.candidates[step]))]
        is_label = self.rounds[step][1].kind == LISTENS and typed in labels
        return self.things[self.candidates[step][labels.index(typed)]] if is_label else typed

    def is_right(self, step: int, shown: Shown, typed: str) -> bool:
        """False: it shows when the round is over."""
        return False

    def told(self, step: int, shown: Shown, typed: str) -> str:
        """Nothing: see `outcome`."""
        return ""

    def outcome(self, step: int, played: Round) -> str:
        """What came of a round, for the person."""
        speaks = self.rounds[step][1].kind == SPEAKS
        if played.candidates or played.phase:
            if not speaks:
                return "Right." if played.success else f"Wrong: it was {self.things[played.thing]}."
            return "Understood." if played.success else f"Your partner took it for {played.answer}."
        if played.success:
            return "The same name." if played.answer else "Your partner knows this name."
        other = played.answer if speaks else played.message
        return f"Your partner said {other}." if other else "Your partner does not know this name."

    def points(self, num_available: int) -> int:
        """Points of a round that succeeded."""
        return 1

    def view(self, step: int, shown: Shown, names_objects: bool) -> dict[str, Any]:
        """Nothing: `Plays.view` has the question."""
        return {}

    def panel(self, num_available: int, names_objects: bool) -> list[dict[str, Any]]:
        """Nothing is taught here."""
        return []

    def step_picture(self, step: int, shown: Shown) -> None:
        """None: what a model reads, a person reads."""

    def choice_picture(self, step: int, shown: Shown, place: int) -> None:
        """None."""

    def panel_picture(self, place: int) -> None:
        """None."""


def rounds_game(study: Study, row: Mapping[str, Any]) -> RoundsGame:
    """The game of a participant, who is given as stored."""
    return _game(study.play, row["seed"])


def try_play(study: Study) -> None:
    """Refuse a play that can't begin, such as one whose server has no key, by `ConfigError`."""
    experiment, _ = with_person(study.play, study.seed)
    play = make_play(experiment, torch.device("cpu"))
    assert isinstance(play, Rounds)
    for each in play.participants:
        if isinstance(each, LanguageModel) and not isinstance(
            each.backend, Page
        ):  # who comes to the page later
            each.check()
    rounds_game(study, {"seed": study.seed})


@lru_cache(maxsize=MOST_GAMES)
def _game(name: str, seed: int) -> RoundsGame:
    experiment, agent = with_person(name, seed)
    options = replace(experiment.play.options, participant=EXEMPLARS, other=EXEMPLARS)
    others = replace(experiment, play=Part(experiment.play.kind, options))
    play = make_play(others, torch.device("cpu"))
    assert isinstance(play, Rounds)
    steps = play.steps_per_epoch * experiment.training.num_epochs
    plans = [
        plan for step in range(steps) for plan in play.planned(step) if agent in (plan.speaker, plan.listener)
    ]
    if not plans:
        raise ConfigError(f"{name}: the person is in no round: expected more training.num_examples")
    return RoundsGame(
        rounds=tuple(
            (plan.number, Shown(kind=_kind(plan.speaker == agent, plan.listener), thing=plan.thing))
            for plan in plans
        ),
        candidates=tuple(plan.candidates for plan in plans),
        things=play.things,
        are_named=play.task == "naming",
    )


def _kind(speaks: bool, listener: int) -> str:
    return NAMES if listener < 0 else SPEAKS if speaks else LISTENS


def is_of_rounds(experiment: Experiment) -> bool:
    """Whether a game is a play of rounds."""
    return issubclass(PLAYS.load(experiment.play.kind), Rounds)


def with_person(name: str, seed: int) -> tuple[Experiment, int]:
    """A game in which a person takes the place of an agent: that which is asked at a page, or else the last one.

    Returns:
        The game, and the number of the person.

    Raises:
        ConfigError: If it is no play of rounds, or several agents would be persons.
    """
    settings = [f"training.seed={seed}"]
    experiment = load_experiment(name, settings)
    if not is_of_rounds(experiment):
        raise ConfigError(
            f"{name}: expected the run folder of a signalling game, or a game of rounds (naming, talk), got play "
            f"{experiment.play.kind}"
        )
    if not any(_persons(experiment)):
        if experiment.play.options.num_others:
            raise ConfigError(
                f"{name}: play.other: expected {{kind: language_model, backend: page}} for the person, or "
                "play.num_others: 0"
            )
        settings += ["play.num_others=1", "play.other=language_model,backend=page"]
        if (
            model := experiment.play.options.participant
        ).kind == "language_model":  # whose prompt is then read
            settings += [f"play.other.{name}={getattr(model.options, name)}" for name in ("prompt", "memory")]
        experiment = load_experiment(name, settings)
    persons = [agent for agent, is_person in enumerate(_persons(experiment)) if is_person]
    if len(persons) > 1:
        raise ConfigError(f"{name}: play: one agent may be a person at a page, got {len(persons)}")
    return experiment, persons[0]


def _persons(experiment: Experiment) -> Sequence[bool]:
    """Of each agent, whether it is a person at a page."""
    options = experiment.play.options
    first = options.agents - options.num_others
    parts = [options.participant] * first + [options.other] * options.num_others
    return [part.kind == "language_model" and part.options.backend.kind == "page" for part in parts]
