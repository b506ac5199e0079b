"""Participants of a play of rounds: they answer questions and remember their rounds.

One participant plays all agents of its kind, which are distinguished by index.

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
    """One round. All state of a play of rounds follows from its rounds."""

    speaker: int
    listener: int
    """Index of the listener; -1: none, as in a test."""
    thing: int
    """Index of the meaning."""
    message: str
    """The message of the speaker."""
    answer: str
    """The answer of the listener: a name, or its interpretation of the message."""
    success: bool
    candidates: tuple[int, ...] = ()
    """Candidates of the listener."""
    phase: str = ""
    """Phase of the play, if it has several."""
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to an agent."""

    agent: int
    role: Literal["speaker", "listener"]
    task: str
    """naming, discrimination or reconstruction."""
    thing: int
    """Meaning that the speaker sees; -1 for a listener that does not see it."""
    allowed: Allowed
    """Allowed answers."""
    memory: Sequence[Round]
    """Rounds of the agent, oldest first."""
    message: str = ""
    """The message that the listener receives."""
    candidates: tuple[int, ...] = ()
    """Candidates of the listener, in the order of the labels A, B, …"""
    taught: Sequence[tuple[int, str]] = ()
    """Language taught to the agent: meanings and their messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """Information about the play for participants."""

    things: tuple[str, ...]
    """Meanings of rounds, as texts."""
    values: np.ndarray[Any, Any]
    """Meanings as attribute values, (num_things, num_attributes)."""
    value_names: Sequence[Sequence[str]] = ()
    """Names of the values of each attribute, `shape=cup`; empty for meanings without attributes."""
    num_agents: int
    words: Allowed
    """Allowed messages of speakers."""
    seed: int
    place: str
    """Key of the participant in the config, for error messages."""
    device: torch.device


def label(number: int) -> str:
    """Label of a candidate: A, B, … Z, AA and so on."""
    return (label(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


class Participant(ABC):
    """Answers for all agents of its kind.

    Args:
        options: `Options` of the participant.
        setting: Information about the play.
    """

    Options: ClassVar[type] = NoOptions
    tasks: ClassVar[tuple[str, ...]] = ("naming",)
    """Supported tasks: naming, discrimination, reconstruction."""
    is_slow: ClassVar[bool] = False
    """Whether independent rounds are queried together."""

    def __init__(self, options: Any, *, setting: Setting) -> None:
        self.options, self.setting = options, setting

    @abstractmethod
    def answer(self, ask: Ask, rng: np.random.Generator) -> str:
        """Answer a question to an agent with one of `ask.allowed`; `rng` belongs to the step."""

    def answers(self, asks: Sequence[Ask], rng: np.random.Generator) -> list[str]:
        """Answer several independent questions."""
        return [self.answer(ask, rng) for ask in asks]

    def recognises(self, agent: int, thing: int, name: str) -> bool | None:
        """Whether a listener accepts a name for a meaning; None: it is asked for its own name."""
        return None

    def learn(self, agent: int, played: Round) -> None:
        """Update the memory of an agent with a round."""
        return

    def begin(self, agent: int) -> None:
        """Reset the memory of an agent, which is replaced by a new one."""
        return

    def names(self, agent: int, thing: int) -> Sequence[str] | None:
        """Names that an agent would use now; None: unknown except for its messages."""
        return None

    def require(self, allowed: Allowed) -> None:
        """Raise `ConfigError` if the participant can't give the allowed answers."""
        return

    def open(self, folder: Path, others: "Sequence[Participant]", note: Callable[[str], None]) -> None:
        """Use a run folder, which may not exist yet, together with the previous participants."""
        return

    def planned(self) -> Cost | None:
        """Answer at random from now on, and count the cost; None: no cost."""
        return None

    def recall(self, folder: Path) -> None:
        """Read the stored answers of a run, without changing it."""
        return

    def replay(self, folder: Path) -> bool:
        """Answer from the stored answers of a run folder from now on; False: no answers are needed."""
        return False

    def seat(self, person: Person) -> None:
        """Connect a person who answers on a page, if the participant queries people."""
        return

    def close(self) -> None:
        """Called after the run is written."""
        return

    def first_choices(self) -> Mapping[str, float] | None:
        """Mean probability of each choice in the agents' first rounds; None: unknown."""
        return None

    def provenance(self) -> Mapping[str, Any]:
        """Entries in the metadata of a run, in addition to its settings."""
        return {}
