"""Checks of meetings: who plays with whom, in societies of several sizes, and whether their runs can be repeated."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ecsuite.games.config.experiment import from_tree
from ecsuite.games.config.registry import MEETINGS
from ecsuite.games.players.meetings import Meeting, Meetings
from ecsuite.parts.strict_yaml import load_yaml
from ecsuite.testing.check import Check, bound, require
from ecsuite.testing.games import training_repeats, training_resumes
from ecsuite.testing.trial import Trial

SOCIETY = ("society.senders=4", "society.receivers=4")
"""In which meetings are tried, unless the user gives another one."""


def checks(kind: str, name: str, settings: Sequence[str]) -> list[Check]:
    """The checks of meetings. See `ecsuite.testing.checks`."""
    given = (
        tuple(settings) if any(each.startswith("society.") for each in settings) else (*SOCIETY, *settings)
    )
    trial = Trial.of(kind, name, given)
    trained = [Check((each.__doc__ or "").rstrip("."), partial(each, trial)) for each in TRAINED]
    return [*bound(ALL, lambda: trial), *trained]


def _pairs(trial: Trial, seed: int = 1) -> list[Meeting]:
    society = trial.experiment.society
    meetings: Meetings = MEETINGS.make(society.meets)
    numbers: Any = society.number("sender"), society.number("receiver")
    return meetings.pairs(*numbers, are_agents=society.agents is not None, seed=seed)


def options_survive_yaml(trial: Trial) -> None:
    """Its options are the same after they were written to YAML and read again."""
    again = from_tree(load_yaml(trial.experiment.to_yaml()), "config.yaml")
    require(again == trial.experiment, f"written {trial.experiment.society.meets}, read another")


def pairs_are_of_the_society(trial: Trial) -> None:
    """Pairs are of senders and receivers that there are, with weights above 0, and take place in some epoch."""
    society = trial.experiment.society
    for pair in _pairs(trial):
        is_there = 0 <= pair.sender < society.number("sender") and 0 <= pair.receiver < society.number(
            "receiver"
        )
        require(is_there, f"{pair}: there is no such sender or receiver")
        require(0 < pair.weight < float("inf"), f"{pair}: expected a weight above 0")
        require(
            pair.since >= 0 and (pair.until is None or pair.until > pair.since),
            f"{pair}: it never takes place",
        )


def a_seed_gives_the_same_pairs(trial: Trial) -> None:
    """The same seed gives the same pairs."""
    require(_pairs(trial) == _pairs(trial), "two calls with one seed differ")


def everyone_meets_someone(trial: Trial) -> None:
    """Everyone meets someone, no pair is there twice in an epoch, and agents do not meet themselves."""
    trial.play()


ALL = (options_survive_yaml, pairs_are_of_the_society, a_seed_gives_the_same_pairs, everyone_meets_someone)
TRAINED = (training_repeats, training_resumes)
