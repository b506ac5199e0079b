"""Rounds of games on sets of objects: the sender's input, the receiver's candidates and labels, and the rule."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Ragged

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """A batch of rounds. All fields refer to objects by their index in `objects`, so that each is encoded once."""

    objects: NDArray[Any]
    """The objects of the batch: attribute values (num_objects, num_attributes), images of bytes (num_objects, height,
    width, 3), or features (num_objects, num_features)."""
    shown: Integers
    """The objects that the sender sees, targets first, (batch, num_shown)."""
    num_positive: int
    """The first `num_positive` of `shown` are examples of the rule, the others counter-examples."""
    candidates: Integers
    """The objects that the receiver sees, (batch, num_candidates)."""
    labels: NDArray[np.bool_]
    """Which candidates are targets, (batch, num_candidates)."""
    rules: Integers
    """The rule of each round, as an index into the world's `Rules`, (batch,)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """The rules that rounds are about, one per row."""

    meanings: NDArray[Any]
    """Each rule as a vector, (num_rules, width)."""
    concepts: Ragged | None
    """Concept ids of each rule (its phrase); None where concepts have no names."""
    concept_names: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    """The kind of each rule, for accuracy by kind; empty where rules have no kinds."""

    def __len__(self) -> int:
        """Number of rules."""
        return len(self.meanings)


class SetWorld(ABC):
    """Interface of the worlds of games on sets of objects."""

    num_train: int
    """Rounds per epoch."""
    num_valid: int
    """Rounds per evaluation."""
    rules: Rules
    object_shape: tuple[int, ...]
    """Shape of an object as input of the perception networks: (num_features,) or (height, width, 3)."""
    corpus_split: str
    """The split from which the corpus is generated."""

    @abstractmethod
    def batch(self, split: str, number: int) -> Rounds:
        """Batch `number`, from 0, of a split: a pure function of the seed, the split and the number.

        Splits: train; valid and test (held-out rules, where rules are held out); seen (training rules, new objects);
        all.
        """

    @abstractmethod
    def features(self, objects: NDArray[Any]) -> NDArray[Any]:
        """The objects as input of the perception networks, (num_objects, *object_shape)."""

    @abstractmethod
    def probes(self) -> "dict[str, tuple[SetWorld, str]]":
        """Extra evaluations by name: a world and the split of it to evaluate on."""
