"""Messages, meanings and concepts of a corpus as dense ids, labels of rows and codes.

All functions work on flat arrays, without a Python loop over rows or symbols.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.statistics.cache import cached_per_corpus
from ecsuite.eval.statistics.contingency import (
    MAX_CODES,
    Ints,
    counted,
    index_type,
    is_sparse,
    joined,
    labels_of_codes,
    num_codes,
    num_labels,
)
from ecsuite.runtime.ragged import Ragged

_BLOCK = 1 << 14
"""Rows in a block, so that intermediate results fit the cache."""
_FEW_ROWS = 1000
"""Rows up to which a dictionary of rows is faster than codes."""
_MAX_BITS = 160
"""Maximum bits of a row for numbering rows by codes: three joint codes of 63 bits, some of which counts take."""


def row_of(rows: Ragged) -> Ints:
    """The row of each value, shape (num_values,)."""
    return np.repeat(np.arange(len(rows)), rows.lengths)


@cached_per_corpus
def narrow_content(corpus: Corpus) -> Ragged:
    """Messages without EOS in the smallest integer type for their ids; read-only, and not for arithmetic."""
    messages = corpus.messages.narrowed()
    return messages if corpus.eos is None else messages.before(corpus.eos)


@cached_per_corpus
def dense_content(corpus: Corpus) -> tuple[Ragged, NDArray[np.int32]]:
    """Messages of `narrow_content` with dense ids, and the original id of each; see `Ragged.reindexed`."""
    return narrow_content(corpus).reindexed()


def row_labels(rows: Ragged) -> NDArray[np.integer[Any]]:
    """Number the distinct rows 0, 1, … in order of first occurrence, (num_rows,), in int32 where they fit."""
    found = None if len(rows) < _FEW_ROWS else _row_codes(rows)
    if found is None:
        return _row_labels_by_content(rows)
    del rows  # they take much memory for a large corpus
    return labels_of_codes(*found)


def distinct_vectors(codes: Ints) -> NDArray[np.integer[Any]]:
    """Number the distinct rows of an array, (num_rows, width), as `row_labels` does; values are from 0."""
    return row_labels(Ragged.from_table(codes))


def num_distinct_rows(rows: Ragged) -> int:
    """Number of distinct rows, in half of the time of `row_labels`."""
    found = None if len(rows) < _FEW_ROWS else _row_codes(rows)
    if found is None:
        return num_labels(_row_labels_by_content(rows))
    return num_codes(*found)


def _row_codes(rows: Ragged) -> tuple[Ints, int] | None:
    """Codes that are equal for equal rows, shape (num_rows,), and their bound; None if the rows are too long."""
    longest = int(rows.lengths.max(initial=0))
    # Values count from the minimum for rows of one length; otherwise from 1, as 0 marks the end.
    is_table = len(rows.values) == len(rows) * longest
    least = int(rows.values.min(initial=0)) if is_table and len(rows.values) else -1
    num_values = int(rows.values.max(initial=0)) + 1 - least
    if longest * math.log2(max(2, num_values)) > _MAX_BITS:
        return None
    codes, bound, position = np.zeros(len(rows), np.int64), 1, 0
    while position < longest:
        width = int(math.log2(MAX_CODES / bound) / math.log2(max(2, num_values)))  # positions that fit
        if not width:
            codes = labels_of_codes(codes, bound).astype(np.int64)
            bound = num_labels(codes)
            continue
        width = min(width, longest - position)
        for start in range(0, len(rows), _BLOCK):
            own, bounds = codes[start : start + _BLOCK], rows.offsets[start : start + _BLOCK + 1]
            if is_table:
                for column in rows.values[bounds[0] : bounds[-1]].reshape(-1, longest).T[position:][:width]:
                    own *= num_values
                    own += column
                    own -= least
                continue
            place, ends = bounds[:-1] + position, bounds[1:]
            for _ in range(width):
                own *= num_values
                column = rows.values.take(place, mode="clip").astype(np.int64)
                column += 1
                column *= place < ends
                own += column
                place += 1
        position, bound = position + width, bound * num_values**width
    return codes, bound


def _row_labels_by_content(rows: Ragged) -> NDArray[np.integer[Any]]:
    """Label long rows as `row_labels` does, by a dictionary."""
    data = rows.values.tobytes()
    ends = (rows.offsets * rows.values.itemsize).tolist()
    seen: dict[bytes, int] = {}
    return np.array(
        [seen.setdefault(data[begin:end], len(seen)) for begin, end in pairwise(ends)], index_type(len(rows))
    )


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
    columns = _columns(corpus)
    if columns is None:
        return None
    codes = np.zeros(columns.shape, np.int64)
    for attribute, column in enumerate(columns):
        codes[attribute] = _codes(column)
    return codes.T


@cached_per_corpus
def narrow_attributes(corpus: Corpus) -> NDArray[np.integer[Any]] | None:
    """The columns of `attribute_codes`, shape (num_attributes, num_messages), in the smallest type that holds them.

    They are read-only, and not for arithmetic.
    """
    columns = _columns(corpus)
    if columns is None:
        return None
    codes = (_codes(column) for column in columns)
    narrow = [own.astype(np.min_scalar_type(int(own.max(initial=0)))) for own in codes]
    return np.stack(narrow) if narrow else np.zeros(columns.shape, np.uint8)


def meaning_codes(corpus: Corpus) -> tuple[Ints, int] | None:
    """One code for the values of all attributes, shape (num_messages,), and a bound of the codes.

    Returns:
        None as for `attribute_codes`.
    """
    columns = _columns(corpus)
    if columns is None:
        return None
    codes, bound = np.zeros(columns.shape[1], np.int64), 1
    for column in columns:
        own = _codes(column)
        codes, bound = joined(codes, bound, own, int(own.max(initial=-1)) + 1)
    return codes, bound


def _columns(corpus: Corpus) -> NDArray[Any] | None:
    """Values of each attribute, shape (num_attributes, num_messages); None without discrete ones."""
    meanings = corpus.meanings
    return flat(meanings).T if meanings is not None and has_attributes(meanings) else None


def has_attributes(meanings: NDArray[Any]) -> bool:
    """Whether meanings are attribute values instead of features."""
    return meanings.dtype.kind in "biuUS"


def _codes(column: NDArray[Any]) -> NDArray[Any]:
    """Number the values of a column, (num_rows,), in ascending order."""
    if column.dtype.kind not in "iu" or not len(column):
        return np.unique(column, return_inverse=True)[1]
    least, most = int(column.min()), int(column.max())
    if is_sparse(most - least + 1, len(column)) or max(-least, most) >= MAX_CODES:
        return np.unique(column, return_inverse=True)[1]
    is_used = np.zeros(most - least + 1, bool)
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(column), _BLOCK)]
    for block in blocks:
        is_used[column[block].astype(np.int64) - least] = True
    number = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    codes = np.empty(len(column), np.int32)
    for block in blocks:
        codes[block] = number[column[block].astype(np.int64) - least]
    return codes


def numbered_by_use(rows: Ragged, meaning: Ints) -> Ints:
    """Number the values of all rows from 0 by the meanings and positions in which they occur, (num_values,).

    So the result depends neither on the names of values nor on the order of rows.

    Args:
        rows: Rows such as messages.
        meaning: The id of each row's meaning, (num_rows,).
    """
    positions = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], rows.lengths)
    cells = meaning[row_of(rows)] * (int(rows.lengths.max(initial=0)) + 1) + positions
    names, places = np.unique(rows.values, return_inverse=True)
    by_value = np.split(cells[np.lexsort([cells, places])], np.cumsum(np.bincount(places))[:-1])
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=lambda value: by_value[value].tolist())] = np.arange(len(names))
    numbers: Ints = rank[places]
    return numbers


def concept_sets(corpus: Corpus) -> Ragged | None:
    """Concepts of each message as ascending ids without repetition; None if the corpus has no concepts."""
    if corpus.concepts is None or not corpus.concepts.values.size:
        return None
    width = len(corpus.concepts.values) // len(corpus.concepts)
    if (corpus.concepts.lengths == width).all():  # a table, sorted row by row
        table = corpus.concepts.values.reshape(-1, width)
        if (table[:, 1:] > table[:, :-1]).all():
            return corpus.concepts
        table = np.sort(table, axis=1)
        if (table[:, 1:] != table[:, :-1]).all():
            return Ragged(table.ravel(), corpus.concepts.offsets)
        del table
    num_concepts = int(corpus.concepts.values.max()) + 1
    values, offsets = np.empty_like(corpus.concepts.values), np.zeros_like(corpus.concepts.offsets)
    filled, number = 0, 1
    for block in corpus.concepts.blocks():  # limits memory
        members, _ = counted(row_of(block) * num_concepts + block.values, len(block) * num_concepts)
        row = members // num_concepts
        values[filled : filled + len(members)] = members - row * num_concepts
        offsets[number : number + len(block)] = np.bincount(row, minlength=len(block))
        filled, number = filled + len(members), number + len(block)
    return Ragged(values[:filled], np.cumsum(offsets, out=offsets))


@cached_per_corpus
def message_labels(corpus: Corpus) -> NDArray[np.integer[Any]]:
    """Label of each message without EOS, from 0, in order of first occurrence, shape (num_messages,).

    In int32 if they fit; read-only, as the cache shares them.
    """
    return row_labels(narrow_content(corpus))


@cached_per_corpus
def meaning_labels(corpus: Corpus) -> NDArray[np.integer[Any]] | None:
    """Label of each whole meaning, from 0 in order of first occurrence, (num_messages,); None without meanings.

    Read-only, as the cache shares them.
    """
    if corpus.meanings is None:
        return concept_labels(corpus)
    if (codes := meaning_codes(corpus)) is not None:
        return labels_of_codes(*codes)
    return row_labels(Ragged.from_table(feature_bits(flat(corpus.meanings))))


@cached_per_corpus
def concept_labels(corpus: Corpus) -> NDArray[np.integer[Any]] | None:
    """Label of each set of concepts, as `meaning_labels`; None if the corpus has no concepts."""
    sets = concept_sets(corpus)
    return None if sets is None else row_labels(sets)


def feature_bits(features: NDArray[Any]) -> NDArray[np.int16]:
    """Bits of features as integers, with a single 0, (num_messages, several times num_features)."""
    return np.ascontiguousarray(features + 0).view(np.int16)
