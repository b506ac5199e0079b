"""Words and phrases of the samples of a corpus, counted part by part, so that large corpora take little memory.

Corpora have few different phrases beside their samples, so what concerns phrases is counted once for each of them.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.cooccurrence import Count, Occurrences, are_first
from ecsuite.eval.counts.counting import narrow_content, row_labels, row_of
from ecsuite.eval.statistics.contingency import Ints, counted, first_rows, num_labels, renumbered
from ecsuite.eval.statistics.matching import MAX_TABLE
from ecsuite.runtime.ragged import Ragged

ROWS = 1 << 18
"""Samples of a part."""
FEW_ROWS = 1 << 14
"""Samples of a part without a table of its own: they fit the cache."""
_MAX_TABLE = 1 << 22
"""Entries of a table of words and phrases; with more, each sample's phrase is counted for itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Some consecutive samples."""

    rows: slice
    """Which."""
    row: Ints
    """Sample of each word, from 0 in the part, ascending, shape (num_words_in_part,)."""
    kind: Ints
    """Each word, from 0."""
    phrase: NDArray[np.integer[Any]]
    """The phrase of each sample of the part."""

    def matrix(self, num_words: int) -> Any:
        """The words as a sparse array, shape (num_samples_in_part, num_words); repetitions are added."""
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.row, np.arange(len(self.phrase) + 1))
        ones = np.ones(len(self.kind), np.int64)
        return csr_array((ones, self.kind, starts), shape=(len(self.phrase), num_words))


class Samples:
    """The words of each sample and its phrase.

    Args:
        corpus: Messages with concepts.
        count: Whether words and concepts count each time that they occur in a sample, or once.
    """

    def __init__(self, corpus: Corpus, count: Count) -> None:
        assert corpus.concepts is not None
        self.count = count
        self.messages, self.word_ids = narrow_content(corpus).reindexed()
        """The messages without EOS, with dense ids of words, in the smallest type."""
        self.concepts = corpus.concepts
        """The concepts of each message."""
        self._names = corpus.symbol_names
        self.phrase: NDArray[np.integer[Any]] = row_labels(self.concepts).astype(_narrow(len(self.concepts)))
        """The phrase of each sample, from 0, in order of first occurrence, shape (num_samples,)."""
        first = first_rows(self.phrase, num_labels(self.phrase))
        self.phrases = Occurrences.of(self.concepts.take(first), count, corpus.concept_names or None)
        """The concepts of each different phrase."""

    def word_name(self, kind: int) -> str | int:
        """The name of a word, or its id if it has no name."""
        return self._names[self.word_ids[kind]] if self._names else int(self.word_ids[kind])

    def parts(self, num_rows: int = ROWS) -> Iterator[Part]:
        """All samples, in their order."""
        offsets = self.messages.offsets
        for start in range(0, len(self.messages), num_rows):
            rows = slice(start, min(start + num_rows, len(self.messages)))
            bounds = offsets[rows.start : rows.stop + 1]
            words = Ragged(self.messages.values[bounds[0] : bounds[-1]], bounds - bounds[0])
            row, kind = row_of(words), words.values.astype(np.int64)
            if self.count == "types":
                is_first = are_first(words, row)
                row, kind = row[is_first], kind[is_first]
            yield Part(rows=rows, row=row, kind=kind, phrase=self.phrase[rows])

    def by_word(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """The sample of each word, from 0, and the words, both in the order of words and then of samples.

        Consecutive words are then counted in places that are close in memory, which is faster.
        """
        size = int(self.words_per_row().sum())
        row, kind = np.empty(size, _narrow(len(self.messages))), np.empty(size, self.messages.values.dtype)
        filled = 0
        for part in self.parts(FEW_ROWS):
            place = slice(filled, filled + len(part.row))
            row[place], kind[place] = part.row + part.rows.start, part.kind
            filled = place.stop
        order = np.argsort(kind, kind="stable")
        return row[order], kind[order]

    def words_per_row(self) -> NDArray[np.integer[Any]]:
        """Number of words of each sample, shape (num_samples,)."""
        narrow = _narrow(len(self.messages.values))
        if self.count == "tokens":
            lengths: NDArray[np.integer[Any]] = self.messages.lengths.astype(narrow)
            return lengths
        counts = [np.bincount(part.row, minlength=len(part.phrase)).astype(narrow) for part in self.parts()]
        all_counts: NDArray[np.integer[Any]] = np.concatenate(counts)
        return all_counts

    def concepts_per_row(self) -> NDArray[np.integer[Any]]:
        """Number of concepts of each sample, shape (num_samples,)."""
        per_row: NDArray[np.integer[Any]] = self.phrases.per_row.astype(_narrow(len(self.concepts.values)))
        of_samples: NDArray[np.integer[Any]] = per_row[self.phrase]
        return of_samples

    @cached_property
    def word_totals(self) -> Ints:
        """Number of occurrences of each word, shape (num_words,)."""
        totals = np.zeros(len(self.word_ids), np.int64)
        for part in self.parts(FEW_ROWS):
            totals += np.bincount(part.kind, minlength=len(totals))
        return totals

    @cached_property
    def concept_totals(self) -> Ints:
        """Number of occurrences of each concept, shape (num_concepts,)."""
        samples = np.bincount(self.phrase)[self.phrases.row]
        return np.bincount(self.phrases.kind, self.phrases.count * samples, len(self.phrases.ids)).astype(
            np.int64
        )

    def cooccurrences(self) -> tuple[Ints, Ints]:
        """Words with concepts, each shape (num_words, num_concepts).

        Returns:
            Their co-occurrences, summed over samples, repetitions of both counted; and the occurrences of the word in
            samples whose phrase has the concept, which are the same where no phrase repeats a concept.
        """
        num_words, num_phrases = len(self.word_ids), len(self.phrases.per_row)
        repeats = bool((self.phrases.count > 1).any())
        tables = [self.phrases.matrix(), *([self.phrases.once().matrix()] if repeats else [])]
        if num_words * num_phrases <= _MAX_TABLE:
            with_phrase = np.zeros(num_words * num_phrases, np.int64)
            for part in self.parts(max(FEW_ROWS, len(with_phrase) // 8)):
                codes = part.kind * num_phrases
                codes += part.phrase[part.row]
                with_phrase += np.bincount(codes, minlength=len(with_phrase))
            by_word = with_phrase.reshape(num_words, num_phrases)
            found = [np.asarray((table.T @ by_word.T).T) for table in tables]
        else:
            found = [np.zeros((num_words, table.shape[1]), np.int64) for table in tables]
            for part in self.parts():
                words = part.matrix(num_words).T
                for total, table in zip(found, tables, strict=True):
                    total += (words @ table[part.phrase]).toarray()
        return found[0], found[-1]

    def understood(self, word: Ints, concept: Ints) -> tuple[NDArray[np.integer[Any]], Ints]:
        """Occurrences of matched words in samples with their concepts.

        Args:
            word: Words, each once, shape (num_pairs,).
            concept: The concept of each.

        Returns:
            The number of different words of each sample whose concept is in its phrase, shape (num_samples,); and for
            each pair the number of occurrences of the concept in samples with the word, shape (num_pairs,).
        """
        num_concepts = len(self.phrases.ids)
        concept_of = np.full(len(self.word_ids), num_concepts)
        concept_of[word] = concept
        named_by = np.zeros(num_concepts, np.int64)
        different = np.zeros(len(self.phrase), np.min_scalar_type(num_concepts))
        width = num_concepts + 1  # the last is in no phrase
        counts = self.phrases.matrix().astype(np.int64)
        counts.resize(len(self.phrases.per_row), width)
        known = None
        if counts.shape[0] * width <= _MAX_TABLE:
            known = counts.toarray().ravel()
            known = known.astype(np.min_scalar_type(known.max(initial=0)))  # so that it fits the cache

        def times_of(phrase: NDArray[np.integer[Any]], row: Ints, concept: Ints) -> NDArray[np.integer[Any]]:
            """How often the phrases of rows have a concept, shape (num_pairs,)."""
            if known is None:
                return np.asarray(counts[phrase[row], concept]).ravel()
            times: NDArray[np.integer[Any]] = known[(phrase * np.int64(width))[row] + concept]
            return times

        for part in self.parts(FEW_ROWS):
            named = concept_of[part.kind]
            good = np.flatnonzero(times_of(part.phrase, part.row, named))
            size = len(part.phrase) * num_concepts
            cells = part.row[good] * num_concepts + named[good]
            if size <= _MAX_TABLE:
                is_there = np.zeros(size, bool)
                is_there[cells] = True
                cells = np.flatnonzero(is_there)
            else:
                cells = counted(cells, size)[0]
            row, named = cells // num_concepts, cells % num_concepts
            different[part.rows] = np.bincount(row, minlength=len(part.phrase))
            named_by += np.bincount(named, times_of(part.phrase, row, named), num_concepts).astype(np.int64)
        return different, named_by[concept]


def _narrow(most: int) -> type[np.signedinteger[Any]]:
    """The type of integers for numbers up to this: half of the memory where it can be."""
    return np.int32 if most < 1 << 31 else np.int64


Labels = NDArray[np.integer[Any]]
Counter = Callable[[Labels, Labels], Any]
"""Counts words with the concepts of the phrases that they are paired with."""
_MAX_CODES_TABLE = 1 << 20
"""Entries of the table of words and groups; larger ones do not fit the CPU cache."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Some of the concepts of each phrase, as one label."""

    label: Ints
    """The label of each phrase, from 0, shape (num_phrases,)."""
    counts: csr_array
    """How often each concept is in the group of a label, shape (num_labels, num_concepts); most are not in it."""


def cooccurrence_counter(concepts: Occurrences, num_words: int, num_tokens: int) -> Counter:
    """A function that counts words with concepts, for many pairings of messages and phrases.

    Args:
        concepts: Of each phrase.
        num_words: Number of different words.
        num_tokens: Number of words in all messages.

    Returns:
        A function of words, from 0, which is faster if they ascend, and of the phrase that the message of each is
        paired with, each (num_tokens,). Its table has shape (num_words, num_concepts); one of more than `MAX_TABLE`
        entries is sparse.
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
        tables = []
        for group in groups:
            size = group.counts.shape[0]
            codes = words * np.int64(size)
            codes += group.label[phrases]
            table = np.bincount(codes, minlength=num_words * size).reshape(num_words, size)
            tables.append(np.asarray((group.counts.T @ table.T).T))
        return functools.reduce(np.add, tables)

    return total


def groups_of(concepts: Occurrences, num_words: int, num_tokens: int) -> list[Group]:
    """The concepts of phrases in as few groups as have tables of words and labels that are worth it."""
    num_concepts, groups = len(concepts.ids), list[Group]()
    kind, row = np.repeat(concepts.kind, concepts.count), np.repeat(concepts.row, concepts.count)
    place = np.arange(len(kind)) - (np.cumsum(concepts.per_row) - concepts.per_row)[row]
    for position in range(int(concepts.per_row.max())):
        column = np.full(
            len(concepts.per_row), num_concepts
        )  # the concept of each phrase here; the last: none
        is_here = place == position
        column[row[is_here]] = kind[is_here]
        counts = eye_array(num_concepts + 1, num_concepts, dtype=np.int64, format="csr")
        if groups:
            last, size = groups[-1], num_concepts + 1
            label, codes = renumbered(last.label * size + column, last.counts.shape[0] * size)
            if len(codes) * num_words <= min(_MAX_CODES_TABLE, num_tokens):
                groups[-1] = Group(label=label, counts=last.counts[codes // size] + counts[codes % size])
                continue
        groups.append(Group(label=column, counts=counts))
    return groups
