"""Incidence tables of words and concepts, used by context independence and synonymy."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from ecsuite.corpus import Corpus, Ragged
from ecsuite.eval.statistics.counting import Ints, attribute_codes, concept_sets, row_of

NO_CONCEPTS = "the corpus has neither attribute values nor concepts"


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
        content, symbols = corpus.reindexed()
        if not len(symbols):
            return "every message is empty"
        num_rows = len(content)
        key, count = np.unique(row_of(content) * len(symbols) + content.values, return_counts=True)
        words = csr_array((count, (key // len(symbols), key % len(symbols))), shape=(num_rows, len(symbols)))
        dense, ids = rows_of_concepts.reindexed()
        ones = np.ones(len(dense.values), np.int64)
        return cls(
            words=words,
            concepts=csr_array((ones, dense.values, dense.offsets), shape=(num_rows, len(ids))),
        )

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
