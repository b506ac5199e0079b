"""The world of single objects with attribute values, drawn at random.

A drawn round is a pure function of (seed, split, index): nothing is stored, and any round can be drawn again.
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from ecsuite.games.worlds.frequencies import FREQUENCIES, Floats, Uniform, drawn
from ecsuite.games.worlds.hard_distractors import SharingDistractors, with_target_at
from ecsuite.games.worlds.world import (
    Batch,
    Description,
    Integers,
    RoundSpec,
    RunSizes,
    World,
    attribute_names,
    one_hot,
    split_names,
)
from ecsuite.parts.config import Count, Levels, Natural, Share
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import distinct_draws, random_words

CORPUS_BATCH = 4096
"""Meanings per batch of the corpus."""

MAX_SPLIT_OBJECTS = 2**22
"""Most objects of which some can be held out: their order is a table."""


class SingleObjectWorld(World):
    """Base class of worlds whose rounds are about one object with attribute values, or about several given ones."""

    default_perceptions = ("identity", "tanh")

    def __init__(self, rounds: RoundSpec, sizes: RunSizes, num_attributes: int, num_values: int) -> None:
        super().__init__(rounds, sizes)
        self.num_attributes, self.values_per_attribute = num_attributes, num_values
        self.num_values = (num_values,) * num_attributes
        self.object_shape = (num_attributes * num_values,)
        self.value_names = attribute_names(num_attributes, num_values)

    @abstractmethod
    def examples(self, split: str, indices: Integers) -> tuple[Integers, Integers]:
        """Candidates (batch, num_candidates, num_attributes) and the targets among them, (batch, num_targets)."""

    @abstractmethod
    def distinct_meanings(self, number: int) -> Integers:
        """`number` distinct meanings, or all if there are fewer, (number, num_attributes)."""

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`. Rounds of training come in a new order in each epoch."""
        return self.laid_out(*self.examples(split, self.round_indices(split, number, size)))

    def laid_out(self, candidates: Integers, targets: Integers) -> Batch:
        """The batch of these candidates, laid out by place."""
        num_rounds, num_candidates, _ = candidates.shape
        first = np.arange(num_rounds)[:, None] * num_candidates
        labels = np.zeros((num_rounds, num_candidates), dtype=bool)
        np.put_along_axis(labels, targets, True, axis=1)
        shown = np.argsort(~labels, axis=1, kind="stable") if self.rounds.sender_sees_all else targets
        objects = candidates.reshape(-1, self.num_attributes)
        return Batch(
            objects=objects,
            shown=first + shown,
            num_positive=targets.shape[1],
            candidates=None,
            labels=labels,
            values=objects,
        )

    def corpus_batches(self, num_messages: int) -> Iterator[Batch]:
        """Each distinct meaning once; rounds of evaluation where the sender sees several objects. See `World`."""
        if self.rounds.sender_sees_all or self.rounds.num_targets > 1:
            yield from super().corpus_batches(num_messages)
            return
        meanings = self.distinct_meanings(num_messages)
        for start in range(0, len(meanings), CORPUS_BATCH):
            objects = meanings[start : start + CORPUS_BATCH, None]
            yield self.laid_out(objects, np.zeros((len(objects), 1), dtype=np.int64))

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """One-hot attribute values, concatenated. See `World`."""
        return one_hot(objects, self.values_per_attribute, dtype)


RARE = "rare"
"""The split of objects with a rare value that are not in training."""
UNIFORM = Part("uniform", Uniform.Options())
"""The frequencies of a world that names none."""


class AttributeWorld(SingleObjectWorld):
    """Objects with `num_attributes` attributes of `num_values` values each, all combinations of them.

    The candidates of a round are distinct, and each set of distinct objects is equally likely. Where frequencies
    differ, they are those of targets; all sets of distractors are equally likely, and the corpus is about rounds.

    Raises:
        ConfigError: If there are fewer objects than candidates, or more than 63-bit indices can number.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        num_attributes: Count = 4
        """Number of attributes of an object."""
        num_values: Levels = 4
        """Number of values of each attribute."""
        held_out: Share = 0.0
        """Share of the objects that are held out from training; evaluations are then about these."""
        rare_combinations: Natural | None = None
        """Other values with which the first value of an attribute, which is then rare, occurs in training. All else
        that has a rare value is in neither training nor `held_out`, and evaluated apart. null: no value is rare."""
        frequencies: Annotated[Part, FREQUENCIES] = UNIFORM
        """How often each object is the target, the first object first, the last attribute varying fastest."""
        shared_values: Natural | None = None
        """Values that each distractor has in common with the target, and no more; null: any distractors."""

        def __post_init__(self) -> None:
            """Check that distractors are drawn in one way."""
            if self.shared_values is not None:
                for name, given in (
                    ("held_out", self.held_out),
                    ("rare_combinations", self.rare_combinations),
                ):
                    if given not in (0.0, None):
                        raise ConfigError(f"shared_values: expected no {name} beside it")
            if self.rare_combinations is not None and self.rare_combinations >= self.num_values - 1:
                raise ConfigError(
                    f"rare_combinations: expected less than {self.num_values - 1}, the other values of an attribute, "
                    f"got {self.rare_combinations}"
                )

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        self.num_objects = number_of_objects(options.num_attributes, options.num_values)
        super().__init__(rounds, sizes, options.num_attributes, options.num_values)
        self.num_candidates = 1 + self.num_distractors
        if self.num_objects < self.num_candidates:
            raise ConfigError(
                f"{self.num_candidates} distinct candidates need as many objects, but {options.num_attributes} "
                f"attributes of {options.num_values} values make {self.num_objects}: lower task.num_distractors"
            )
        self.objects_of_split = self._split(options)
        self.sharing = None
        if options.shared_values is not None:
            self.sharing = SharingDistractors(
                options.shared_values, self.num_distractors, options.num_attributes, options.num_values
            )
        self.probabilities: Floats | None = FREQUENCIES.make(options.frequencies).probabilities(
            self.num_objects
        )
        if self.probabilities is not None and self.objects_of_split:
            self.corpus_split = "all"

    def examples(self, split: str, indices: Integers) -> tuple[Integers, Integers]:
        """See the base class."""
        draws = random_words(self.seed, split, indices, self.num_candidates + 1)
        allowed = self.objects_of_split.get(split)
        num_allowed = self.num_objects if allowed is None else len(allowed)
        places = (draws[:, -1:] % np.uint64(self.num_candidates)).astype(np.int64)
        if self.sharing is None and self.probabilities is None:
            chosen = distinct_draws(draws[:, :-1], num_allowed)
            return self.attributes(chosen if allowed is None else allowed[chosen]), places
        if self.probabilities is None:
            target = (draws[:, 0] % np.uint64(num_allowed)).astype(np.int64)
        else:
            target = drawn(
                self.probabilities if allowed is None else self.probabilities[allowed], draws[:, 0]
            )
        about = self.attributes(target if allowed is None else allowed[target])
        if self.sharing is not None:
            others = self.sharing.of(about, draws[:, 1:-1])
        else:
            other = distinct_draws(draws[:, 1:-1], num_allowed - 1)
            other += other >= target[:, None]
            others = self.attributes(other if allowed is None else allowed[other])
        return with_target_at(about, others, places[:, 0]), places

    def corpus_batches(self, num_messages: int) -> Iterator[Batch]:
        """Rounds by the frequencies of targets, where these differ. See `SingleObjectWorld`."""
        if self.probabilities is None:
            yield from super().corpus_batches(num_messages)
        else:
            yield from World.corpus_batches(self, num_messages)

    def distinct_meanings(self, number: int) -> Integers:
        """A seeded sample without replacement, sorted by object index; all objects if there are fewer."""
        if number >= self.num_objects:
            return self.attributes(np.arange(self.num_objects))
        rng = np.random.default_rng([self.seed, *b"corpus"])
        return self.attributes(np.sort(rng.choice(self.num_objects, size=number, replace=False)))

    def describe(self, batch: Batch) -> Description:
        """The values of the target, and the split that it is of. See `World`."""
        described = super().describe(batch)
        if not self.objects_of_split:
            return described
        places = self.values_per_attribute ** np.arange(self.num_attributes - 1, -1, -1, dtype=np.int64)
        targets = described.meanings @ places
        names = split_names(~np.isin(targets, self.objects_of_split["train"]))
        if RARE in self.objects_of_split:
            names = np.where(np.isin(targets, self.objects_of_split[RARE]), RARE, names)
        return replace(described, columns={"split": names})

    def attributes(self, objects: Integers) -> Integers:
        """Object indices (...) to attribute values (..., num_attributes); the first attribute is most significant."""
        places = self.values_per_attribute ** np.arange(self.num_attributes - 1, -1, -1, dtype=np.int64)
        return objects[..., None] // places % self.values_per_attribute

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Rounds about trained objects, if evaluations are about others, and about rare values. See `World`."""
        found: dict[str, tuple[World, str]] = {}
        if self.objects_of_split and self.objects_of_split["seen"] is not self.objects_of_split["valid"]:
            found["seen objects"] = (self, "seen")
        if RARE in self.objects_of_split:
            found["rare values"] = (self, RARE)
        return found

    def _split(self, options: Options) -> dict[str, Integers]:
        """The objects of each split; empty where all objects are of all splits."""
        if options.held_out == 0 and options.rare_combinations is None:
            return {}
        if self.num_objects > MAX_SPLIT_OBJECTS:
            name = "held_out" if options.held_out else "rare_combinations"
            raise ConfigError(
                f"world.{name}: expected at most {MAX_SPLIT_OBJECTS:,} objects to hold some out, got "
                f"{self.num_objects:,}"
            )
        common, known, rare = self._by_rarity(options.rare_combinations)
        order = np.random.default_rng([self.seed, *b"held out"]).permutation(common)
        num_held_out = round(options.held_out * len(common))
        held_out, trained = np.sort(order[:num_held_out]), np.sort(np.append(order[num_held_out:], known))
        self.splits = ("train", "valid", "test", "seen", "all")
        evaluated = held_out if options.held_out else trained
        splits = {"train": trained, "seen": trained, "valid": evaluated, "test": evaluated}
        if options.rare_combinations is not None:
            self.splits, splits[RARE] = (*self.splits, RARE), rare
        if min(len(objects) for objects in splits.values()) < self.num_candidates:
            raise ConfigError(self._too_few(options, len(trained), num_held_out, len(rare)))
        return splits

    def _too_few(self, options: Options, num_trained: int, num_held_out: int, num_rare: int) -> str:
        """What the splits hold, where one has fewer objects than a round has candidates."""
        name, parts = "held_out", [f"{num_trained} for training"]
        if options.held_out:
            parts.append(f"{num_held_out} for evaluation")
        if options.rare_combinations is not None:
            name = "rare_combinations"
            parts.append(f"{num_rare} with a rare value")
        return (
            f"world.{name}: {getattr(options, name)} of {self.num_objects} objects makes {' and '.join(parts)}, "
            f"expected at least {self.num_candidates} of each"
        )

    def _by_rarity(self, num_known: int | None) -> tuple[Integers, Integers, Integers]:
        """Objects without rare values, those with one that are trained on, and all others.

        As in Auersperger & Pecina 2022, where 0, 0 and 0, 1 and 1, 0 are trained on: the object of rare values
        alone, and each rare value with the values from 1 to `num_known`, the same ones of all other attributes.
        """
        objects = np.arange(self.num_objects)
        if num_known is None:
            return objects, objects[:0], objects[:0]
        values = self.attributes(objects)
        is_rare, largest = values == 0, values.max(1)
        with_one = is_rare.sum(1) == 1
        others_alike = np.where(is_rare, largest[:, None], values).min(1) == largest
        is_known = with_one & others_alike & (largest <= num_known) | is_rare.all(1) & (num_known > 0)
        has_rare = is_rare.any(1)
        return objects[~has_rare], objects[is_known], objects[has_rare & ~is_known]


def number_of_objects(num_attributes: int, num_values: int) -> int:
    """Number of combinations of attribute values; `ConfigError` if 63-bit indices can't number them."""
    if num_attributes > 63 or num_values**num_attributes >= 2**63:
        raise ConfigError(
            f"{num_attributes} attributes of {num_values} values make more than 2^63 objects: "
            "lower world.num_attributes or world.num_values"
        )
    return int(num_values**num_attributes)
