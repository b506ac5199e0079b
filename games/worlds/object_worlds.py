"""Worlds whose rounds have one target among distinct candidates: combinations of values, and lists of objects."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds.candidates import (
    SHARED_VALUES,
    Distractors,
    Floats,
    SimilarDistractors,
    distinct_others,
    each_once,
    one_target,
    others_of,
    with_target_at,
)
from ecsuite.games.worlds.objects import (
    MAX_SPLIT_OBJECTS,
    NOT_TESTED,
    OWN_SPLIT,
    RARE,
    CandidatePool,
    HeldOutValue,
    Members,
    ObjectList,
    Objects,
    Product,
    Subsets,
    have_values,
    random_share,
    require_held_out,
    values_in,
)
from ecsuite.games.worlds.world import (
    SEEN_OBJECTS,
    Batch,
    Description,
    Integers,
    RoundSpec,
    RunSizes,
    World,
    one_hot,
)
from ecsuite.parts.config import Natural, Share
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import random_words

MOST_ALIKE = 0.5
"""Share of held-out rounds with the held-out values in all candidates, above which a message says so."""
MAX_COMPARED_OBJECTS = 2**16
"""Maximum number of objects that are compared with the targets of a round."""
CORPUS_BATCH = 4096
"""Meanings per batch of the corpus."""
DRAWING = ("batch", "as_asked", "draw", "candidates")
"""Methods that draw a batch by its number: if a class overrides one, its batches are drawn one by one."""


class ObjectWorld(World):
    """Base class of worlds whose rounds are about objects, drawn by index."""

    shares_objects: ClassVar[bool] = False
    """Whether each object of a batch is stored once; otherwise objects are stored by round and position."""
    objects: Objects
    """Objects of the rounds."""
    num_candidates: int
    """Number of candidates per round."""
    subsets: Subsets = Subsets()
    """Objects of each split."""
    probabilities: Floats | None = None
    """Probability of each object as the target, (num_objects,); None: uniform."""

    def __init__(self, rounds: RoundSpec, sizes: RunSizes) -> None:
        super().__init__(rounds, sizes)
        self.num_candidates = self.num_targets + self.num_distractors

    options: Any = None
    """Options of the world."""
    similar: SimilarDistractors | None = None
    """Sampler of distractors that are similar to the target; None: distractors are drawn otherwise."""

    def take(self, objects: Objects, subsets: Subsets, source: str) -> None:
        """Set the objects of rounds; `source` describes them in messages.

        Raises:
            ConfigError: If a split has no objects, or fewer objects than candidates of a round.
        """
        self.objects, self.subsets, self.splits = objects, subsets, subsets.names
        subsets.require(self.num_candidates, source, objects.number)
        if subsets.evaluates_others:
            held_out = (
                f"{len(subsets.members['valid'])} of {objects.number} objects are held out from training"
            )
            self.notes = (*self.notes, f"{source}: {held_out}")

    def take_similar(self, num_shared: int, source: str) -> None:
        """Draw distractors with `num_shared` values in common with the target.

        Raises:
            ConfigError: If there are too many objects to compare, or too few that share this number of values.
        """
        if self.objects.number > MAX_COMPARED_OBJECTS:
            raise ConfigError(
                f"{SHARED_VALUES}: expected at most {MAX_COMPARED_OBJECTS:,} objects in this world, or if some "
                f"are held out, got {self.objects.number:,}"
            )
        self.similar = SimilarDistractors(
            self.num_distractors, num_shared, self.objects.all_values() if self.objects.names else None
        )
        for split in dict.fromkeys((*self.splits[:2], *(RARE,) * (RARE in self.splits))):
            pool = self._indices(self.subsets.pool(split))
            self.similar.require(self._indices(self.subsets.members.get(split)), pool, source)

    def _indices(self, members: Members) -> Integers:
        """Indices of the objects."""
        if isinstance(members, np.ndarray):
            return members
        return np.arange(self.objects.number) if members is None else members[np.arange(len(members))]

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`. Rounds of training are reordered in each epoch."""
        indices = self.round_indices(split, number, size)
        if self.rounds.in_batch:
            targets, pool = self.pools(split, number)
            if targets is not pool:
                return self._in_batch(split, number, indices, pool)
        return self.batch_of(*self.candidates(split, number, indices))

    def _in_batch(self, split: str, number: int, indices: Integers, pool: Members) -> Batch:
        """Make rounds with held-out targets and, as in training, one candidate per round of the batch.

        Targets of other rounds would all be held out: objects drawn from the pool replace them.
        """
        rng, total = (
            np.random.default_rng([self.seed, *b"in batch", *split.encode(), number]),
            self.objects.number,
        )
        if total > MAX_SPLIT_OBJECTS:  # too many for a list, and repeats are unlikely
            shared = np.unique(rng.integers(total, size=len(indices)))
        else:
            listed = self._indices(pool)
            shared = np.sort(rng.choice(listed, min(len(indices), len(listed)), replace=False))
        chosen, _ = self.candidates(split, number, indices)
        words = random_words(self.seed, f"in batch of {split}", indices, len(shared))
        places = (words[:, -1] % np.uint64(len(shared))).astype(np.int64)
        others = others_of(shared, chosen[:, 0], words[:, :-1], self.objects.number)
        return self.batch_of(
            with_target_at(chosen[:, 0], others, places), places[:, None], shares_objects=True
        )

    def batches(self, split: str, numbers: Sequence[int]) -> Batch | None:
        """See `World`. Rounds are pure functions of their indices if all batches have the same objects."""
        rounds, size = self.rounds, self.sizes.batch_size
        is_changed = any(getattr(type(self), name) is not getattr(ObjectWorld, name) for name in DRAWING)
        is_alike = split == "train" and not (
            is_changed or self.shares_objects or rounds.in_batch or rounds.fewest_distractors is not None
        )
        indices = [self.round_indices(split, number, size) for number in numbers] if is_alike else []
        objects = [self.pools(split, number)[0] for number in numbers if indices]
        if not objects or any(each is not objects[0] for each in objects):
            return None
        if any(len(each) != size for each in indices):
            return None
        return self.batch_of(*self.candidates(split, numbers[0], np.concatenate(indices)))

    def candidates(self, split: str, number: int, indices: Integers) -> tuple[Integers, Integers]:
        """Draw candidates and target positions of the rounds of batch `number` with these indices.

        Returns:
            Object indices, (batch, num_candidates), and positions, (batch, num_targets).
        """
        targets, pool = self.pools(split, number)
        probabilities = self.probabilities
        if probabilities is not None and targets is not None:
            probabilities = probabilities[self._indices(targets)]
        chosen, places = one_target(
            random_words(self.seed, split, indices, self.num_candidates + 1),
            self.objects.number,
            targets,
            pool,
            probabilities=probabilities,
            distractors=self.distractors_in(pool),
        )
        return chosen, places[:, None]

    def trained_values(self) -> Integers | None:
        """See `World`."""
        trained = self.subsets.members.get("train")
        return self.objects.values(trained) if self.shows_values and isinstance(trained, np.ndarray) else None

    def pools(self, split: str, number: int) -> tuple[Members, Members]:
        """Pools from which targets and candidates of batch `number` of a split are drawn."""
        return self.subsets.members.get(split), self.subsets.pool(split)

    def distractors_in(self, pool: Members) -> Distractors | None:
        """Sampler of distractors from a pool, given target indices; None: uniform."""
        if (similar := self.similar) is None:
            return None
        listed = self._indices(pool)
        return lambda targets, words: similar.of(targets, words, listed)

    @property
    def has_similar_distractors(self) -> bool:
        """Whether distractors are chosen by similarity to the target, which they may reveal."""
        return self.similar is not None

    def batch_of(
        self, candidates: Integers, targets: Integers, *, shares_objects: bool | None = None
    ) -> Batch:
        """Make a batch of candidates, (batch, num_candidates), with targets at positions, (batch, num_targets).

        `shares_objects`: None: as the class.
        """
        num_rounds, num_candidates = candidates.shape
        labels = np.zeros(candidates.shape, dtype=bool)
        np.put_along_axis(labels, targets, True, axis=1)
        shown = np.argsort(~labels, axis=1, kind="stable") if self.rounds.sender_sees_all else targets
        used, places = candidates.ravel(), None
        if self.shares_objects if shares_objects is None else shares_objects:
            used, (places,) = each_once(candidates)
            shown = np.take_along_axis(places, shown, axis=1)
        else:
            shown = np.arange(num_rounds)[:, None] * num_candidates + shown
        objects, values = self.objects.seen(used), None
        if self.num_values is not None:
            values = objects if self.shows_values else self.objects.values(used)
        return Batch(
            objects=objects,
            shown=shown,
            num_positive=targets.shape[1],
            candidates=places,
            labels=labels,
            values=values,
            rules=None if self.rules is None else candidates[labels],
            ids=self.objects.ids(used),
        )

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """One-hot attribute values, concatenated, if agents see values. See `World`."""
        if self.shows_values:
            assert self.num_values is not None
            return one_hot(objects, max(self.num_values), dtype)
        return super().features(objects, dtype)

    def trained_note(self, trained: World) -> str | None:
        """See `World`."""
        if type(trained) is not type(self) or (was := trained.objects).number != self.objects.number:
            return None
        if was.names != self.objects.names:
            return None
        return self.subsets.trained_note(trained.subsets, "objects")

    def untested_note(self) -> str | None:
        """See `World`: whether all candidates are held out, or have the held-out values in most rounds."""
        if not self.subsets.evaluates_others or not (self.num_distractors or self.rounds.in_batch):
            return None
        if self.subsets.candidates == "split":
            return NOT_TESTED
        batch, combinations = self.batch("valid", 0), self._held_out_values()
        if batch.values is None or not combinations:
            return None
        values = batch.values[batch.candidate_indices()]  # (batch, num_candidates, num_attributes)
        has_all = [(values[:, :, list(each)] == list(each.values())).all(2) for each in combinations]
        share = np.mean(np.any([have.all(1) for have in has_all], axis=0))
        if share <= MOST_ALIKE:
            return None
        return (
            f"in {share:.0%} of the held-out rounds all candidates have the held-out values, so agents need not "
            "communicate them: the combination is not tested"
        )

    def _held_out_values(self) -> list[dict[int, int]]:
        """Held-out combinations of values, by attribute: named ones, or the common values of held-out objects."""
        if (named := getattr(self.options, "held_out_value", None)) is not None:
            return [dict(each) for each in values_in(named, self.objects.names).values()]
        held_out = self.objects.values(self._indices(self.subsets.members["valid"]))
        common = np.flatnonzero((held_out == held_out[0]).all(0))
        return [dict(zip(common.tolist(), held_out[0, common].tolist(), strict=True))] if len(common) else []

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Rounds about training objects, if evaluations are about others, and about rare values. See `World`."""
        further: dict[str, tuple[World, str]] = {}
        if self.subsets.evaluates_others:
            further[SEEN_OBJECTS] = (self, "seen")
        if RARE in self.subsets.members:
            further["rare values"] = (self, RARE)
        return further


class ValuesWorld(ObjectWorld):
    """Base class of worlds of attribute values; the corpus has each distinct meaning once.

    If the sender sees several objects, the corpus is about evaluation rounds.
    """

    default_perceptions = ("identity", "tanh")

    def take(self, objects: Objects, subsets: Subsets, source: str) -> None:
        """See the base class."""
        super().take(objects, subsets, source)
        self.value_names, self.num_values = objects.names, tuple(map(len, objects.names))
        self.object_shape = (len(self.num_values) * max(self.num_values),)

    def distinct_meanings(self, number: int) -> Integers:
        """Sample objects without replacement, from the seed, in order of index; all if there are fewer, (number,)."""
        total = self.objects.number
        if number >= total:
            return np.arange(total)
        rng = np.random.default_rng([self.seed, *b"corpus"])
        return np.sort(rng.choice(total, size=number, replace=False))

    def corpus_batches(self, num_messages: int) -> Iterator[Batch]:
        """See `World` and the class."""
        if self.rounds.sender_sees_all or self.num_targets > 1:
            yield from super().corpus_batches(num_messages)
            return
        meanings = self.distinct_meanings(num_messages)[:, None]
        for start in range(0, len(meanings), CORPUS_BATCH):
            chosen = meanings[start : start + CORPUS_BATCH]
            yield self.batch_of(chosen, np.zeros_like(chosen))

    def describe(self, batch: Batch) -> Description:
        """Values of the target, and its split. See `World`."""
        described = super().describe(batch)
        if isinstance(self.objects, Product) and self.subsets.members:
            numbers = self.objects.numbers(described.meanings)
            return replace(described, columns=self.subsets.column(numbers))
        return described


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectListOptions:
    """Options of all lists of objects."""

    held_out: Share = 0.0
    """Share of the objects that are held out from training; evaluations are then about held-out objects."""
    held_out_value: HeldOutValue = None
    """Hold out the objects with this value, such as color=red or class=dog, instead of a share; or objects with all
    of several values, shape=cup,color=red; or with one of a list of such combinations."""
    distractors: Literal["random", "nearest"] = "random"
    """nearest: the objects nearest to the target (within the batch, if batches share objects), by features
    or by the number of different values; ties are broken at random."""
    shared_values: Natural | None = None
    """Exact number of values that each distractor shares with the target, such as 0: another class; null: any
    distractors."""
    candidates: CandidatePool = "all"
    """Source of the candidates of held-out rounds. all: all objects. split: only held-out objects, so that their
    common values need not be communicated."""

    def __post_init__(self) -> None:
        """Validate that objects are held out in one way."""
        if self.held_out and self.held_out_value:
            raise ConfigError("held_out_value: expected held_out to be unset")
        if self.distractors == "nearest" and self.shared_values is not None:
            raise ConfigError("shared_values: expected null with distractors=nearest")


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnListOptions(ObjectListOptions):
    """Options of a list of user objects."""

    objects: str | None = None
    """Path of the objects."""


class ObjectListWorld(ObjectWorld):
    """Base class of worlds with a list of objects; the candidates of a round are distinct.

    The corpus has a message for every object, whatever `evaluation.corpus_size` is. If the sender sees distractors,
    every object is the target of one round.

    Args:
        options: The options.
        rounds: Requirements of the task.
        sizes: Requirements of the run.
        trained: The training world, if this world is for evaluations; all other objects are then held out.

    Raises:
        ConfigError: If the objects can't be read, or there are too few objects.
    """

    data_files: ClassVar[tuple[str, ...]] = ("objects",)
    expected_source: ClassVar[str]
    """Description of the option `objects`, for error messages."""
    rules_are_objects = True
    names_values: ClassVar[bool] = False
    """Whether objects have attribute values for every task, even if agents do not see them."""
    source: str | None = None
    """Path of the objects; None: the option `objects`."""
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
                "world.distractors: the objects of this world have no features: expected random"
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
        except ConfigError as error:  # the error may depend on how objects were read
            raise ConfigError("; ".join((str(error), *objects.notes))) from None
        if options.distractors == "nearest":
            values = objects.values_table if self.shows_values else None
            vectors = None if self.shows_values else objects.table
            self.similar = SimilarDistractors(self.num_distractors, None, values, vectors)

    @abstractmethod
    def read(self, source: str, trained: "ObjectListWorld | None") -> ObjectList:
        """Read the objects, with the coding of the training world, if any."""

    @property
    def most_per_batch(self) -> int | None:
        """Maximum number of objects that the rounds of a batch share; None: no limit."""
        return None

    @property
    def shows_values(self) -> bool:
        """Whether agents see attribute values. See `World`."""
        return self.objects.table is self.objects.values_table

    def _held_out(self, objects: ObjectList, trained: "ObjectListWorld | None") -> NDArray[np.bool_] | None:
        """Mask of objects held out from training, (num_objects,); None: no object is held out."""
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
        """Draw a batch of objects of the split; if only targets are held out, they are half of it."""
        (targets, pool), most, total = super().pools(split, number), self.most_per_batch, self.objects.number
        if most is None or (total if pool is None else len(pool)) <= most:
            return targets, pool
        rng = np.random.default_rng([self.seed, *b"images", *split.encode(), number])
        if targets is pool:
            drawn: Integers = rng.choice(
                total if pool is None else self._indices(pool), size=most, replace=False
            )
            return drawn, drawn
        num_targets = max(
            1, min(most // 2, most - self.num_candidates, len(held_out := self._indices(targets)))
        )
        chosen, others = np.sort(rng.choice(held_out, num_targets, replace=False)), np.arange(total)
        if most - num_targets < self.num_candidates:  # a target among them would leave too few distractors
            others = np.setdiff1d(others, chosen)
        return chosen, np.sort(rng.choice(others, most - num_targets, replace=False))

    def corpus_batches(self, num_messages: int) -> Iterator[Batch]:
        """Rounds about all objects, in the order of the list. See the class."""
        size, total = self.sizes.evaluation_batch_size, self.objects.number
        for start in range(0, total, size):
            targets = np.arange(start, min(start + size, total))
            candidates = targets[:, None]
            if self.rounds.sender_sees_all:
                words = random_words(self.seed, "corpus", targets, self.num_distractors)
                candidates = np.concatenate([candidates, distinct_others(targets, words, total)], axis=1)
            yield self.batch_of(candidates, np.zeros((len(targets), 1), dtype=np.int64))

    def describe(self, batch: Batch) -> Description:
        """Targets of the rounds. See `World`."""
        assert batch.rules is not None
        return self.rules.of(batch.rules)

    def remade(self, made: Any, options: Any, rounds: RoundSpec, sizes: RunSizes) -> World:
        """Make a world of other objects with the coding of this world. See `World`."""
        if made is not type(self):
            return super().remade(made, options, rounds, sizes)
        world: World = made(options, rounds=rounds, sizes=sizes, trained=self)
        return world
