"""Worlds of a list of objects, one target a round; all objects of a split are equally likely."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.hard_distractors import nearest_objects, with_target_at
from ecsuite.games.worlds.world import (
    Batch,
    Description,
    Integers,
    RoundSpec,
    RunSizes,
    World,
    describe,
    split_column,
)
from ecsuite.parts.config import Share
from ecsuite.runtime.errors import ConfigError, unknown_name
from ecsuite.runtime.randomness import distinct_draws, random_words


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectListOptions:
    """Options of every list of objects."""

    held_out: Share = 0.0
    """Share of the objects that are held out from training; evaluations are then about these."""
    held_out_value: str | None = None
    """Hold out the objects with this value, such as color=red or class=dog, instead of a share."""
    distractors: Literal["random", "nearest"] = "random"
    """nearest: those objects of the split (of the batch, where batches share objects) that are nearest to the target,
    by their features or the number of different values."""

    def __post_init__(self) -> None:
        """Check that there is one way to hold objects out."""
        if self.held_out and self.held_out_value:
            raise ConfigError("held_out_value: expected no held_out beside it")


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnListOptions(ObjectListOptions):
    """Options of a list of the user's objects."""

    objects: str | None = None
    """Where the objects are."""


class ObjectListWorld(World):
    """Base class of worlds with a list of objects; the candidates of a round are distinct.

    The corpus has a message for every object, whatever `evaluation.corpus_size` is. Where the sender sees distractors,
    too, every object is the target of one round.
    """

    data_files: ClassVar[tuple[str, ...]] = ("objects",)
    expected_source: ClassVar[str]
    """What the option `objects` names, for messages."""
    source: str | None = None
    """Where the objects are; None: the option `objects` says."""

    def __init__(self, options: Any, rounds: RoundSpec, sizes: RunSizes) -> None:
        super().__init__(rounds, sizes)
        self.source = self.source or options.objects
        if self.source is None:
            raise ConfigError(f"world.objects: expected {self.expected_source}")
        self.options, self.num_candidates = options, 1 + self.num_distractors
        self.objects_of_split: dict[str, Integers] = {}
        self.nearest: dict[str, Integers] = {}
        if options.distractors == "nearest" and rounds.num_distractors == 0:
            raise ConfigError("world.distractors: the task draws no distractors, expected random")

    def _list(
        self,
        described: Description,
        is_held_out: NDArray[np.bool_] | None,
        trained: "ObjectListWorld | None",
    ) -> None:
        """Take these objects.

        Args:
            described: Meaning and concepts of each object.
            is_held_out: Which of them the data itself keeps from training; None: it does not say.
            trained: The world of training, if this one is for evaluations; other objects are then all held out.
        """
        options, number = self.options, len(described.meanings)
        self.num_objects = number
        if trained is not None and trained.source != self.source:
            is_held_out = None
        elif options.held_out_value is not None:
            is_held_out = _have(described, options.held_out_value)
        elif options.held_out:
            order = np.random.default_rng([self.seed, *b"held out"]).permutation(number)
            is_held_out = np.isin(np.arange(number), order[: round(options.held_out * number)])
        if is_held_out is not None:
            taught, kept = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
            self.objects_of_split = {"train": taught, "seen": taught, "valid": kept, "test": kept}
            self.splits = ("train", "valid", "test", "seen", "all")
            columns = {**split_column(is_held_out), **described.columns}
            described = replace(described, columns=columns)
            held_out = f"{self.source}: {len(kept)} of {number} objects are held out from training"
            self.notes = (*self.notes, held_out)
        self.rules = described
        fewest = min((len(each) for each in self.objects_of_split.values()), default=number)
        if fewest < self.num_candidates:
            raise ConfigError(
                f"{self.num_candidates} distinct candidates need as many objects, but {self.source} has {fewest}"
                f"{' in a split' if self.objects_of_split else ''}: lower task.num_distractors"
            )

    @abstractmethod
    def batch_of(self, candidates: Integers, labels: NDArray[np.bool_]) -> Batch:
        """The batch of these candidates, (batch, num_candidates), of which one of each round is the target."""

    def allowed(self, split: str, number: int) -> Integers:
        """The objects from which batch `number` of a split is drawn."""
        return self.objects_of_split.get(split, np.arange(self.num_objects))

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`. Rounds of training come in a new order in each epoch."""
        allowed = self.allowed(split, number)
        indices = self.round_indices(split, number, size)
        draws = random_words(self.seed, split, indices, self.num_candidates + 1)
        targets = (draws[:, -1:] % np.uint64(self.num_candidates)).astype(np.int64)
        if self.options.distractors == "nearest":
            about = (draws[:, 0] % np.uint64(len(allowed))).astype(np.int64)
            others = self._nearest(split, allowed)[about]
            candidates = allowed[with_target_at(about, others, targets[:, 0])]
        else:
            candidates = allowed[distinct_draws(draws[:, :-1], len(allowed))]
        return self.batch_of(candidates, np.arange(self.num_candidates) == targets)

    def vectors(self, objects: Integers) -> NDArray[Any]:
        """Vectors of objects, (num_objects, width), by which they are near to each other."""
        raise ConfigError("world.distractors: the objects of this world have no features, expected random")

    def _nearest(self, split: str, allowed: Integers) -> Integers:
        """The distractors of each of the objects of a split, (num_objects, num_distractors), as places in them."""
        if self.num_objects_of(split) > len(allowed):
            return nearest_objects(self.vectors(allowed), self.num_distractors)
        if split not in self.nearest:
            self.nearest[split] = nearest_objects(self.vectors(allowed), self.num_distractors)
        return self.nearest[split]

    def num_objects_of(self, split: str) -> int:
        """The number of objects of a split."""
        return len(self.objects_of_split.get(split, range(self.num_objects)))

    def corpus_batches(self, num_messages: int) -> Iterator[Batch]:
        """A round about each object, in the order of the list. See the class."""
        size = self.sizes.evaluation_batch_size
        for start in range(0, self.num_objects, size):
            targets = np.arange(start, min(start + size, self.num_objects))
            candidates = targets[:, None]
            if self.rounds.sender_sees_all:
                draws = random_words(self.seed, "corpus", targets, self.num_distractors)
                others = distinct_draws(draws, self.num_objects - 1)
                candidates = np.concatenate([candidates, others + (others >= candidates)], axis=1)
            yield self.batch_of(
                candidates, np.broadcast_to(np.arange(candidates.shape[1]) == 0, candidates.shape)
            )

    def describe(self, batch: Batch) -> Description:
        """The target of each round. See `World`."""
        assert self.rules is not None and batch.rules is not None
        return self.rules.of(batch.rules)

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Training objects in new rounds, if evaluations are about held-out objects. See `World`."""
        return {"seen objects": (self, "seen")} if self.objects_of_split else {}

    def remade(self, made: Any, options: Any, rounds: RoundSpec, sizes: RunSizes) -> World:
        """The world of other objects, in the coding of this one. See `World`."""
        if made is not type(self):
            return super().remade(made, options, rounds, sizes)
        make: Any = made
        world: World = make(options, rounds=rounds, sizes=sizes, trained=self)
        return world


def shown_places(labels: NDArray[np.bool_], sees_all: bool) -> Integers:
    """The candidates that the sender sees, the target first, (batch, num_shown)."""
    order = np.argsort(~labels, axis=1, kind="stable")
    return order if sees_all else order[:, :1]


def described_by(values: Integers, names: Any, meanings: NDArray[Any], **columns: Any) -> Description:
    """Objects with these values as concepts, (num_objects, num_attributes), and with other meanings."""
    if not len(names):
        return Description(meanings=meanings, concepts=None, concept_names=(), columns=columns)
    return replace(describe(values, names), meanings=meanings, columns=columns)


def _have(described: Description, value: str) -> NDArray[np.bool_]:
    """Which objects have a value, (num_objects,)."""
    if described.concepts is None:
        raise ConfigError(f"world.held_out_value: no object has the value {value}: objects have no values")
    if value not in described.concept_names:
        raise unknown_name("value", value, described.concept_names)
    concepts, place = described.concepts, described.concept_names.index(value)
    rows = np.repeat(np.arange(len(concepts)), concepts.lengths)
    return np.isin(np.arange(len(concepts)), rows[concepts.values == place])
