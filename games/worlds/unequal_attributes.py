"""Objects whose attributes differ: in their number of values, and in how often each value occurs.

With them one can see which attributes agents speak about (Dessì et al. 2019, arXiv 1911.01892).
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from ecsuite.games.worlds.attributes import SingleObjectWorld
from ecsuite.games.worlds.frequencies import Floats, distinct_by_frequency
from ecsuite.games.worlds.world import Integers, RoundSpec, RunSizes
from ecsuite.parts.config import Levels, Weight
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import random_words

MAX_OBJECTS = 2**16
"""Most objects: their probabilities are a table."""


class UnequalAttributesWorld(SingleObjectWorld):
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

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        if not options.num_values:
            raise ConfigError("world.num_values: expected a number for each attribute, such as [4, 4, 2]")
        exponents = options.exponents or (0.0,) * len(options.num_values)
        if len(exponents) != len(options.num_values):
            raise ConfigError(
                f"world.exponents: expected a list of {len(options.num_values)} numbers, one for each attribute, "
                f"got {len(exponents)}"
            )
        self.num_objects = prod(options.num_values)
        if self.num_objects > MAX_OBJECTS:
            raise ConfigError(
                f"world.num_values: expected at most {MAX_OBJECTS:,} objects, got {self.num_objects:,}"
            )
        super().__init__(rounds, sizes, len(options.num_values), max(options.num_values))
        self.num_values = options.num_values
        self.value_names = [
            [f"attribute{place}={value}" for value in range(number)]
            for place, number in enumerate(options.num_values)
        ]
        self.objects = np.indices(self.num_values).reshape(len(self.num_values), -1).T
        self.num_candidates = 1 + self.num_distractors
        if self.num_objects < self.num_candidates:
            raise ConfigError(
                f"{self.num_candidates} distinct candidates need as many objects, but there are {self.num_objects}: "
                "raise world.num_values or lower task.num_distractors"
            )
        self.probabilities: Floats = np.ones(self.num_objects)
        for place, (number, exponent) in enumerate(zip(self.num_values, exponents, strict=True)):
            of_value = np.arange(1, number + 1) ** -exponent
            self.probabilities *= (of_value / of_value.sum())[self.objects[:, place]]

    def examples(self, split: str, indices: Integers) -> tuple[Integers, Integers]:
        """See the base class. The target is drawn first."""
        words = random_words(self.seed, split, indices, self.num_candidates + 1)
        places = (words[:, -1:] % np.uint64(self.num_candidates)).astype(np.int64)
        drawn = distinct_by_frequency(self.probabilities, words[:, :-1])
        rows = np.arange(len(drawn))
        drawn[rows, 0], drawn[rows, places[:, 0]] = drawn[rows, places[:, 0]], drawn[rows, 0].copy()
        return self.objects[drawn], places

    def distinct_meanings(self, number: int) -> Integers:
        """A seeded sample without replacement, in the order of objects; all objects if there are fewer."""
        if number >= self.num_objects:
            return self.objects
        rng = np.random.default_rng([self.seed, *b"corpus"])
        return self.objects[np.sort(rng.choice(self.num_objects, size=number, replace=False))]
