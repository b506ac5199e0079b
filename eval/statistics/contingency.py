"""Contingency tables from flat codes: dense tables for few codes, sorting for many."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.counting import Ints, entropy

_TABLE = 1 << 22
"""Maximum size of a dense table; larger tables do not fit the CPU cache, and sorting is faster."""


def counted(codes: NDArray[Any], bound: int) -> tuple[Ints, Ints]:
    """The codes that occur, ascending, and their counts; codes are from 0, below `bound`, shape (num_codes,)."""
    if bound > _TABLE:
        return np.unique(codes, return_counts=True)
    counts = np.bincount(codes, minlength=1)
    present = np.flatnonzero(counts)
    return present, counts[present]


def tally(codes: Ints) -> Ints:
    """Counts of the codes that occur, from 0, in ascending order of the codes."""
    return counted(codes, int(codes.max(initial=-1)) + 1)[1]


def renumbered(codes: NDArray[Any], bound: int) -> tuple[Ints, Ints]:
    """The codes renumbered 0, 1, … in ascending order, and the original code of each; codes as for `counted`."""
    if bound > _TABLE:
        originals, dense = np.unique(codes, return_inverse=True)
        return dense, originals
    is_used = np.zeros(bound, bool)
    is_used[codes] = True
    return (np.cumsum(is_used) - 1)[codes], np.flatnonzero(is_used)


def conditional_entropies(
    weights: NDArray[Any], first: Ints, second: Ints
) -> tuple[float, float, float, float]:
    """H(first | second), H(second | first), H(first) and H(second) in bits.

    Of distinct pairs of codes from 0 with positive weights, each of shape (num_pairs,).
    """
    both = _entropy(weights)
    one, other = _entropy(np.bincount(first, weights)), _entropy(np.bincount(second, weights))
    return max(0.0, both - other), max(0.0, both - one), one, other


def _entropy(weights: NDArray[Any]) -> float:
    """Entropy in bits of the distribution given by weights; values below 1e-9 are rounded to 0."""
    bits = entropy(weights)
    return bits if bits > 1e-9 else 0.0
