"""Participants of a play of rounds: each answers when it is asked, and takes note of the rounds that it was in.

One participant stands for all agents of its kind, which are told apart by their numbers.

    class Parrot(Participant):             # says what it heard last
        def answer(self, ask, rng):
            return next((each.message for each in reversed(ask.memory)), ask.allowed.drawn(rng))
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
import torch

from ecsuite.language_models.asking import Cost
from ecsuite.language_models.backend import Allowed, Person
from ecsuite.parts.own_code import NoOptions


class Round(msgspec.Struct, array_like=True, frozen=True):
    """One round. A play of rounds is its rounds: all else follows from them."""

    speaker: int
    listener: int
    """-1: nobody listened, as in a test."""
    thing: int
    """Number of the meaning that it was about."""
    message: str
    """The message of the speaker."""
    answer: str
    """The answer of the listener: a name, or its interpretation of the message."""
    success: bool
    candidates: tuple[int, ...] = ()
    """Candidates of the listener."""
    phase: str = ""
    """The phase of the play, if it has several."""
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to an agent."""

    agent: int
    role: Literal["speaker", "listener"]
    task: str
    """naming, discrimination or reconstruction."""
    thing: int
    """The meaning that the speaker sees; -1 for a listener, unless it sees the meaning, too."""
    allowed: Allowed
    """Allowed answers."""
    memory: Sequence[Round]
    """The rounds that the agent was in, the oldest first."""
    message: str = ""
    """The message that the listener receives."""
    candidates: tuple[int, ...] = ()
    """Candidates of the listener, in the order of the labels A, B, …"""
    taught: Sequence[tuple[int, str]] = ()
    """The language that the agent was taught: things, and their messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """The play, as participants know it."""

    things: tuple[str, ...]
    """Meanings of rounds, as texts."""
    values: np.ndarray[Any, Any]
    """Meanings as attribute values, (num_things, num_attributes)."""
    value_names: Sequence[Sequence[str]] = ()
    """Names of the values of each attribute, `shape=cup`; none of things without attributes."""
    num_agents: int
    words: Allowed
    """Allowed messages of speakers."""
    seed: int
    place: str
    """Key of the participant in the config, for messages."""
    device: torch.device


def label(number: int) -> str:
    """Label of a candidate: A, B, … Z, AA and so on."""
    return (label(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


class Participant(ABC):
    """Answers for all agents of its kind.

    Args:
        options: Its `Options`.
        setting: What it knows of the play.
    """

    Options: ClassVar[type] = NoOptions
    tasks: ClassVar[tuple[str, ...]] = ("naming",)
    """The tasks that it can do: naming, discrimination, reconstruction."""
    is_slow: ClassVar[bool] = False
    """Whether it is asked about several rounds at once, where these do not depend on one another."""

    def __init__(self, options: Any, *, setting: Setting) -> None:
        self.options, self.setting = options, setting

    @abstractmethod
    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """The answer of an agent, one of `ask.allowed`; random numbers are those of the step."""

    def answers(self, asks: Sequence[Ask], rng: np.random.Generator) -> list[str]:
        """The answers to several questions, none of which depends on another."""
        return [self.answer(ask, rng) for ask in asks]

    def recognises(self, agent: int, thing: int, name: str) -> bool | None:
        """Whether a hearer takes a name to be one of a thing; None: it is asked which name it would say."""
        return None

    def learn(self, agent: int, played: Round) -> None:
        """Take note of a round that an agent was in."""
        return

    def begin(self, agent: int) -> None:
        """Forget what an agent knew: a new one takes its place."""
        return

    def names(self, agent: int, thing: int) -> Sequence[str] | None:
        """The names that an agent would say now; None: only what it said is known."""
        return None

    def require(self, allowed: Allowed) -> None:
        """Refuse answers that it can't give, by `ConfigError`."""
        return

    def open(self, folder: Path, others: "Sequence[Participant]", note: Callable[[str], None]) -> None:
        """Use a run folder, which need not exist yet, together with the participants before this one."""
        return

    def planned(self) -> Cost | None:
        """Answer at random from now on, and count; None: nothing is to be paid for."""
        return None

    def recall(self, folder: Path) -> None:
        """Read the answers of a run, which stays as it is."""
        return

    def replay(self, folder: Path) -> bool:
        """Answer with what a run folder has from now on; False: nobody is asked."""
        return False

    def seat(self, person: Person) -> None:
        """Let a person answer, if this is one at a page."""
        return

    def close(self) -> None:
        """The run is written."""
        return

    def first_choices(self) -> Mapping[str, float] | None:
        """Mean probability of each choice in the first rounds of agents; None where it is not known."""
        return None

    def provenance(self) -> Mapping[str, Any]:
        """Entries in the metadata of a run, in addition to its settings."""
        return {}
