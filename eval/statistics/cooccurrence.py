"""Words and concepts: how often each occurs in each sample, and with which others."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.statistics.contingency import counted
from ecsuite.eval.statistics.counting import Ints, attribute_codes, concept_sets, row_of

NO_CONCEPTS = "the corpus has neither attribute values nor concepts"


_BLOCK = 1 << 16
"""Rows taken at once."""
Count = Literal["tokens", "types"]
"""Whether a word or concept counts each time that it occurs in a sample, or once per sample."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrences:
    """Counts of each type (word or concept) in each sample in which it occurs."""

    row: Ints
    """Sample of each count, ascending, shape (num_occurrences,)."""
    kind: Ints
    """Type of each count, from 0."""
    count: Ints
    """The counts; all 1 if types are counted."""
    ids: NDArray[np.int32]
    """The id of each type in the corpus, shape (num_kinds,)."""
    per_row: Ints
    """Number of tokens (or types) in each sample, shape (num_rows,)."""
    names: tuple[str, ...] | None
    """Name of each id; None if ids have no names."""

    @classmethod
    def of(cls, rows: Ragged, count: Count, names: tuple[str, ...] | None = None) -> Self:
        """Count the tokens or the types of each row."""
        kinds, ids = rows.reindexed()
        num_kinds, begin, filled = max(1, len(ids)), 0, 0
        row, kind, times = (np.empty(len(rows.values), np.int64) for _ in range(3))
        for block in kinds.blocks(_BLOCK):  # limits memory
            cell, own_times = counted(row_of(block) * num_kinds + block.values, len(block) * num_kinds)
            place = slice(filled, filled + len(cell))
            row[place], kind[place], times[place] = cell // num_kinds + begin, cell % num_kinds, own_times
            begin, filled = begin + len(block), filled + len(cell)
        row, kind, times = row[:filled], kind[:filled], times[:filled]
        tokens = cls(row=row, kind=kind, count=times, ids=ids, per_row=rows.lengths, names=names)
        return tokens if count == "tokens" else tokens.once()

    def matrix(self) -> Any:
        """The counts as a sparse array, shape (num_rows, num_kinds)."""
        starts = np.searchsorted(self.row, np.arange(len(self.per_row) + 1))
        return csr_array((self.count, self.kind, starts), shape=(len(self.per_row), len(self.ids)))

    def once(self) -> Self:
        """The same with each type counted once per sample."""
        return replace(
            self, count=np.ones_like(self.count), per_row=np.bincount(self.row, minlength=len(self.per_row))
        )

    def totals(self) -> Ints:
        """Total count of each type, shape (num_kinds,)."""
        return np.bincount(self.kind, self.count, len(self.ids)).astype(np.int64)

    def name(self, kind: int) -> str | int:
        """The name of a type, or its id if it has no name."""
        return self.names[self.ids[kind]] if self.names else int(self.ids[kind])


@dataclass(frozen=True, kw_only=True, slots=True)
class Incidence:
    """Words of messages and concepts of meanings by row, both as dense ids."""

    words: Any
    """Count of each word in each message, sparse, shape (num_rows, num_words)."""
    concepts: Any
    """1 for each concept of each meaning, sparse, shape (num_rows, num_concepts)."""

    @classmethod
    def of(cls, corpus: Corpus) -> Self | str:
        """The tables of a corpus, or the reason for having none. Words are the symbols without EOS."""
        _, rows_of_concepts = concept_rows(corpus)
        if rows_of_concepts is None:
            return NO_CONCEPTS
        words = Occurrences.of(corpus.content(), "tokens")
        if not len(words.ids):
            return "every message is empty"
        return cls(words=words.matrix(), concepts=Occurrences.of(rows_of_concepts, "types").matrix())

    def paired(self, rows: Ints, partners: Ints) -> "Incidence":
        """The messages of `rows` with the concepts of `partners`."""
        return Incidence(words=self.words[rows], concepts=self.concepts[partners])

    def work(self) -> int:
        """Number of co-occurrences to count."""
        return int((self.words.astype(bool).T.astype(np.int64) @ self.concepts).sum())


def concept_rows(corpus: Corpus) -> tuple[str, Ragged | None]:
    """The type and the concepts of each message: the `concepts` of the corpus, otherwise its `attributes`.

    Each pair of an attribute and a value is then a concept: the meaning (2, 0) has the concepts 0=2 and 1=0.
    """
    named = concept_sets(corpus)
    if named is not None:
        return "concepts", named
    attributes = attribute_codes(corpus)
    if attributes is None or not attributes.size:
        return "none", None
    num_rows, width = attributes.shape
    first = np.cumsum([0, *(attributes.max(axis=0)[:-1] + 1)])
    values = (attributes + first).astype(np.int32).ravel()
    return "attributes", Ragged.from_lengths(values, np.full(num_rows, width))
