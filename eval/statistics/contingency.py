"""Contingency tables from flat codes, dense where that is quick and sorted where a table would be too large."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.counting import Ints

_TABLE = 1 << 22
"""A table of so many entries fits a cache well enough to beat sorting."""


def counted(codes: NDArray[Any], bound: int) -> tuple[Ints, Ints]:
    """The codes that occur, ascending, and how often each does.

    Args:
        codes: From 0, below `bound`, shape (num_codes,).
        bound: Decides between a table and sorting.
    """
    if bound > _TABLE:
        return np.unique(codes, return_counts=True)
    counts = np.bincount(codes, minlength=1)
    present = np.flatnonzero(counts)
    return present, counts[present]


def renumbered(codes: NDArray[Any], bound: int) -> tuple[Ints, Ints]:
    """Codes that are equal where these are, numbered 0, 1, … in order, and the original code of each number.

    Args:
        codes: From 0, below `bound`, shape (num_codes,).
        bound: Decides between a table and sorting.
    """
    if bound > _TABLE:
        originals, dense = np.unique(codes, return_inverse=True)
        return dense, originals
    is_used = np.zeros(bound, bool)
    is_used[codes] = True
    return (np.cumsum(is_used) - 1)[codes], np.flatnonzero(is_used)


def conditional_entropies(
    weights: NDArray[Any], first: Ints, second: Ints
) -> tuple[float, float, float, float]:
    """H(first | second), H(second | first), H(first) and H(second) in bits, from weighted pairs of codes.

    Args:
        weights: Of the different pairs, positive, shape (num_pairs,).
        first: Their first codes, from 0.
        second: Their second codes, from 0.
    """
    both = _entropy(weights)
    one, other = _entropy(np.bincount(first, weights)), _entropy(np.bincount(second, weights))
    return max(0.0, both - other), max(0.0, both - one), one, other


def _entropy(weights: NDArray[Any]) -> float:
    """Entropy in bits of the distribution that weights make; rounding noise below 1e-9 is none."""
    share = weights[weights > 0] / weights.sum()
    bits = -float(share @ np.log2(share))
    return bits if bits > 1e-9 else 0.0
