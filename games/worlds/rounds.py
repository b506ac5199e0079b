"""Rounds about sets of objects: what the sender sees, what the receiver must tell apart, and the rule behind it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Ragged

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """A batch of rounds. Objects are named by their place in `objects`, so that each is encoded once."""

    objects: NDArray[Any]
    """The objects in play: attribute values (num_objects, num_attributes), images of bytes (num_objects, height,
    width, 3), or features (num_objects, num_features)."""
    shown: Integers
    """What the sender sees, targets first, (batch, num_shown)."""
    num_positive: int
    """The first so many of `shown` are examples of the rule, the others counter-examples."""
    candidates: Integers
    """What the receiver sees, (batch, num_candidates)."""
    labels: NDArray[np.bool_]
    """Which candidates are targets, (batch, num_candidates)."""
    rules: Integers
    """The rule of each round, a row of the world's `Rules`, (batch,)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """What rounds are about, a row a rule."""

    meanings: NDArray[Any]
    """Each rule as numbers, (num_rules, width)."""
    concepts: Ragged | None
    """The ids of each rule's concepts, its phrase; None where concepts have no names."""
    concept_names: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    """The kind of each rule, for accuracy by kind; empty where there are none."""

    def __len__(self) -> int:
        """How many rules there are."""
        return len(self.meanings)


class SetWorld(ABC):
    """What a game about sets of objects needs of a world."""

    num_train: int
    """Rounds in an epoch."""
    num_valid: int
    """Rounds in an evaluation."""
    rules: Rules
    object_shape: tuple[int, ...]
    """Of an object as the agents' perception takes it: (num_features,) or (height, width, 3)."""
    corpus_split: str
    """What the sender speaks of in its corpus."""

    @abstractmethod
    def batch(self, split: str, number: int) -> Rounds:
        """Batch `number`, from 0, of a split: a pure function of the seed, the split and the number.

        Splits: train; valid and test, whose rules training never uses where rules are held out; seen, whose rules are
        those of training; all.
        """

    @abstractmethod
    def features(self, objects: NDArray[Any]) -> NDArray[Any]:
        """Objects as perception takes them, (num_objects, *object_shape)."""

    @abstractmethod
    def probes(self) -> "dict[str, tuple[SetWorld, str]]":
        """Further evaluations by name: a world and the split of it to play."""
