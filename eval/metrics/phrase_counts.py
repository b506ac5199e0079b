"""Co-occurrences of words with the concepts of phrases, for many pairings of messages and phrases.

Words are counted with groups of concepts first, which are fewer passes over all words than with each concept of the
phrases; a sparse product of matrices then gives the counts with each concept.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from ecsuite.eval.metrics.matching import MAX_TABLE
from ecsuite.eval.statistics.contingency import renumbered
from ecsuite.eval.statistics.cooccurrence import Occurrences
from ecsuite.eval.statistics.counting import Ints

Labels = NDArray[np.integer[Any]]
Counter = Callable[[Labels, Labels], Any]
"""Counts words with the concepts of the phrases that they are paired with."""
_MAX_TABLE = 1 << 20
"""Entries of the table of words and groups; larger ones do not fit the CPU cache."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Some of the concepts of each phrase, as one label."""

    label: Ints
    """The label of each phrase, from 0, shape (num_phrases,)."""
    counts: csr_array
    """How often each concept is in the group of a label, shape (num_labels, num_concepts); most are not in it."""

    @classmethod
    def of_column(cls, column: Ints, num_concepts: int) -> Self:
        """One concept of each phrase; `num_concepts` where there is none."""
        return cls(
            label=column, counts=eye_array(num_concepts + 1, num_concepts, dtype=np.int64, format="csr")
        )

    @property
    def num_labels(self) -> int:
        """Number of labels."""
        return int(self.counts.shape[0])

    def joined(self, other: "Group") -> "Group":
        """Both as one label."""
        size = other.num_labels
        label, codes = renumbered(self.label * size + other.label, self.num_labels * size)
        return Group(label=label, counts=self.counts[codes // size] + other.counts[codes % size])

    def cooccurrences(self, words: Labels, phrases: Labels, num_words: int) -> Ints:
        """Counts of words with the concepts of this group, shape (num_words, num_concepts).

        Args:
            words: Each word, from 0, shape (num_tokens,); faster if ascending.
            phrases: The phrase that the message of each is paired with, shape (num_tokens,).
            num_words: Number of different words.
        """
        codes = words * np.int64(self.num_labels)
        codes += self.label[phrases]
        table = np.bincount(codes, minlength=num_words * self.num_labels).reshape(num_words, self.num_labels)
        return np.asarray((self.counts.T @ table.T).T)


def cooccurrence_counter(concepts: Occurrences, num_words: int, num_tokens: int) -> Counter:
    """A function that counts words with concepts, for many pairings of messages and phrases.

    Args:
        concepts: Of each phrase.
        num_words: Number of different words.
        num_tokens: Number of words in all messages.

    Returns:
        A function of words and of the phrase of each, as of `Group.cooccurrences`, whose table has shape (num_words,
        num_concepts); a table of more than `MAX_TABLE` entries is sparse.
    """
    if num_words * len(concepts.ids) > MAX_TABLE:
        of_phrases = concepts.matrix()

        def product(words: Labels, phrases: Labels) -> csr_array:
            with_phrase = csr_array(
                (np.ones(len(words), np.int64), (words, phrases)), shape=(num_words, of_phrases.shape[0])
            )
            return csr_array(with_phrase @ of_phrases)

        return product
    groups = groups_of(concepts, num_words, num_tokens)

    def total(words: Labels, phrases: Labels) -> Ints:
        return functools.reduce(np.add, (group.cooccurrences(words, phrases, num_words) for group in groups))

    return total


def groups_of(concepts: Occurrences, num_words: int, num_tokens: int) -> list[Group]:
    """The concepts of phrases in as few groups as have tables of words and labels that are worth it."""
    columns = _columns(concepts)
    groups = [Group.of_column(next(columns), len(concepts.ids))]
    for column in columns:
        single = Group.of_column(column, len(concepts.ids))
        joined = groups[-1].joined(single)
        if joined.num_labels * num_words <= min(_MAX_TABLE, num_tokens):
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
