"""Distances between the rows of a corpus, for given pairs of rows.

Each function takes all rows and returns a `Distance`. Rank correlation depends on ties, so equal distances must be
equal numbers: all distances here are free of rounding errors.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from scipy.sparse import csr_array

from ecsuite.eval.counts.counting import row_of
from ecsuite.eval.statistics.contingency import Floats, Ints, renumbered
from ecsuite.runtime.ragged import Ragged

Distance = Callable[[Ints, Ints], Floats]
"""Maps left rows and right rows, each (num_pairs,), to the distances of the pairs, (num_pairs,)."""

Divisor = Literal["mean", "larger", "none"]
"""What numbers of edits are divided by."""

_BLOCK = 4_096
"""Pairs of feature vectors compared at a time, to limit memory."""
_MOST_MEMBERS = 1 << 18
"""Members of sets compared at a time."""


def edit_distance(rows: Ragged, divisor: Divisor = "mean") -> Distance:
    """Levenshtein distance, divided by the mean or the larger one of the two lengths or not; 0 for two empty rows.

    Args:
        rows: Symbols, or whatever is in order, of each row.
        divisor: Of the number of edits.
    """

    def distance(left: Ints, right: Ints) -> Floats:
        place, used = renumbered(np.concatenate([left, right]), len(rows))
        some, _ = rows.take(used).reindexed()
        # As strings: rapidfuzz compares items of other types by hashes, which can collide.
        text = some.values.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        texts = [text[begin:end] for begin, end in pairwise(some.offsets.tolist())]
        queries, choices = ([texts[row] for row in side.tolist()] for side in np.split(place, 2))
        edits = process.cpdist(queries, choices, scorer=Levenshtein.distance, dtype=np.int32)
        first, second = some.lengths[place[: len(left)]], some.lengths[place[len(left) :]]
        if divisor == "none":
            return np.asarray(edits, float)
        if divisor == "larger":
            return np.asarray(edits / np.maximum(1, np.maximum(first, second)))
        return np.asarray(2.0 * edits / np.maximum(1, first + second))

    return distance


def hamming_distance(attributes: NDArray[Any]) -> Distance:
    """Number of attributes that differ.

    Args:
        attributes: Values or their codes, shape (num_rows, num_attributes).
    """

    def distance(left: Ints, right: Ints) -> Floats:
        differing = np.zeros(len(left))
        for column in attributes.T:
            differing += column[left] != column[right]
        return differing

    return distance


def cosine_distance(features: NDArray[Any]) -> Distance:
    """One minus the cosine, to nine decimals; a zero vector has distance 1 to every other vector.

    Args:
        features: Finite numbers, shape (num_rows, num_features).
    """
    largest = np.abs(features).max(axis=1, initial=0, keepdims=True).astype(float)
    bounded = features / np.where(largest > 0, largest, 1)  # avoids overflow of squares
    norms = np.linalg.norm(bounded, axis=1, keepdims=True)
    unit = bounded / np.where(norms > 0, norms, 1)

    def distance(left: Ints, right: Ints) -> Floats:
        blocks = [slice(begin, begin + _BLOCK) for begin in range(0, len(left), _BLOCK)]
        cosines = [np.einsum("pf,pf->p", unit[left[block]], unit[right[block]]) for block in blocks]
        return np.round(1.0 - np.concatenate(cosines), 9)

    return distance


def euclidean_distance(features: NDArray[Any]) -> Distance:
    """Length of the difference of two vectors, to nine decimals of the largest number in any of them.

    Args:
        features: Finite numbers, shape (num_rows, num_features).
    """
    scale = float(np.abs(features).max(initial=0)) or 1.0

    def distance(left: Ints, right: Ints) -> Floats:
        blocks = [slice(begin, begin + _BLOCK) for begin in range(0, len(left), _BLOCK)]
        between = [(features[left[block]].astype(float) - features[right[block]]) / scale for block in blocks]
        lengths = np.concatenate([np.sqrt(np.einsum("pf,pf->p", each, each)) for each in between])
        return np.round(lengths, 9) * scale

    return distance


def length_distance(rows: Ragged) -> Distance:
    """Difference of the two lengths."""
    lengths = rows.lengths
    return lambda left, right: np.abs(lengths[left] - lengths[right]).astype(float)


def position_distance(rows: Ragged) -> Distance:
    """Number of positions at which two rows differ; beyond the end of one they do."""
    width = int(rows.lengths.max(initial=0))
    table = np.full((len(rows), width), -1, np.int64)
    table[np.arange(width) < rows.lengths[:, None]] = rows.values
    return hamming_distance(table)


def distinct_sets(rows: Ragged) -> Ragged:
    """What occurs in each row, as ascending ids from 0 without repetition."""
    dense, ids = rows.reindexed()
    keys = np.unique(row_of(dense) * max(1, len(ids)) + dense.values)
    lengths = np.bincount(keys // max(1, len(ids)), minlength=len(rows))
    return Ragged.from_lengths((keys % max(1, len(ids))).astype(np.int32), lengths)


def set_distance(sets: Ragged, of_counts: Callable[[Ints, Ints, Ints], Floats]) -> Distance:
    """A distance of two sets from the numbers of their members.

    Args:
        sets: Rows of ids without repetition.
        of_counts: Makes distances of the sizes of both, and of what they have in common, each (num_pairs,).
    """
    sizes = sets.lengths
    members = csr_array((np.ones(len(sets.values), np.int64), sets.values, sets.offsets))
    step = max(1, _MOST_MEMBERS // int(sizes.max(initial=1)))

    def in_common(left: Ints, right: Ints) -> Ints:
        place, used = renumbered(np.concatenate([left, right]), len(sizes))
        if len(used) ** 2 <= 4 * len(left):  # most pairs of these rows are asked for
            some = members[used]
            table: Ints = (some @ some.T).toarray()
            return table[place[: len(left)], place[len(left) :]]
        common = np.empty(len(left), np.int64)
        for block in (slice(begin, begin + step) for begin in range(0, len(left), step)):
            common[block] = members[left[block]].multiply(members[right[block]]).sum(axis=1)
        return common

    def distance(left: Ints, right: Ints) -> Floats:
        return np.asarray(of_counts(sizes[left], sizes[right], in_common(left, right)), float)

    return distance


def set_difference(first: Ints, second: Ints, common: Ints) -> Floats:
    """Number of members that only one has: the Hamming distance of vectors of zeros and ones."""
    return np.asarray(first + second - 2 * common, float)


def set_euclidean(first: Ints, second: Ints, common: Ints) -> Floats:
    """The Euclidean distance of vectors of zeros and ones."""
    return np.asarray(np.sqrt(set_difference(first, second, common)))


def set_cosine(first: Ints, second: Ints, common: Ints) -> Floats:
    """One minus the cosine of vectors of zeros and ones, to nine decimals; 1 where one is empty."""
    return np.asarray(np.round(1.0 - common / np.sqrt(np.maximum(1, first * second)), 9))


def jaccard_distance(sets: Ragged) -> Distance:
    """One minus the size of the intersection divided by the size of the union; 0 for two empty sets.

    Args:
        sets: Rows of ids without repetition.
    """
    return set_distance(sets, set_jaccard)


def set_jaccard(first: Ints, second: Ints, common: Ints) -> Floats:
    """One minus the size of the intersection divided by that of the union; 0 for two empty sets."""
    together = first + second - common
    return np.asarray((together - common) / np.maximum(1, together))
