"""Worlds of a list of objects, one target a round; all objects of a split are equally likely."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.candidates import distinct_others
from ecsuite.games.worlds.hard_distractors import SimilarDistractors
from ecsuite.games.worlds.object_worlds import ObjectWorld
from ecsuite.games.worlds.objects import OWN_SPLIT, Members, ObjectList
from ecsuite.games.worlds.splits import (
    CandidatePool,
    HeldOutValue,
    Subsets,
    have_values,
    random_share,
    require_held_out,
)
from ecsuite.games.worlds.world import Batch, Description, Integers, RoundSpec, RunSizes, World
from ecsuite.parts.config import Natural, Share
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import random_words


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectListOptions:
    """Options of every list of objects."""

    held_out: Share = 0.0
    """Share of the objects that are held out from training; evaluations are then about these."""
    held_out_value: HeldOutValue = None
    """Hold out the objects with this value, such as color=red or class=dog, instead of a share; or with all of several
    values, shape=cup,color=red; or a list of such combinations, each of which is held out."""
    distractors: Literal["random", "nearest"] = "random"
    """nearest: the objects that are nearest to the target, of the batch where batches share objects: by their features
    or the number of different values, drawn at random among equally near ones."""
    shared_values: Natural | None = None
    """Values that each distractor has in common with the target, and no more, such as 0: of another class; null: any
    distractors."""
    candidates: CandidatePool = "all"
    """What candidates of held-out rounds are drawn from. all: all objects. split: held-out objects alone, so that what
    these have in common need not be said."""

    def __post_init__(self) -> None:
        """Check that there is one way to hold objects out."""
        if self.held_out and self.held_out_value:
            raise ConfigError("held_out_value: expected no held_out beside it")
        if self.distractors == "nearest" and self.shared_values is not None:
            raise ConfigError("shared_values: expected null with distractors=nearest")


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnListOptions(ObjectListOptions):
    """Options of a list of the user's objects."""

    objects: str | None = None
    """Where the objects are."""


class ObjectListWorld(ObjectWorld):
    """Base class of worlds with a list of objects; the candidates of a round are distinct.

    The corpus has a message for every object, whatever `evaluation.corpus_size` is. Where the sender sees distractors,
    too, every object is the target of one round.

    Args:
        options: The options.
        rounds: What the task asks.
        sizes: What the run asks.
        trained: The world of training, if this one is for evaluations; other objects are then all held out.

    Raises:
        ConfigError: If the objects can't be read, or there are too few.
    """

    data_files: ClassVar[tuple[str, ...]] = ("objects",)
    expected_source: ClassVar[str]
    """What the option `objects` names, for messages."""
    rules_are_objects = True
    names_values: ClassVar[bool] = False
    """Whether objects have attribute values for every task, also where agents do not see these."""
    source: str | None = None
    """Where the objects are; None: the option `objects` says."""
    objects: ObjectList
    rules: Description
    options: Any

    def __init__(
        self, options: Any, *, rounds: RoundSpec, sizes: RunSizes, trained: "ObjectListWorld | None" = None
    ) -> None:
        super().__init__(rounds, sizes)
        self.options = options
        self.source = self.source or options.objects
        if self.source is None:
            raise ConfigError(f"world.objects: expected {self.expected_source}")
        if (most := self.most_per_batch) is not None and most < self.num_candidates:
            raise ConfigError(
                f"world.images_per_batch: expected at least the {self.num_candidates} candidates of a round, got {most}"
            )
        self.objects = objects = self.read(self.source, trained)
        counts = tuple(map(len, objects.names))
        if counts and (self.shows_values or rounds.needs_values or self.names_values):
            self.num_values, self.value_names = counts, objects.names
        self.object_shape = objects.table.shape[1:]
        if self.shows_values:
            self.object_shape = (len(counts) * max(counts),)
        elif options.distractors == "nearest" and objects.table.ndim > 2:
            raise ConfigError(
                "world.distractors: the objects of this world have no features, expected random"
            )
        is_held_out = self._held_out(objects, trained)
        require_held_out(options.candidates, is_held_out is not None or trained is not None)
        self.notes, self.rules, subsets = objects.notes, objects.described(), Subsets()
        if is_held_out is not None:
            subsets = Subsets.without(is_held_out, options.candidates)
            column = subsets.column(np.arange(objects.number))
            own = objects.columns.get(OWN_SPLIT)
            is_said = own is not None and np.array_equal(own, column.get("split", own[:0]))
            kept = {
                name: values for name, values in objects.columns.items() if name != OWN_SPLIT or not is_said
            }
            self.rules = replace(self.rules, columns={**column, **kept})
        try:
            self.take(objects, subsets, self.source)
            if options.shared_values is not None:
                self.take_similar(options.shared_values, self.source)
        except ConfigError as error:  # which objects there are may need an explanation
            raise ConfigError("; ".join((str(error), *objects.notes))) from None
        if options.distractors == "nearest":
            values = objects.values_table if self.shows_values else None
            vectors = None if self.shows_values else objects.table
            self.similar = SimilarDistractors(self.num_distractors, None, values, vectors)

    @abstractmethod
    def read(self, source: str, trained: "ObjectListWorld | None") -> ObjectList:
        """Read the objects, in the coding of training where there was one."""

    @property
    def most_per_batch(self) -> int | None:
        """Most objects that the rounds of a batch share; None: any number."""
        return None

    @property
    def shows_values(self) -> bool:
        """Whether agents see attribute values. See `World`."""
        return self.objects.table is self.objects.values_table

    def _held_out(self, objects: ObjectList, trained: "ObjectListWorld | None") -> NDArray[np.bool_] | None:
        """Which objects are held out from training, (num_objects,); None: none are, and no split is."""
        options = self.options
        if trained is not None and trained.source != self.source:
            return None
        if options.held_out_value is not None:
            values = objects.values_table if objects.phrases is None else objects.phrases
            return have_values(options.held_out_value, values, objects.names)
        if options.held_out:
            everything = np.arange(objects.number)
            return np.isin(everything, random_share(everything, options.held_out, self.seed, "held out")[0])
        return objects.is_held_out

    def pools(self, split: str, number: int) -> tuple[Members, Members]:
        """As many objects of the split as a batch has, half of which are targets where only these are held out."""
        (targets, pool), most, total = super().pools(split, number), self.most_per_batch, self.objects.number
        if most is None or (total if pool is None else len(pool)) <= most:
            return targets, pool
        rng = np.random.default_rng([self.seed, *b"images", *split.encode(), number])
        if targets is pool:
            drawn: Integers = rng.choice(
                total if pool is None else self._listed(pool), size=most, replace=False
            )
            return drawn, drawn
        num_targets = max(
            1, min(most // 2, most - self.num_candidates, len(held_out := self._listed(targets)))
        )
        chosen, others = np.sort(rng.choice(held_out, num_targets, replace=False)), np.arange(total)
        if most - num_targets < self.num_candidates:  # a target among them would leave too few distractors
            others = np.setdiff1d(others, chosen)
        return chosen, np.sort(rng.choice(others, most - num_targets, replace=False))

    def corpus_batches(self, num_messages: int) -> Iterator[Batch]:
        """A round about each object, in the order of the list. See the class."""
        size, total = self.sizes.evaluation_batch_size, self.objects.number
        for start in range(0, total, size):
            targets = np.arange(start, min(start + size, total))
            candidates = targets[:, None]
            if self.rounds.sender_sees_all:
                words = random_words(self.seed, "corpus", targets, self.num_distractors)
                candidates = np.concatenate([candidates, distinct_others(targets, words, total)], axis=1)
            yield self.batch_of(candidates, np.zeros((len(targets), 1), dtype=np.int64))

    def describe(self, batch: Batch) -> Description:
        """The target of each round. See `World`."""
        assert batch.rules is not None
        return self.rules.of(batch.rules)

    def remade(self, made: Any, options: Any, rounds: RoundSpec, sizes: RunSizes) -> World:
        """The world of other objects, in the coding of this one. See `World`."""
        if made is not type(self):
            return super().remade(made, options, rounds, sizes)
        world: World = made(options, rounds=rounds, sizes=sizes, trained=self)
        return world
