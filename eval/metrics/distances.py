"""Distances between the rows of a corpus, for given pairs of rows.

Each function takes all rows and returns a `Distance`. Rank correlation depends on ties, so equal distances must be
equal numbers: all distances here are free of rounding errors.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein
from scipy.sparse import csr_array

from ecsuite.corpus import Ragged
from ecsuite.eval.statistics.contingency import renumbered
from ecsuite.eval.statistics.counting import Floats, Ints

Distance = Callable[[Ints, Ints], Floats]
"""Maps left rows and right rows, each (num_pairs,), to the distances of the pairs, (num_pairs,)."""

_BLOCK = 4_096
"""Pairs of feature vectors compared at a time, to limit memory."""


def edit_distance(messages: Ragged) -> Distance:
    """Levenshtein distance divided by the mean of the two lengths; 0 for two empty messages."""

    def distance(left: Ints, right: Ints) -> Floats:
        place, used = renumbered(np.concatenate([left, right]), len(messages))
        some, _ = messages.take(used).reindexed()
        # As strings: rapidfuzz compares items of other types by hashes, which can collide.
        text = some.values.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
        rows = [text[begin:end] for begin, end in pairwise(some.offsets.tolist())]
        lengths = some.lengths
        queries, choices = ([rows[row] for row in side.tolist()] for side in np.split(place, 2))
        edits = process.cpdist(queries, choices, scorer=Levenshtein.distance, dtype=np.int32)
        return np.asarray(
            2.0 * edits / np.maximum(1, lengths[place[: len(left)]] + lengths[place[len(left) :]])
        )

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


def jaccard_distance(sets: Ragged) -> Distance:
    """One minus the size of the intersection divided by the size of the union; 0 for two empty sets.

    Args:
        sets: Rows of ids without repetition.
    """
    sizes = sets.lengths
    members = csr_array((np.ones(len(sets.values), np.int64), sets.values, sets.offsets))

    def distance(left: Ints, right: Ints) -> Floats:
        common = members[left].multiply(members[right]).sum(axis=1)
        together = sizes[left] + sizes[right] - common
        return np.asarray((together - common) / np.maximum(1, together))

    return distance
