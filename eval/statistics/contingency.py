"""Codes and labels of rows, and contingency tables: dense tables for few codes, sorting or hashing for many."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_TABLE = 1 << 22
"""Maximum size of a dense table; larger tables do not fit the CPU cache, and sorting is faster."""
MAX_CODES = 1 << 62
"""Upper bound of codes, to avoid integer overflow."""
_SPARSE = 64
"""Table entries per code above which sorting is faster, for renumbering codes."""
_SPARSE_COUNTS = 4
"""Table entries per code above which sorting is faster, for counting codes."""
MOST_TOGETHER = 1 << 18
"""Maximum number of codes of several rows, or entries of their tables, that are counted together."""
_SMALL_TABLE = 1 << 14
"""Entries up to which a table is faster than sorting, for any number of codes."""


def entropy(counts: NDArray[Any]) -> float:
    """Plug-in entropy in bits of the distribution given by counts: -sum p log2 p."""
    counts = counts[counts > 0]
    return _bits(counts / counts.sum())


def chao_shen(counts: NDArray[Any]) -> float:
    """Entropy in bits with less bias than `entropy`, which is too low if many values were rarely or never drawn.

    Chao and Shen (2003), "Nonparametric estimation of Shannon's index of diversity when there are unseen species in
    sample", Environmental and Ecological Statistics 10: -sum C p log2(C p) / (1 - (1 - C p)^n), where C = 1 - f / n is
    Good's estimate of the share of the distribution that was seen, with f the number of draws of values seen once; if
    all values were seen once, f is n - 1.

    Args:
        counts: Number of draws of each value; fractions if a draw is divided over several values.
    """
    counts = counts[counts > 0]
    total = float(counts.sum())
    once = min(float(counts[counts <= 1].sum()), total - 1)
    share = (1 - once / total) * counts / total
    with np.errstate(divide="ignore"):  # a single value has share 1
        is_seen = -np.expm1(total * np.log1p(-share))
    return max(0.0, -float(share @ (np.log2(share) / is_seen)))


def counted(codes: NDArray[Any], bound: int, *, overwrites: bool = False) -> tuple[Ints, Ints]:
    """Distinct codes, ascending, and their counts; codes are from 0, below `bound`, shape (num_codes,).

    With `overwrites` the codes may be sorted in place, which takes less memory.
    """
    if _is_sorted_faster(bound, len(codes)):
        ordered = codes if overwrites else codes.copy()
        ordered.sort()
        places = _changes(ordered)
        return ordered[places[:-1]], np.diff(places)  # as `numpy.unique`, which has more overhead
    counts = np.bincount(codes, minlength=1)
    present = np.flatnonzero(counts)
    return present, counts[present]


def counts_in_order(codes: NDArray[Any], bound: int) -> Ints:
    """Counts of `counted` without the codes, in half of the memory; overwrites the codes."""
    if _is_sorted_faster(bound, len(codes)):
        codes.sort()
        return np.diff(_changes(codes))
    counts = np.bincount(codes, minlength=1)
    return counts[counts > 0]


def entropy_of_codes(codes: NDArray[Any], bound: int) -> float:
    """Plug-in entropy of codes, given as for `counted`."""
    if bound > _SMALL_TABLE and _is_sorted_faster(bound, len(codes)):
        counts = np.diff(_changes(np.sort(codes)))
    else:
        counts = np.bincount(codes)
        counts = counts[counts > 0]
    return _bits(counts / len(codes))


def entropies_of_codes(codes: NDArray[np.integer[Any]], bound: int) -> list[float]:
    """Compute `entropy_of_codes` for each row of codes, (num_rows, num_codes), in one table if they are few."""
    number, size = codes.shape
    if number * max(bound, size) > MOST_TOGETHER:
        return [entropy_of_codes(row, bound) for row in codes]
    counts = np.bincount((codes + np.arange(number)[:, None] * bound).ravel(), minlength=number * bound)
    present = np.flatnonzero(counts)
    share = counts[present] / size
    logarithms = np.log2(share)
    ends = np.searchsorted(present, np.arange(number + 1) * bound).tolist()
    return [max(0.0, -float(share[begin:end] @ logarithms[begin:end])) for begin, end in pairwise(ends)]


def _bits(share: Floats) -> float:
    """Entropy in bits of shares that are not 0."""
    return max(0.0, -float(share @ np.log2(share)))


def _is_sorted_faster(bound: int, num_codes: int) -> bool:
    """Whether codes below a bound are counted by sorting instead of by a table."""
    return bound > min(_TABLE, max(_SMALL_TABLE, _SPARSE_COUNTS * num_codes))


def _changes(ordered: NDArray[Any]) -> Ints:
    """Indices at which the value changes, and the end, shape (num_distinct + 1,)."""
    is_first = np.ones(len(ordered) + 1, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:-1])
    return np.flatnonzero(is_first)


class Counts:
    """Counts of codes that are added in blocks.

    Args:
        bound: Codes are from 0, below this.
    """

    def __init__(self, bound: int) -> None:
        self._table = np.zeros(bound if bound <= _TABLE else 0, np.int64)
        self._blocks: list[Ints] = []
        self._size = 0

    def add(self, codes: Ints) -> None:
        """Count a block of codes; blocks are buffered until they are as large as the table."""
        self._blocks.append(codes)
        self._size += len(codes)
        if self._size >= len(self._table) > 0:
            self._table += np.bincount(self._joined(), minlength=len(self._table))

    def of_codes(self) -> Ints:
        """Counts of the distinct codes, in ascending order of the codes."""
        codes = self._joined()
        if not len(self._table):
            codes.sort()
            return np.diff(_changes(codes))
        self._table += np.bincount(codes, minlength=len(self._table))
        return self._table[self._table > 0]

    def _joined(self) -> Ints:
        codes = np.concatenate([np.zeros(0, np.int64), *self._blocks])
        self._blocks, self._size = [], 0
        return codes


def tally(codes: NDArray[np.integer[Any]]) -> Ints:
    """Counts of the distinct codes (from 0), in ascending order of the codes."""
    return counted(codes, int(codes.max(initial=0)) + 1)[1]


def index_type(most: int) -> type[np.signedinteger[Any]]:
    """Integer type for numbers up to `most`: int32 if possible, in half of the memory of int64."""
    return np.int32 if most < 1 << 31 else np.int64


def is_sparse(bound: int, num_codes: int) -> bool:
    """Whether a table of all codes below a bound is too large, or too sparse, for renumbering codes."""
    return bound > min(_TABLE, _SPARSE * max(1024, num_codes))


def renumbered(codes: NDArray[Any], bound: int) -> tuple[Ints, Ints]:
    """Codes renumbered 0, 1, … in ascending order, and the original code of each; codes as for `counted`."""
    if is_sparse(bound, len(codes)):
        originals, dense = np.unique(codes, return_inverse=True)
        return dense, originals
    is_used = np.zeros(bound, bool)
    is_used[codes] = True
    originals = np.flatnonzero(is_used)
    place = np.empty(bound, np.int64)
    place[originals] = np.arange(len(originals))
    return place[codes], originals


def joint_codes(columns: Iterable[Ints], sizes: Iterable[int], num_rows: int) -> tuple[Ints, int]:
    """One code per row for the values of all columns, in lexicographic order, and the bound of the codes.

    Args:
        columns: Codes from 0, each (num_rows,).
        sizes: The number of values of each column, which bounds its codes.
        num_rows: Number of rows.
    """
    codes, bound = np.zeros(num_rows, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        codes, bound = joined(codes, bound, column, size)
    return codes, bound


def joined(codes: Ints, bound: int, column: Ints, size: int) -> tuple[Ints, int]:
    """Add a column to the codes of `joint_codes`, in place if possible; the codes and their bound."""
    if bound * size > MAX_CODES:
        codes, distinct = renumbered(codes, bound)
        bound = len(distinct)
    codes *= size
    codes += column
    return codes, bound * size


def conditional_entropies(
    weights: NDArray[Any], first: Ints, second: Ints, of: Callable[[NDArray[Any]], float] = entropy
) -> tuple[float, float, float, float]:
    """H(first | second), H(second | first), H(first) and H(second) in bits.

    Pairs of codes are distinct, from 0, with positive weights, each of shape (num_pairs,). Entropies are estimated by
    `entropy` or `chao_shen`; values below 1e-9 are rounded to 0.
    """
    each = (weights, np.bincount(first, weights), np.bincount(second, weights))
    both, one, other = (bits if bits > 1e-9 else 0.0 for bits in map(of, each))
    return max(0.0, both - other), max(0.0, both - one), one, other


_ROWS = 1 << 14
"""Rows in a block, so that intermediate results fit the cache."""
_BLOCK = 1 << 16
"""Codes in a block, so that intermediate results fit the cache."""
_MOST_SORTED = 1 << 20
"""Maximum number of codes that are sorted instead of hashed, which takes less memory for more codes."""
_FACTOR = 0x9E3779B97F4A7C15
"""Odd 64-bit number near 2^64 divided by the golden ratio: Knuth, The Art of Computer Programming, 6.4."""


def labels_of_codes(codes: Ints, bound: int) -> NDArray[np.integer[Any]]:
    """Number the distinct codes 0, 1, … in order of first occurrence, in int32 if row numbers fit.

    Args:
        codes: From 0, below `bound`, shape (num_rows,).
        bound: At most 2^63.

    Returns:
        The label of each row, shape (num_rows,).
    """
    labels = first_equal(codes, bound)
    number = 0
    for start in range(0, len(codes), _BLOCK):  # the first row of a code is labelled before the others
        own = labels[start : start + _BLOCK]
        first = own.copy()
        is_first = first == np.arange(start, start + len(own))
        np.cumsum(is_first, out=own)
        own += number - 1
        number = int(own[-1]) + 1
        np.copyto(own, labels[first], where=~is_first)
    return labels


def first_equal(codes: Ints, bound: int) -> NDArray[np.integer[Any]]:
    """First row with the same code as each row, shape (num_rows,); arguments as for `labels_of_codes`.

    If few codes are possible, a table has their first rows. Otherwise, if a code and a row number fit 63 bits, both are
    sorted together, so that the first row of a code comes first. Otherwise each row writes its number to a table entry
    that its code determines (a hash), the first row last. Each row then reads the first row of its code there, or a row
    of another code with the same hash. Rows that read another code try again with another hash.
    """
    narrow = index_type(len(codes))
    shift = max(1, len(codes) - 1).bit_length()
    if not is_sparse(bound, len(codes)):
        table = np.empty(bound, narrow)
        for start in reversed(range(0, len(codes), _BLOCK)):
            own = codes[start : start + _BLOCK]
            # The last assignment to equal indices stays.
            table[own[::-1]] = np.arange(start + len(own) - 1, start - 1, -1, dtype=narrow)
        return table[codes]
    first: NDArray[Any] = np.empty(len(codes), narrow)
    if len(codes) <= _MOST_SORTED and bound <= 1 << 63 - shift:
        keys = codes << shift
        keys |= np.arange(len(codes))
        keys.sort()
        rows = keys & (1 << shift) - 1
        keys >>= shift
        starts = _changes(keys)
        first[rows] = np.repeat(rows[starts[:-1]], np.diff(starts))
        return first
    ends = [*range(0, len(codes), _BLOCK), len(codes)]
    left = [np.arange(start, end, dtype=narrow) for start, end in pairwise(ends)]
    factor = 1
    while left:
        size, factor = 1 << max(1, sum(map(len, left)).bit_length() - 1), factor * _FACTOR % (1 << 64)
        table = np.empty(size, narrow)
        for rows in reversed(left):
            table[_places(codes[rows], factor, size)[::-1]] = rows[::-1]
        others = []
        for rows in left:
            first[rows] = found = table[_places(codes[rows], factor, size)]
            others.append(rows[codes[found] != codes[rows]])
        left = [rows for rows in others if len(rows)]
    return first


def _places(codes: Ints, factor: int, size: int) -> NDArray[np.uint64]:
    """Hashes below `size`, a power of two above 1: the highest bits of the products of codes and a factor."""
    places: NDArray[np.uint64] = codes.view(np.uint64) * np.uint64(factor)
    places >>= np.uint64(65 - size.bit_length())
    return places


def first_rows(labels: NDArray[np.integer[Any]], number: int) -> Ints:
    """First row of each label, shape (number,); labels are from 0 without gaps, shape (num_rows,)."""
    first = np.empty(number, np.int64)
    for start in reversed(range(0, len(labels), _ROWS)):  # limits memory
        own = labels[start : start + _ROWS]
        first[own[::-1]] = np.arange(start + len(own) - 1, start - 1, -1)  # the last of equal indices stays
    return first


def num_codes(codes: Ints, bound: int) -> int:
    """Number of distinct codes; codes are from 0, below `bound`, shape (num_rows,)."""
    if not is_sparse(bound, len(codes)):
        is_used = np.zeros(bound, bool)
        is_used[codes] = True
        return int(np.count_nonzero(is_used))
    return len(_changes(np.sort(codes))) - 1


def num_labels(labels: NDArray[np.integer[Any]]) -> int:
    """Number of distinct labels from `row_labels`."""
    return int(labels.max(initial=-1)) + 1
