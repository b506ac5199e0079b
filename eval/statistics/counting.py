"""Counting for the corpus metrics: dense ids, labels of rows, entropies.

All functions work on flat arrays; the only Python loop is over rows, not over symbols.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus, Ragged

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def entropy(counts: NDArray[Any]) -> float:
    """Plug-in entropy in bits of the distribution given by counts: -sum p log2 p."""
    counts = counts[counts > 0]
    share = counts / counts.sum()
    return max(0.0, -float(share @ np.log2(share)))


def row_of(rows: Ragged) -> Ints:
    """The row of each value, shape (num_values,)."""
    return np.repeat(np.arange(len(rows)), rows.lengths)


def row_labels(rows: Ragged) -> Ints:
    """Number the distinct rows 0, 1, … in order of first occurrence, shape (num_rows,)."""
    data = rows.values.tobytes()
    ends = (rows.offsets * rows.values.itemsize).tolist()
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(data[begin:end], len(seen)) for begin, end in pairwise(ends)], np.int64)


def flat(meanings: NDArray[Any]) -> NDArray[Any]:
    """Meanings of any shape as vectors, shape (num_messages, num_attributes)."""
    return meanings.reshape(len(meanings), int(np.prod(meanings.shape[1:])))


def attribute_codes(corpus: Corpus) -> Ints | None:
    """Number the values of each attribute 0, 1, …, shape (num_messages, num_attributes).

    Integers, booleans and strings are attribute values; floating-point meanings are features, which have no discrete
    values.

    Returns:
        None if the corpus has no meanings, or has features.
    """
    meanings = corpus.meanings
    if meanings is None or meanings.dtype.kind not in "biuUS":
        return None
    columns = flat(meanings).T
    codes = np.zeros(columns.shape, np.int64)
    for attribute, column in enumerate(columns):
        codes[attribute] = np.unique(column, return_inverse=True)[1]
    return codes.T


def concept_sets(corpus: Corpus) -> Ragged | None:
    """The concepts of each message as ascending ids without repetition; None if the corpus has no concepts."""
    if corpus.concepts is None or not corpus.concepts.values.size:
        return None
    num_concepts = int(corpus.concepts.values.max()) + 1
    members = np.unique(row_of(corpus.concepts) * num_concepts + corpus.concepts.values)
    lengths = np.bincount(members // num_concepts, minlength=len(corpus.concepts))
    return Ragged.from_lengths((members % num_concepts).astype(np.int32), lengths)
