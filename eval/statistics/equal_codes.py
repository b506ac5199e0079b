"""Which rows have the same code, without sorting them, which takes several times as long."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import Ints, is_sparse

_BLOCK = 1 << 16
"""Codes taken at once, so that what is made of them fits the cache."""
_FACTOR = 0x9E3779B97F4A7C15
"""An odd number of 64 bits, near 2^64 divided by the golden ratio: Knuth, The Art of Computer Programming, 6.4."""


def labels_of_codes(codes: Ints, bound: int) -> Ints:
    """Number the distinct codes 0, 1, … in order of first occurrence.

    Args:
        codes: From 0, below `bound`, shape (num_rows,).
        bound: At most 2^63.

    Returns:
        The label of each row, shape (num_rows,).
    """
    first = first_equal(codes, bound)
    labels = np.empty(len(codes), np.int64)
    number = 0
    for start in range(0, len(codes), _BLOCK):  # a row's first row comes before it, and has its label
        block = slice(start, start + _BLOCK)
        own = labels[block]
        is_first = first[block] == np.arange(start, start + len(own))
        np.cumsum(is_first, out=own)
        own += number - 1
        number = int(own[-1]) + 1
        np.copyto(own, labels[first[block]], where=~is_first)
    return labels


def first_equal(codes: Ints, bound: int) -> NDArray[np.integer[Any]]:
    """The first row with the same code as each row, shape (num_rows,); arguments are those of `labels_of_codes`.

    Each row writes its number to a place of a table that its code determines, the first row of a place last. What a
    row then reads there is the first row of the same code, or a row of another code that has the same place. Those that
    read another code try again with other places.
    """
    narrow = np.int32 if len(codes) < 1 << 31 else np.int64
    first: NDArray[Any] = np.empty(len(codes), narrow)
    ends = [*range(0, len(codes), _BLOCK), len(codes)]
    left = [np.arange(start, end, dtype=narrow) for start, end in pairwise(ends)]
    factor, size = 1, bound
    is_direct = not is_sparse(bound, len(codes))
    while left:
        if not is_direct:
            size, factor = 1 << max(1, sum(map(len, left)).bit_length() - 1), factor * _FACTOR % (1 << 64)
        table = np.empty(size, narrow)
        for rows in reversed(left):
            place = codes[rows] if is_direct else _places(codes[rows], factor, size)
            table[place[::-1]] = rows[::-1]  # of equal places the last is kept
        others = []
        for rows in left:
            place = codes[rows] if is_direct else _places(codes[rows], factor, size)
            first[rows] = found = table[place]
            others.append(rows[codes[found] != codes[rows]])
        left = [rows for rows in others if len(rows)]
    return first


def _places(codes: Ints, factor: int, size: int) -> NDArray[np.uint64]:
    """Places below `size`, a power of two above 1: the highest bits of the products of codes and a factor."""
    places: NDArray[np.uint64] = codes.view(np.uint64) * np.uint64(factor)
    places >>= np.uint64(65 - size.bit_length())
    return places
