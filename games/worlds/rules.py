"""Worlds of rules, which several targets satisfy: over attribute values, and over images of shapes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, product
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds.candidates import each_once
from ecsuite.games.worlds.objects import (
    NOT_TESTED,
    CandidatePool,
    HeldOutValue,
    Product,
    Subsets,
    have_values,
    random_share,
    require_held_out,
)
from ecsuite.games.worlds.rendering import SHAPE_CONCEPTS, RenderedWorld, shape_scenes
from ecsuite.games.worlds.world import (
    FREE,
    SEEN_RULES,
    Batch,
    Description,
    Integers,
    RoundSpec,
    RunSizes,
    World,
    describe,
    one_hot,
)
from ecsuite.parts.config import Count, Levels, Share
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import distinct_draws, random_words

MAX_RULES = 1_000_000
"""Maximum number of rules of a world: their table is held in memory."""


class RuleWorld(World):
    """Base class of worlds whose rounds may be about rules, some of which are held out from training."""

    has_rules = True
    splits = ("train", "valid", "test", "seen", "all")
    rules: Description
    rules_of_split: dict[str, Integers]
    """Rules of each split, as indices into `rules`."""

    def take_rules(self, rules: Description, subsets: Subsets) -> None:
        """Set the rules of rounds and their splits."""
        numbers = np.arange(len(rules.meanings))
        self.rules = replace(rules, columns=subsets.column(numbers))
        self.rules_of_split = {name: np.asarray(members) for name, members in subsets.members.items()}
        self.rules_of_split["all"] = numbers


class ConjunctionWorld(RuleWorld):
    """Base class of worlds whose rounds are about conjunctive rules over the named values of their attributes."""

    has_targets_first = True

    def __init__(
        self, options: Any, rounds: RoundSpec, sizes: RunSizes, value_names: Sequence[Sequence[str]]
    ) -> None:
        super().__init__(rounds, sizes)
        if options.distractors != "random" and not self.num_distractors:
            raise ConfigError("world.distractors: the task draws no distractors: expected random")
        self.value_names, self.is_hard = value_names, options.distractors == "hard"
        self.num_values = tuple(map(len, value_names))
        self.table = conjunctions(self.num_values, options.rule_length)
        if options.held_out_value is not None:
            is_held_out = have_values(options.held_out_value, self.table, value_names, "rule")
            self.subsets = Subsets.without(is_held_out)
        else:
            self.subsets = split_rules(len(self.table), options.rule_length, options.held_out, self.seed)
        candidates: CandidatePool = getattr(options, "candidates", "all")
        require_held_out(candidates, options.held_out or options.held_out_value)
        self.subsets = replace(self.subsets, candidates=candidates)
        self.take_rules(describe(self.table, value_names), self.subsets)
        if self.subsets.evaluates_others:
            held_out = len(self.subsets.members["valid"])
            self.notes = (*self.notes, f"{held_out} of {len(self.table)} rules are held out from training")

    def trained_note(self, trained: World) -> str | None:
        """See `World`."""
        if not isinstance(trained, ConjunctionWorld) or not np.array_equal(trained.table, self.table):
            return None
        return self.subsets.trained_note(trained.subsets, "rules")

    def untested_note(self) -> str | None:
        """See `World`."""
        is_split = self.subsets.evaluates_others and self.subsets.candidates == "split"
        return NOT_TESTED if is_split and self.num_distractors else None

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Training rules on new objects, if evaluations use held-out rules. See `World`."""
        return {SEEN_RULES: (self, "seen")} if self.subsets.evaluates_others else {}


def number_of_conjunctions(num_values: Sequence[int], length: int) -> int:
    """Number of rules of a length: the elementary symmetric polynomial of the numbers of values."""
    numbers = [1] + [0] * length  # by number of attributes fixed so far
    for number in num_values:
        for fixed in range(length, 0, -1):
            numbers[fixed] += numbers[fixed - 1] * number
    return numbers[length]


def conjunctions(num_values: Sequence[int], length: int) -> Integers:
    """All rules that fix `length` attributes, (num_rules, num_attributes).

    Raises:
        ConfigError: If there are fewer than `length` attributes, or more than `MAX_RULES` rules.
    """
    if length > len(num_values):
        raise ConfigError(f"world.rule_length: expected at most {len(num_values)} attributes, got {length}")
    if (number := number_of_conjunctions(num_values, length)) > MAX_RULES:
        raise ConfigError(
            f"world.rule_length: expected at most {MAX_RULES:,} rules, but {length} of {len(num_values)} attributes "
            f"make {number:,}: lower world.rule_length, world.num_attributes or world.num_values"
        )
    rules = []
    for chosen in combinations(range(len(num_values)), length):
        values = np.array(list(product(*(range(num_values[attribute]) for attribute in chosen))))
        block = np.full((len(values), len(num_values)), FREE)
        block[:, chosen] = values
        rules.append(block)
    return np.concatenate(rules)


def pairs_broken(labels: Integers, rules: Integers) -> Integers:
    """Number of pairs of each rule that each object violates, (num_rules, num_objects); 0: it satisfies the rule."""
    fixed = rules[:, None] != FREE
    return np.asarray(((rules[:, None] != labels[None]) & fixed).sum(-1))


def split_rules(num_rules: int, length: int, held_out: float, seed: int) -> Subsets:
    """Split the rules.

    Rules of one pair are never held out: an agent cannot know the symbol of a value that never occurred in training.
    Held-out rules are in `valid` and `test`; if none are held out, all splits use all rules.

    Raises:
        ConfigError: If no rule is left for training.
    """
    num_held_out = round(held_out * num_rules) if length > 1 else 0
    if num_held_out == num_rules:
        raise ConfigError(
            f"world.held_out: {held_out} of {num_rules} rules leave none for training: lower it"
        )
    held_out_rules, train_rules = random_share(
        np.arange(num_rules), held_out if length > 1 else 0.0, seed, "rules"
    )
    return Subsets.of(train_rules, held_out_rules if num_held_out else None)


class ThingWorld(ConjunctionWorld):
    """All combinations of `num_attributes` attributes of `num_values` values: 100 000 objects in the paper.

    Targets are drawn without replacement from the objects that satisfy the rule. If these are fewer than targets
    (in the paper's size, a rule of four pairs has ten objects, one of five has one), all of them are repeated as
    equally often as possible. Distractors are drawn with replacement from all objects that violate the rule or, if
    they are hard, from those that violate exactly one of its pairs.

    Raises:
        ConfigError: If a rule fixes more attributes than there are, or 63-bit indices can't number all objects.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        num_attributes: Count = 4
        """Number of attributes of an object."""
        num_values: Levels = 4
        """Number of values of each attribute."""
        rule_length: Count = 1
        """Number of pairs of attribute and value that a rule joins by `and`."""
        distractors: Literal["random", "hard"] = "random"
        """Hard distractors violate exactly one pair of the rule, if such objects exist."""
        held_out: Share = 0.1
        """Share of the rules that are held out from training; rules of one pair are never held out."""
        held_out_value: HeldOutValue = None
        """Hold out the rules that fix these values, attribute0=1,attribute2=3, or one of a list of such combinations,
        instead of a share."""

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        objects = Product((options.num_values,) * options.num_attributes)
        super().__init__(options, rounds, sizes, objects.names)
        self.num_attributes, self.values_per_attribute = options.num_attributes, options.num_values
        self.length = options.rule_length
        self.fixed = Product((options.num_values,) * self.length)
        """Combinations of values of the attributes that a rule fixes."""
        self.free = Product((options.num_values,) * (options.num_attributes - self.length))
        """Combinations of the other attributes."""
        self.object_shape = (options.num_attributes * options.num_values,)

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`."""
        num_distractors = self.num_distractors
        indices = np.arange(number * size, (number + 1) * size)
        words = random_words(self.seed, split, indices, 1 + 2 * self.num_targets + 4 * num_distractors)
        allowed = self.rules_of_split[split]
        rules = allowed[(words[:, 0] % np.uint64(len(allowed))).astype(np.int64)]
        fixed = (
            np.flatnonzero(self.table[rules].ravel() != FREE).reshape(size, self.length) % self.num_attributes
        )
        free = np.flatnonzero(self.table[rules].ravel() == FREE).reshape(size, -1) % self.num_attributes
        wanted = np.take_along_axis(self.table[rules], fixed, axis=1)  # (batch, length)

        targets = self._targets(words[:, 1 : 1 + 2 * self.num_targets])
        broken, rest = self._distractors(words[:, 1 + 2 * self.num_targets :], wanted)
        num_shown, num_both = self.num_targets, self.num_targets + num_distractors
        objects = np.empty((size, num_both, self.num_attributes), dtype=np.int64)
        values = np.broadcast_to(wanted[:, None], (size, num_shown, self.length))
        _place(objects[:, :num_shown], fixed, values)
        _place(objects[:, :num_shown], free, self.free.values(targets))
        _place(objects[:, num_shown:], fixed, broken)
        _place(objects[:, num_shown:], free, self.free.values(rest))
        places = np.arange(size * num_both).reshape(size, num_both)
        flat = objects.reshape(size * num_both, self.num_attributes)
        return Batch(
            objects=flat,
            shown=places if self.rounds.sender_sees_all else places[:, :num_shown],
            num_positive=num_shown,
            candidates=None,
            labels=self.targets_first(size),
            values=flat,
            rules=rules,
        )

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """One-hot attribute values, concatenated. See `World`."""
        return one_hot(objects, self.values_per_attribute, dtype)

    def _targets(self, words: NDArray[np.uint64]) -> Integers:
        """Combination of free values of each target, by index, (batch, num_targets)."""
        num_matching = self.free.number
        if num_matching >= self.num_targets:
            return distinct_draws(words[:, : self.num_targets], num_matching)
        first = (words[:, :1] % np.uint64(num_matching)).astype(np.int64)
        repeated: Integers = (first + np.arange(self.num_targets)) % num_matching
        return repeated

    def _distractors(self, words: NDArray[np.uint64], wanted: Integers) -> tuple[Integers, Integers]:
        """Values of the fixed attributes, (batch, num_distractors, length), and the combination of free values."""
        first, second, third, fourth = np.split(words, 4, axis=1)
        rest = (fourth % np.uint64(self.free.number)).astype(np.int64)
        if self.is_hard:
            place = (first % np.uint64(self.length)).astype(np.int64)[..., None]
            shift = 1 + (second % np.uint64(self.values_per_attribute - 1)).astype(np.int64)[..., None]
            values = np.repeat(wanted[:, None], first.shape[1], axis=1)
            moved = (np.take_along_axis(values, place, axis=2) + shift) % self.values_per_attribute
            np.put_along_axis(values, place, moved, axis=2)
            return values, rest
        # Shifting the rule's number by 1 to n - 1 gives all other numbers with equal probability.
        shift = 1 + (third % np.uint64(self.fixed.number - 1)).astype(np.int64)
        numbers = (self.fixed.numbers(wanted)[:, None] + shift) % self.fixed.number
        return self.fixed.values(numbers), rest


def _place(objects: Integers, attributes: Integers, values: Integers) -> None:
    """Write values (batch, n, k) into attributes (batch, k) of objects (batch, n, num_attributes)."""
    np.put_along_axis(objects, np.broadcast_to(attributes[:, None], values.shape), values, axis=2)


NUM_VALUES: tuple[int, ...] = (5, 6, 3, 3)
"""Numbers of shapes, colours, columns and rows: 17 concepts and 270 full labels."""
ENDS = tuple(accumulate(NUM_VALUES))
"""End of the concepts of each attribute in `SHAPE_CONCEPTS`."""


class ShapesWorld(RenderedWorld, ConjunctionWorld):
    """Images of one coloured shape at one of nine positions, with any number of images per label.

    Images are expensive to encode, so the rounds of a batch share `images_per_batch` images: `images_per_batch //
    num_targets` rules are drawn, distinct if possible, and for each rule `num_targets` images that satisfy
    it. The rounds use these rules in rotation. A round's targets and distractors are drawn without replacement from all
    images of the batch that satisfy or violate its rule; for held-out rules see `candidates`. Hard distractors violate
    as few pairs as the images allow. If there are too few targets or distractors, images are repeated, as equally
    often as possible. Images are redrawn if all of them satisfy the rule of a round.

    Raises:
        ConfigError: If there are too few images for two rules, or a split has fewer than two rules.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        rule_length: Count = 1
        """Number of pairs of attribute and value that a rule joins by `and`."""
        distractors: Literal["random", "hard"] = "random"
        """Hard distractors violate exactly one pair of the rule, if such objects exist."""
        held_out: Share = 0.1
        """Share of the rules that are held out from training; rules of one pair are never held out."""
        held_out_value: HeldOutValue = None
        """Hold out the rules that fix these values, shape=circle,color=red, or one of a list of such combinations,
        instead of a share."""
        images_per_batch: Count = 320
        """Number of images that the rounds of a batch share; each image is encoded once per batch."""
        candidates: CandidatePool = "all"
        """Source of the distractors of rounds about held-out rules. all: images of all rules. split: images that
        satisfy held-out rules."""

    default_perceptions = ("conv_grid", "conv_grid")

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        names = [SHAPE_CONCEPTS[end - number : end] for end, number in zip(ENDS, NUM_VALUES, strict=True)]
        super().__init__(options, rounds, sizes, names)
        self.images_per_batch = options.images_per_batch
        for size in (sizes.batch_size, sizes.evaluation_batch_size):
            if (num_rules := self._num_rules(size)) < 2:
                raise ConfigError(
                    f"world.images_per_batch and training.batch_size: {options.images_per_batch} images and {size} "
                    f"rounds make {num_rules} rules of {self.num_targets} targets per batch: expected at least 2"
                )
        fewest = 2 if options.candidates == "split" else 1
        if len(self.rules_of_split["train"]) < 2 or len(self.rules_of_split["valid"]) < fewest:
            # With a single rule there are no distractors.
            key = "held_out" if options.held_out_value is None else "held_out_value"
            raise ConfigError(
                f"world.{key}: {getattr(options, key)} of {len(self.table)} rules makes "
                f"{len(self.rules_of_split['train'])} for training and {len(self.rules_of_split['valid'])} for "
                f"evaluation: expected at least 2 and {fewest}"
            )

    def draw(self, split: str, number: int, size: int) -> Batch:
        """See `World`."""
        rng = np.random.default_rng([self.seed, *split.encode(), number])
        is_playable = False
        while not is_playable:
            rules, labels = self._labels(split, size, rng)
            of_rule = pairs_broken(labels, self.table[rules])
            first_distractor = len(rules) * self.num_targets % len(labels)
            is_playable = of_rule[:, first_distractor:].max(1).min() > 0
        turns = np.arange(size) % len(rules)
        num_broken = of_rule[turns]  # (batch, num_images)
        draws = rng.random(num_broken.shape)
        order, is_target = draws.argsort(1), num_broken == 0
        targets = _first(order, is_target, self.num_targets)
        if self.is_hard:
            order = (num_broken + draws).argsort(1)
        is_distractor = ~is_target & (np.arange(len(labels)) >= first_distractor)
        distractors = _first(order, is_distractor, self.num_distractors)
        used, places = each_once(targets, distractors)
        candidates = np.concatenate(places, axis=1)
        # Each batch has its own range of indices, so that batches of a split share no image.
        scenes = shape_scenes(self.seed, split, number * len(labels) + used, labels[used])
        return Batch(
            objects=self.objects_of(scenes),
            shown=candidates if self.rounds.sender_sees_all else candidates[:, : self.num_targets],
            num_positive=self.num_targets,
            candidates=candidates,
            labels=self.targets_first(size),
            values=labels[used],
            rules=rules[turns],
        )

    def _num_rules(self, size: int) -> int:
        """Number of rules in a batch of `size` rounds."""
        return min(self.images_per_batch // self.num_targets, size)

    def _labels(self, split: str, size: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
        """Draw the rules of a batch, and the labels of its images, (num_images, 4).

        The first images satisfy these rules. If the rules are held out and distractors are from all rules, there are
        half as many rules, and images of other rules, from which distractors are drawn.
        """
        allowed, number = self.rules_of_split[split], self._num_rules(size)
        is_divided = self.num_distractors and self.subsets.pool(split) is not self.subsets.members.get(split)
        rules = np.resize(rng.permutation(allowed), number // 2 if is_divided else number)
        shown = rules
        if is_divided:
            others = np.resize(rng.permutation(len(self.table)), number - len(rules))
            shown = np.concatenate([rules, others])
        wanted = np.repeat(self.table[shown], self.num_targets, axis=0)
        labels = np.where(wanted == FREE, rng.integers(NUM_VALUES, size=wanted.shape), wanted)
        return rules, labels


def _first(order: Integers, is_in: NDArray[np.bool_], number: int) -> Integers:
    """Select the first `number` indices in an order, (batch, num_images), that are in; fewer are repeated."""
    is_taken = np.take_along_axis(is_in, order, axis=1)
    num_taken = is_taken.sum(1)
    before = np.cumsum(num_taken) - num_taken
    first: Integers = order[is_taken][before[:, None] + np.arange(number) % num_taken[:, None]]
    return first
