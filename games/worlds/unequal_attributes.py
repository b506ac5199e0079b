"""Objects whose attributes differ: in their number of values, and in how often each value occurs.

With them one can see which attributes agents speak about (Dessì et al. 2019, arXiv 1911.01892).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ecsuite.games.worlds.candidates import Distractors, Words
from ecsuite.games.worlds.frequencies import Floats, others_by_frequency, power_law
from ecsuite.games.worlds.object_worlds import ValuesWorld
from ecsuite.games.worlds.objects import Members, Product
from ecsuite.games.worlds.splits import CandidatePool, HeldOutValue, Subsets, require_held_out
from ecsuite.games.worlds.world import Integers, RoundSpec, RunSizes
from ecsuite.parts.config import Levels, Natural, Weight
from ecsuite.runtime.errors import ConfigError

MAX_OBJECTS = 2**16
"""Most objects: their probabilities are a table."""


class UnequalAttributesWorld(ValuesWorld):
    """All combinations of attribute values; targets and distractors are drawn by the frequencies of their values.

    The candidates of a round are distinct: each is drawn from those that are left. The corpus has each object once,
    however frequent, so that what messages say of attributes can be compared.

    Raises:
        ConfigError: If there are fewer objects than candidates or more than `MAX_OBJECTS`, or not an exponent for each
            attribute.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        num_values: tuple[Levels, ...] = (4, 4, 4, 4, 4)
        """Number of values of each attribute: [8, 4, 2]."""
        exponents: tuple[Weight, ...] = ()
        """For each attribute the exponent of the power law by which its values occur, the first one most often, such as
        [2, 0, 0]; 0: all equally often. Empty: 0 for all."""
        held_out_value: HeldOutValue = None
        """Hold out the objects with these values, attribute0=1,attribute2=3, or a list of such combinations, from
        training; evaluations are then about these."""
        candidates: CandidatePool = "all"
        """What candidates of held-out rounds are drawn from: all objects, or split, held-out ones alone."""
        shared_values: Natural | None = None
        """Values that each distractor has in common with the target, and no more, all such being equally likely
        whatever their frequencies; null: any distractors, by their frequencies."""

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
        """Rounds are about these objects, by their probabilities, (num_objects,); see `take`."""
        require_held_out(options.candidates, options.held_out_value)
        self.options, subsets, source = options, Subsets(), "the combinations of values"
        if options.held_out_value is not None:
            subsets = Subsets.without_values(options.held_out_value, objects, options.candidates)
        self.probabilities = probabilities
        self.take(objects, subsets, source)
        if options.shared_values is not None:
            self.take_similar(options.shared_values, source)

    def distractors_in(self, pool: Members) -> Distractors | None:
        """Those that are left, by their frequencies. See `ObjectWorld`."""
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
    """All combinations of attribute values, as few as a table of probabilities may have; see `Product`."""
    if (number := prod(num_values)) > MAX_OBJECTS:
        raise ConfigError(f"world.num_values: expected at most {MAX_OBJECTS:,} objects, got {number:,}")
    return Product(num_values, names)
