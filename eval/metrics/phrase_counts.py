"""Co-occurrences of words with the concepts of phrases, for many pairings of messages and phrases.

Words are counted with groups of concepts first, which are fewer passes over all words than with each concept of the
phrases; a product of matrices then gives the counts with each concept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import renumbered
from ecsuite.eval.statistics.cooccurrence import Occurrences
from ecsuite.eval.statistics.counting import Floats, Ints

_MAX_TABLE = 1 << 20
"""Entries of the table of words and groups; larger ones do not fit the CPU cache."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Some of the concepts of each phrase, as one label."""

    label: Ints
    """The label of each phrase, from 0, shape (num_phrases,)."""
    counts: Floats
    """How often each concept is in the group of a label, whole numbers, shape (num_labels, num_concepts)."""

    @classmethod
    def of_column(cls, column: Ints, num_concepts: int) -> Self:
        """One concept of each phrase; `num_concepts` where there is none."""
        return cls(label=column, counts=np.eye(num_concepts + 1)[:, :-1])

    def joined(self, other: "Group") -> "Group":
        """Both as one label."""
        size = len(other.counts)
        label, codes = renumbered(self.label * size + other.label, len(self.counts) * size)
        return Group(label=label, counts=self.counts[codes // size] + other.counts[codes % size])

    def cooccurrences(
        self, words: NDArray[np.integer[Any]], phrases: NDArray[np.integer[Any]], num_words: int
    ) -> Ints:
        """Counts of words with the concepts of this group, shape (num_words, num_concepts).

        Args:
            words: Each word, from 0, shape (num_tokens,); faster if ascending.
            phrases: The phrase that the message of each is paired with, shape (num_tokens,).
            num_words: Number of different words.
        """
        num_labels = len(self.counts)
        codes = words * np.int64(num_labels)
        codes += self.label[phrases]
        table = np.bincount(codes, minlength=num_words * num_labels).reshape(num_words, num_labels)
        return (table.astype(np.float64) @ self.counts).astype(np.int64)  # whole numbers below 2^53 are exact


def groups_of(concepts: Occurrences, num_words: int, num_tokens: int) -> list[Group]:
    """The concepts of phrases in as few groups as have tables of words and labels that are worth it."""
    columns = _columns(concepts)
    groups = [Group.of_column(next(columns), len(concepts.ids))]
    for column in columns:
        single = Group.of_column(column, len(concepts.ids))
        joined = groups[-1].joined(single)
        if len(joined.counts) * num_words <= min(_MAX_TABLE, num_tokens):
            groups[-1] = joined
        else:
            groups.append(single)
    return groups


def _columns(concepts: Occurrences) -> Iterator[Ints]:
    """The first, second, … concept of every phrase, each (num_phrases,), padded with the number of concepts."""
    kind, row = np.repeat(concepts.kind, concepts.count), np.repeat(concepts.row, concepts.count)
    place = np.arange(len(kind)) - (np.cumsum(concepts.per_row) - concepts.per_row)[row]
    for position in range(int(concepts.per_row.max())):
        column = np.full(len(concepts.per_row), len(concepts.ids))
        is_here = place == position
        column[row[is_here]] = kind[is_here]
        yield column
