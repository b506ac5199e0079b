"""Worlds of attribute values: equal attributes, unequal attributes, and strings of two letters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from ecsuite.games.worlds.candidates import (
    FREQUENCIES,
    Distractors,
    Floats,
    SharingDistractors,
    Uniform,
    Words,
    others_by_frequency,
    power_law,
)
from ecsuite.games.worlds.object_worlds import ValuesWorld
from ecsuite.games.worlds.objects import (
    MAX_SPLIT_OBJECTS,
    RARE,
    CandidatePool,
    HeldOutValue,
    Members,
    Product,
    Subsets,
    random_share,
    require_held_out,
)
from ecsuite.games.worlds.world import Batch, Integers, RoundSpec, RunSizes, World
from ecsuite.parts.config import Count, Levels, Natural, Share, Weight
from ecsuite.parts.registry import Part
from ecsuite.runtime.errors import ConfigError

UNIFORM = Part("uniform", Uniform.Options())
"""Default frequencies of a world."""


class AttributeWorld(ValuesWorld):
    """All combinations of `num_attributes` attributes with `num_values` values each.

    The candidates of a round are distinct, and all sets of distinct objects are equally likely. If frequencies
    differ, they apply to targets; all sets of distractors are equally likely, and the corpus is about rounds.

    Raises:
        ConfigError: If there are fewer objects than candidates, or more than 63-bit indices.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        num_attributes: Count = 4
        """Number of attributes of an object."""
        num_values: Levels = 4
        """Number of values of each attribute."""
        held_out: Share = 0.0
        """Share of the objects that are held out from training; evaluations are then about held-out objects."""
        held_out_value: HeldOutValue = None
        """Hold out the objects with these values, attribute0=1,attribute2=3, or with one of a list of such
        combinations, instead of a share."""
        rare_combinations: Natural | None = None
        """Number of other values with which the first value of an attribute, then rare, occurs in training. All other
        objects with a rare value are in neither training nor `held_out`, and evaluated separately. null: no rare
        value."""
        frequencies: Annotated[Part, FREQUENCIES] = UNIFORM
        """Frequencies of objects as targets, the first object first, the last attribute varying fastest."""
        shared_values: Natural | None = None
        """Exact number of values that each distractor shares with the target; null: any distractors."""
        candidates: CandidatePool = "all"
        """Source of the candidates of held-out rounds. all: all objects. split: only held-out objects, so that
        their common values need not be communicated."""

        def __post_init__(self) -> None:
            """Validate that objects are held out in one way."""
            held_out = _ways_to_hold_out(self)
            if self.held_out_value is not None and len(held_out) > 1:
                raise ConfigError(f"held_out_value: expected {held_out[0]} to be unset")
            if self.rare_combinations is not None and self.rare_combinations >= self.num_values - 1:
                raise ConfigError(
                    f"rare_combinations: expected less than {self.num_values - 1}, the other values of an attribute, "
                    f"got {self.rare_combinations}"
                )

    objects: Product

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        super().__init__(rounds, sizes)
        self.options = options
        require_held_out(options.candidates, _ways_to_hold_out(options))
        objects = Product((options.num_values,) * options.num_attributes)
        source = f"{options.num_attributes} attributes of {options.num_values} values"
        self.take(objects, _subsets(options, objects, self.seed), source)
        self.sharing = None
        if options.shared_values is not None:
            self.sharing = SharingDistractors(
                options.shared_values, self.num_distractors, options.num_attributes, options.num_values
            )
            if self.subsets.members:
                self.take_similar(options.shared_values, source)
        self.probabilities = FREQUENCIES.make(options.frequencies).probabilities(objects.number)
        if self.probabilities is not None and self.subsets.members:
            self.corpus_split = "all"

    def distractors_in(self, pool: Members) -> Distractors | None:
        """Distractors that share values with the target. See `ObjectWorld`."""
        if self.sharing is None:
            return None
        return super().distractors_in(pool) if self.similar else self._sharing

    @property
    def has_similar_distractors(self) -> bool:
        """See `ObjectWorld`."""
        return self.sharing is not None

    def _sharing(self, targets: Integers, words: Words) -> Integers:
        """Distractors that share values with targets."""
        assert self.sharing is not None
        return self.objects.numbers(self.sharing.of(self.objects.values(targets), words))

    def corpus_batches(self, num_messages: int) -> Iterator[Batch]:
        """Rounds with the frequencies of targets, if these differ. See `ValuesWorld`."""
        if self.probabilities is None:
            yield from super().corpus_batches(num_messages)
        else:
            yield from World.corpus_batches(self, num_messages)


def _ways_to_hold_out(options: AttributeWorld.Options) -> list[str]:
    """Options that hold objects out and are set."""
    asked = {
        "held_out": options.held_out or None,
        "rare_combinations": options.rare_combinations,
        "held_out_value": options.held_out_value,
    }
    return [name for name, value in asked.items() if value is not None]


def _subsets(options: AttributeWorld.Options, objects: Product, seed: int) -> Subsets:
    """Make the splits of objects."""
    asked = _ways_to_hold_out(options)
    if not asked:
        return Subsets()
    if options.held_out_value is not None:
        return Subsets.without_values(options.held_out_value, objects, options.candidates)
    if objects.number > MAX_SPLIT_OBJECTS:
        raise ConfigError(
            f"world.{asked[0]}: expected at most {MAX_SPLIT_OBJECTS:,} objects to hold some out, got "
            f"{objects.number:,}"
        )
    common, known, rare = _by_rarity(objects, options.rare_combinations)
    held_out, trained = random_share(common, options.held_out, seed, "held out")
    further = {} if options.rare_combinations is None else {RARE: rare}
    trained = np.sort(np.append(trained, known))
    return Subsets.of(trained, held_out if options.held_out else None, options.candidates, **further)


def _by_rarity(objects: Product, num_known: int | None) -> tuple[Integers, Integers, Integers]:
    """Split objects into objects without rare values, training objects with a rare value, and all others.

    Training objects, as in Auersperger & Pecina 2022 (0, 0 and 0, 1 and 1, 0): the object of rare values
    only, and each rare value with a value from 1 to `num_known`, the same in all other attributes.
    """
    numbers = np.arange(objects.number)
    if num_known is None:
        return numbers, numbers[:0], numbers[:0]
    values = objects.all_values()
    is_rare, largest = values == 0, values.max(1)
    with_one = is_rare.sum(1) == 1
    others_alike = np.where(is_rare, largest[:, None], values).min(1) == largest
    is_known = with_one & others_alike & (largest <= num_known) | is_rare.all(1) & (num_known > 0)
    has_rare = is_rare.any(1)
    return numbers[~has_rare], numbers[is_known], numbers[has_rare & ~is_known]


MAX_OBJECTS = 2**16
"""Maximum number of objects: their probabilities are stored as a table."""


class UnequalAttributesWorld(ValuesWorld):
    """All combinations of attribute values; targets and distractors are drawn by the frequencies of their values.

    The candidates of a round are distinct: they are drawn without replacement. The corpus has each object once,
    however frequent, so that messages about attributes can be compared.

    Raises:
        ConfigError: If there are fewer objects than candidates, more than `MAX_OBJECTS`, or not one exponent per
            attribute.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        num_values: tuple[Levels, ...] = (4, 4, 4, 4, 4)
        """Number of values of each attribute: [8, 4, 2]."""
        exponents: tuple[Weight, ...] = ()
        """Exponent of the power law of each attribute's value frequencies, the first value most frequent, such as
        [2, 0, 0]; 0: uniform. []: 0 for all."""
        held_out_value: HeldOutValue = None
        """Hold out the objects with these values, attribute0=1,attribute2=3, or with one of a list of such
        combinations, from training; evaluations are then about them."""
        candidates: CandidatePool = "all"
        """Source of the candidates of held-out rounds: all objects, or split: only held-out objects."""
        shared_values: Natural | None = None
        """Exact number of values that each distractor shares with the target, drawn uniformly
        whatever their frequencies; null: any distractors, by frequency."""

    probabilities: Floats

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        if not options.num_values:
            raise ConfigError("world.num_values: expected a number for each attribute, such as [4, 4, 2]")
        exponents = options.exponents or (0.0,) * len(options.num_values)
        if len(exponents) != len(options.num_values):
            raise ConfigError(
                f"world.exponents: expected a list of {len(options.num_values)} numbers, one for each attribute, "
                f"got {len(exponents)}"
            )
        objects = few_combinations(options.num_values)
        values, probabilities = objects.all_values(), np.ones(objects.number)
        for place, exponent in enumerate(exponents):
            probabilities *= power_law(options.num_values[place], exponent)[values[:, place]]
        super().__init__(rounds, sizes)
        self.take_by_frequency(objects, probabilities, options)

    def take_by_frequency(self, objects: Product, probabilities: Floats, options: Any) -> None:
        """Set the objects of rounds, with probabilities, (num_objects,); see `take`."""
        require_held_out(options.candidates, options.held_out_value)
        self.options, subsets, source = options, Subsets(), "the combinations of values"
        if options.held_out_value is not None:
            subsets = Subsets.without_values(options.held_out_value, objects, options.candidates)
        self.probabilities = probabilities
        self.take(objects, subsets, source)
        if options.shared_values is not None:
            self.take_similar(options.shared_values, source)

    def distractors_in(self, pool: Members) -> Distractors | None:
        """Draw distractors by their frequencies, without replacement. See `ObjectWorld`."""
        if self.similar is not None:
            return super().distractors_in(pool)
        if pool is None:
            return partial(others_by_frequency, self.probabilities)
        listed = np.asarray(pool)

        def distractors(targets: Integers, words: Words) -> Integers:
            places = np.searchsorted(listed, targets)
            return listed[others_by_frequency(self.probabilities[listed], places, words)]

        return distractors


def few_combinations(num_values: Sequence[int], names: Sequence[Sequence[str]] = ()) -> Product:
    """All combinations of attribute values, with the size limit of a table of probabilities; see `Product`."""
    if (number := prod(num_values)) > MAX_OBJECTS:
        raise ConfigError(f"world.num_values: expected at most {MAX_OBJECTS:,} objects, got {number:,}")
    return Product(num_values, names)


NUM_LETTERS = 2


class LetterStringsWorld(UnequalAttributesWorld):
    """All strings a^m b^n with m and n from 1 to a maximum; the attributes of a string are m and n.

    An agent sees a string letter by letter: each letter is one-hot, followed by zeros after the last letter. The
    perception `recurrent` reads it in this order. The corpus has each string once.

    Raises:
        ConfigError: If no string, or every string, would have equal numbers of both letters.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        max_count: Levels = 10
        """Maximum number of each letter: a string has up to twice this length."""
        share_equal: Share = 0.5
        """Share of targets with equal numbers of both letters; uniform within both groups."""
        held_out_value: HeldOutValue = None
        """Hold out these strings, a=3,b=3, or one of a list of such combinations, from training; evaluations are then
        about them."""
        candidates: CandidatePool = "all"
        """Source of the candidates of held-out rounds: all strings, or split: only held-out strings."""
        shared_values: Natural | None = None
        """Exact number of counts that each distractor shares with the target; null: any distractors."""

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        if not 0 < options.share_equal < 1:
            raise ConfigError(
                f"world.share_equal: expected a number between 0 and 1, got {options.share_equal}"
            )
        super(UnequalAttributesWorld, self).__init__(rounds, sizes)
        counts = range(1, options.max_count + 1)
        names = [[f"{letter}={count}" for count in counts] for letter in "ab"]
        objects = few_combinations((options.max_count,) * NUM_LETTERS, names)
        first, second = objects.all_values().T
        is_equal = first == second
        probabilities = np.where(
            is_equal,
            options.share_equal / is_equal.sum(),
            (1 - options.share_equal) / (~is_equal).sum(),
        )
        self.take_by_frequency(objects, probabilities, options)
        self.longest = NUM_LETTERS * options.max_count
        self.object_shape = (self.longest * NUM_LETTERS,)

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """Convert counts minus 1, (num_objects, 2), to concatenated one-hot letters. See `World`."""
        first, second = (objects + 1).unbind(-1)
        places = torch.arange(self.longest, device=objects.device)
        is_first = places < first[:, None]
        is_second = (places < (first + second)[:, None]) & ~is_first
        return torch.stack([is_first, is_second], dim=-1).flatten(1).to(dtype)
