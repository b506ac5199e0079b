"""Worlds whose rounds are about objects: one target among distinct candidates."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ecsuite.games.worlds.candidates import Distractors, each_once, one_target, others_of, with_target_at
from ecsuite.games.worlds.frequencies import Floats
from ecsuite.games.worlds.hard_distractors import SHARED_VALUES, SimilarDistractors
from ecsuite.games.worlds.objects import Members, Objects, Product
from ecsuite.games.worlds.splits import MAX_SPLIT_OBJECTS, NOT_TESTED, RARE, Subsets, values_in
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
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import random_words

MOST_ALIKE = 0.5
"""Share of held-out rounds from which on a line says that all candidates have the held-out values."""
MAX_COMPARED_OBJECTS = 2**16
"""Most objects of a world that are compared with the targets of a round."""
CORPUS_BATCH = 4096
"""Meanings per batch of the corpus."""
DRAWING = ("batch", "as_asked", "draw", "candidates")
"""Methods that make a batch of its number: where a world has one of its own, its batches are made one by one."""


class ObjectWorld(World):
    """Base class of worlds whose rounds are about objects, which it draws by their numbers."""

    shares_objects: ClassVar[bool] = False
    """Whether each object of a batch is there once; otherwise objects are laid out by place."""
    objects: Objects
    """What rounds are about."""
    num_candidates: int
    """Candidates of a round."""
    subsets: Subsets = Subsets()
    """The objects of each split."""
    probabilities: Floats | None = None
    """Of each object as the target, (num_objects,); None: all are equally likely."""

    def __init__(self, rounds: RoundSpec, sizes: RunSizes) -> None:
        super().__init__(rounds, sizes)
        self.num_candidates = self.num_targets + self.num_distractors

    options: Any = None
    """The world's options."""
    similar: SimilarDistractors | None = None
    """Draws distractors that are similar to the target; None: they are drawn otherwise."""

    def take(self, objects: Objects, subsets: Subsets, source: str) -> None:
        """Rounds are about these objects, of this source.

        Raises:
            ConfigError: If a split has no objects, or fewer candidates than a round.
        """
        self.objects, self.subsets, self.splits = objects, subsets, subsets.names
        subsets.require(self.num_candidates, source, objects.number)
        if subsets.evaluates_others:
            held_out = (
                f"{len(subsets.members['valid'])} of {objects.number} objects are held out from training"
            )
            self.notes = (*self.notes, f"{source}: {held_out}")

    def take_similar(self, num_shared: int, source: str) -> None:
        """Distractors have so many values in common with the target.

        Raises:
            ConfigError: If there are too many objects to compare, or too few that share as many.
        """
        if self.objects.number > MAX_COMPARED_OBJECTS:
            raise ConfigError(
                f"{SHARED_VALUES}: expected at most {MAX_COMPARED_OBJECTS:,} objects in this world, or where some "
                f"are held out, got {self.objects.number:,}"
            )
        self.similar = SimilarDistractors(
            self.num_distractors, num_shared, self.objects.all_values() if self.objects.names else None
        )
        for split in dict.fromkeys((*self.splits[:2], *(RARE,) * (RARE in self.splits))):
            pool = self._listed(self.subsets.pool(split))
            self.similar.require(self._listed(self.subsets.members.get(split)), pool, source)

    def _listed(self, members: Members) -> Integers:
        """The numbers of objects."""
        if isinstance(members, np.ndarray):
            return members
        return np.arange(self.objects.number) if members is None else members[np.arange(len(members))]

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`. Rounds of training come in a new order in each epoch."""
        indices = self.round_indices(split, number, size)
        if self.rounds.in_batch:
            targets, pool = self.pools(split, number)
            if targets is not pool:
                return self._in_batch(split, number, indices, pool)
        return self.batch_of(*self.candidates(split, number, indices))

    def _in_batch(self, split: str, number: int, indices: Integers, pool: Members) -> Batch:
        """Rounds of held-out targets whose candidates are, as in training, as many objects as the batch has rounds.

        The targets of the other rounds would all be held out: in their place are objects that are drawn from the pool.
        """
        rng, total = (
            np.random.default_rng([self.seed, *b"in batch", *split.encode(), number]),
            self.objects.number,
        )
        if total > MAX_SPLIT_OBJECTS:  # too many for a list, and for one to be drawn twice
            shared = np.unique(rng.integers(total, size=len(indices)))
        else:
            listed = self._listed(pool)
            shared = np.sort(rng.choice(listed, min(len(indices), len(listed)), replace=False))
        chosen, _ = self.candidates(split, number, indices)
        words = random_words(self.seed, f"in batch of {split}", indices, len(shared))
        places = (words[:, -1] % np.uint64(len(shared))).astype(np.int64)
        others = others_of(shared, chosen[:, 0], words[:, :-1], self.objects.number)
        return self.batch_of(
            with_target_at(chosen[:, 0], others, places), places[:, None], shares_objects=True
        )

    def batches(self, split: str, numbers: Sequence[int]) -> Batch | None:
        """See `World`. Rounds are pure functions of their indices, where all batches are of the same objects."""
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
        """The candidates of the rounds of batch `number` with these indices, and the places of their targets.

        Returns:
            Numbers of objects, (batch, num_candidates), and places, (batch, num_targets).
        """
        targets, pool = self.pools(split, number)
        probabilities = self.probabilities
        if probabilities is not None and targets is not None:
            probabilities = probabilities[self._listed(targets)]
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
        """The objects from which targets and candidates of batch `number` of a split are drawn."""
        return self.subsets.members.get(split), self.subsets.pool(split)

    def distractors_in(self, pool: Members) -> Distractors | None:
        """How distractors are drawn from a pool, by the numbers of targets; None: all are equally likely."""
        if (similar := self.similar) is None:
            return None
        listed = self._listed(pool)
        return lambda targets, words: similar.of(targets, words, listed)

    @property
    def has_similar_distractors(self) -> bool:
        """Whether distractors are chosen by their likeness to the target, which they may give away."""
        return self.similar is not None

    def batch_of(
        self, candidates: Integers, targets: Integers, *, shares_objects: bool | None = None
    ) -> Batch:
        """The batch of these candidates, (batch, num_candidates), with targets at places, (batch, num_targets).

        `shares_objects` is that of the class if it is None.
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
        """One-hot attribute values, concatenated, where agents see these. See `World`."""
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
        """See `World`: candidates that are held out alone, or have the held-out values in most rounds."""
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
            f"in {share:.0%} of the held-out rounds all candidates have the held-out values, so that agents need not "
            "tell these: the combination is not tested"
        )

    def _held_out_values(self) -> list[dict[int, int]]:
        """The combinations of values that are held out, by attribute: those that are named, or that all have."""
        if (named := getattr(self.options, "held_out_value", None)) is not None:
            return [dict(each) for each in values_in(named, self.objects.names).values()]
        held_out = self.objects.values(self._listed(self.subsets.members["valid"]))
        common = np.flatnonzero((held_out == held_out[0]).all(0))
        return [dict(zip(common.tolist(), held_out[0, common].tolist(), strict=True))] if len(common) else []

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Rounds about objects of training, if evaluations are about others, and about rare values. See `World`."""
        further: dict[str, tuple[World, str]] = {}
        if self.subsets.evaluates_others:
            further[SEEN_OBJECTS] = (self, "seen")
        if RARE in self.subsets.members:
            further["rare values"] = (self, RARE)
        return further


class ValuesWorld(ObjectWorld):
    """Base class of worlds of attribute values; the corpus has each distinct meaning once.

    Where the sender sees several objects, the corpus is about rounds of evaluation.
    """

    default_perceptions = ("identity", "tanh")

    def take(self, objects: Objects, subsets: Subsets, source: str) -> None:
        """See the base class."""
        super().take(objects, subsets, source)
        self.value_names, self.num_values = objects.names, tuple(map(len, objects.names))
        self.object_shape = (len(self.num_values) * max(self.num_values),)

    def distinct_meanings(self, number: int) -> Integers:
        """A seeded sample of objects without replacement, in their order; all if there are fewer, (number,)."""
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
        """The values of the target, and the split that it is of. See `World`."""
        described = super().describe(batch)
        if isinstance(self.objects, Product) and self.subsets.members:
            numbers = self.objects.numbers(described.meanings)
            return replace(described, columns=self.subsets.column(numbers))
        return described
