"""Chance level of topsim if each line is also paired with itself, as two published programs do.

A line has distance 0 to itself in messages and in meanings, so that languages without any structure score above 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from ecsuite.benchmarks.literature.readings import topsim
from ecsuite.benchmarks.literature.samples import Sample

GEOMETRIES = (((4, 4), 3, 5), ((8, 4), 2, 8), ((8, 8), 2, 8), ((16, 16), 2, 16))
"""Values of each attribute, symbols of a message, vocabulary."""
NUM_LANGUAGES = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Chance:
    """Mean score of random languages about all meanings."""

    about: str
    """Meanings and messages."""
    others: float
    """Over pairs of different lines."""
    itself: float
    """Also over each line and itself."""


def rows(num_languages: int = NUM_LANGUAGES) -> Iterator[Chance]:
    """A row for each geometry; messages are drawn uniformly."""
    for num_values, length, vocab_size in GEOMETRIES:
        meanings = np.array(list(product(*map(range, num_values))))
        values = []
        for seed in range(num_languages):
            rng = np.random.default_rng(seed)
            drawn = rng.integers(1, vocab_size + 1, size=(len(meanings), length))
            sample = Sample(messages=[tuple(row) for row in drawn.tolist()], attributes=meanings)
            values.append((topsim(sample), topsim(sample, itself=True)))
        others, itself = np.mean(values, axis=0)
        about = f"{len(meanings)} meanings, {length} symbols of {vocab_size}"
        yield Chance(about=about, others=float(others), itself=float(itself))
