"""Words and concepts: counts in each sample, and co-occurrences."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecsuite.corpus import Corpus
from ecsuite.eval.counts.counting import (
    attribute_codes,
    concept_labels,
    concept_sets,
    dense_content,
    flat,
    meaning_labels,
    row_of,
)
from ecsuite.eval.statistics.cache import cached_per_corpus
from ecsuite.eval.statistics.contingency import Floats, Ints, counted, first_rows, num_labels
from ecsuite.eval.statistics.resampling import BATCH, Pairing
from ecsuite.runtime.ragged import Ragged

NO_CONCEPTS = "the corpus has neither attribute values nor concepts"


_BLOCK = 1 << 16
"""Rows in a block."""
_MOST_PAIRS = 1 << 22
"""Maximum number of pairs of word and concept counted at once, and of entries of a table of words and phrases."""
_LONGEST = 32
"""Maximum message length for comparing all pairs of positions."""
Count = Literal["tokens", "types"]
"""Whether a word or concept counts at each occurrence in a sample, or once per sample."""


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
    names: Sequence[str | int]
    """The name of each type, or its id if it has no name, (num_kinds,)."""

    @classmethod
    def of(cls, rows: Ragged, count: Count, names: tuple[str, ...] | None = None) -> Self:
        """Count the tokens or the types of each row."""
        kinds, ids = rows.reindexed()
        begin, filled = 0, 0
        row, kind, times = (np.empty(len(rows.values), np.int64) for _ in range(3))
        for block in kinds.blocks(_BLOCK):  # limits memory
            own_row, own_kind, own_times = _counted_words(block, len(ids))
            place = slice(filled, filled + len(own_row))
            row[place], kind[place], times[place] = own_row + begin, own_kind, own_times
            begin, filled = begin + len(block), filled + len(own_row)
        row, kind, times = row[:filled], kind[:filled], times[:filled]
        of_kinds = [names[each] for each in ids.tolist()] if names else ids.tolist()
        tokens = cls(row=row, kind=kind, count=times, ids=ids, per_row=rows.lengths, names=of_kinds)
        return tokens if count == "tokens" else tokens.once()

    def matrix(self) -> Any:
        """The counts as a sparse array, shape (num_rows, num_kinds)."""
        starts = np.searchsorted(self.row, np.arange(len(self.per_row) + 1))
        return csr_array((self.count, self.kind, starts), shape=(len(self.per_row), len(self.ids)))

    def once(self) -> Self:
        """Counts with each type counted once per sample."""
        return replace(
            self, count=np.ones_like(self.count), per_row=np.bincount(self.row, minlength=len(self.per_row))
        )

    def totals(self) -> Ints:
        """Total count of each type, shape (num_kinds,)."""
        return np.bincount(self.kind, self.count, len(self.ids)).astype(np.int64)


@dataclass(frozen=True, kw_only=True, slots=True)
class WordPhrases:
    """Words with the phrases of their messages; equal pairs are merged, or each belongs to one message."""

    word: Ints
    """Words, shape (num_units,)."""
    phrase: Ints
    """Phrase of each word's message."""
    messages: Ints | None
    """Number of messages with both; None: one."""
    tokens: Ints
    """Number of occurrences of the word in these messages."""

    @property
    def is_joined(self) -> bool:
        """Whether equal pairs are merged; otherwise they are in the order of messages, and of words in each."""
        return self.messages is not None


class Incidence:
    """Words of messages and concepts of phrases, both as dense ids, for many pairings of messages and phrases.

    Equal phrases are merged, and in large corpora equal words with equal phrases are counted first.

    Args:
        content: The messages without EOS.
        concepts: The concepts of each message.
        phrase: The label of each message's set of concepts, from 0, shape (num_rows,).
    """

    def __init__(self, content: Ragged, concepts: Ragged, phrase: NDArray[np.integer[Any]]) -> None:
        self._content, words = content.reindexed()
        self.num_words, self.num_rows = len(words), len(content)
        self.phrase = phrase
        phrases = Occurrences.of(concepts.take(first_rows(self.phrase, num_labels(self.phrase))), "types")
        self.num_phrases, self.num_concepts = len(phrases.per_row), len(phrases.ids)
        self.width = phrases.per_row
        """Number of concepts of each phrase, shape (num_phrases,)."""
        self.concepts = np.full((int(self.width.max(initial=0)), self.num_phrases), self.num_concepts)
        """Concepts of each phrase, padded with `num_concepts`, (most concepts, num_phrases)."""
        place = np.arange(len(phrases.row)) - (np.cumsum(self.width) - self.width)[phrases.row]
        self.concepts[place, phrases.row] = phrases.kind
        widest = len(self.concepts) * len(content.values) // max(1, self.num_rows)  # pairs per message
        self._size = max(1, _MOST_PAIRS // max(1, widest))  # messages in a block
        self._all_joined: WordPhrases | None = None
        self._words = Occurrences.of(self._content, "tokens") if self._size >= self.num_rows else None

    def own_pairing(self) -> Pairing:
        """All messages, each with its own phrase."""
        rows = np.arange(self.num_rows)
        return rows, rows

    def work(self) -> int:
        """Number of co-occurrences to count."""
        units = self.units(*self.own_pairing())
        return sum(
            int((self.width[each.phrase] * (1 if each.messages is None else each.messages)).sum())
            for each in units
        )

    def totals(self, pairings: Iterable[Pairing]) -> Ints:
        """Number of messages with each concept, then 0, in each pairing, (num_pairings, num_concepts + 1)."""
        found = []
        for _, partners in pairings:
            times = np.bincount(self.phrase[partners], minlength=self.num_phrases)
            counts = np.bincount(
                self.concepts.ravel(), np.tile(times, len(self.concepts)), self.num_concepts + 1
            )
            counts[-1] = 0
            found.append(counts.astype(np.int64))
        return np.stack(found)

    @property
    def num_cells(self) -> int:
        """Number of pairs of a word and a concept or none."""
        return self.num_words * (self.num_concepts + 1)

    def cells(self, units: WordPhrases) -> list[Ints]:
        """Cells of units with their first, second, … concept: word * (num_concepts + 1) + concept."""
        base = units.word * (self.num_concepts + 1)
        return [base + concept.take(units.phrase) for concept in self.concepts]

    def units(self, rows: Ints, partners: Ints, *, joins: bool = True) -> Iterable[WordPhrases]:
        """Words of the messages `rows` with the phrases of `partners`, in blocks.

        Args:
            rows: Messages, ascending.
            partners: The messages whose phrases they are paired with.
            joins: Whether equal pairs may be merged; these come in a single block.

        Returns:
            An iterable that can be used repeatedly; for a large corpus, unmerged blocks are computed each time.
        """
        num_tokens = len(rows) * len(self._content.values) // max(1, self.num_rows)
        if joins and self.num_words * self.num_phrases <= min(_MOST_PAIRS, num_tokens // 2):
            if rows is not partners or len(rows) < self.num_rows:
                return (self._joined(rows, partners),)
            if self._all_joined is None:
                self._all_joined = self._joined(rows, partners)
            return (self._all_joined,)
        blocks = _Blocks(lambda: self._blocks(rows, self.phrase[partners]))
        return blocks if self._words is None else tuple(blocks)

    @property
    def size(self) -> int:
        """Entries that `of_pairings` counts per pairing; `BATCH` for a large corpus, or one of few words."""
        is_joined = self.num_words * self.num_phrases <= len(self._content.values) // 2
        return BATCH if is_joined or self._words is None else len(self._words.row) * len(self.concepts)

    def of_pairings(self, pairings: Sequence[Pairing]) -> Iterable[WordPhrases]:
        """Units of all pairings, in blocks; words of pairing i are numbered from `i * num_words`."""
        if len(pairings) == 1 or self._words is None:
            assert len(pairings) == 1
            return self.units(*pairings[0])
        phrase_of = np.full((len(pairings), self.num_rows), -1, np.int32)
        for each, (rows, partners) in zip(phrase_of, pairings, strict=True):
            each[rows] = self.phrase[partners]
        words = self._words
        paired = phrase_of.take(words.row, axis=1)
        word = words.kind + self.num_words * np.arange(len(pairings))[:, None]
        used, tokens = np.flatnonzero(paired >= 0), np.tile(words.count, len(pairings))
        return (
            WordPhrases(
                word=word.ravel()[used],
                phrase=paired.ravel()[used].astype(np.int64),
                messages=None,
                tokens=tokens[used],
            ),
        )

    def _joined(self, rows: Ints, partners: Ints) -> WordPhrases:
        size = self.num_words * self.num_phrases
        tokens, repeated = np.zeros(size, np.int64), [np.zeros(0, np.int64)]
        for codes, is_first in self._tokens(rows, self.phrase[partners]):
            tokens += np.bincount(codes, minlength=size)
            repeated += [] if is_first is None else [codes[~is_first]]
        messages = tokens - np.bincount(np.concatenate(repeated), minlength=size)
        there = np.flatnonzero(messages)
        return WordPhrases(
            word=there // self.num_phrases,
            phrase=there % self.num_phrases,
            messages=messages[there],
            tokens=tokens[there],
        )

    def _tokens(self, rows: Ints, phrase: NDArray[Any]) -> Iterator[tuple[Ints, NDArray[np.bool_] | None]]:
        """Yield the code word * num_phrases + phrase of each word of some messages, in blocks.

        Yields:
            Codes, and whether each word is its first occurrence in its message; None: all are.
        """
        is_whole = len(rows) == self.num_rows
        for start in range(0, len(rows), self._size):
            block = slice(start, start + self._size)
            some = (
                self._content.between(start, start + self._size)
                if is_whole
                else self._content.take(rows[block])
            )
            row = row_of(some)
            codes = some.values * np.int64(self.num_phrases)
            codes += phrase[block].take(row)
            is_first = are_first(some, row)
            yield codes, None if is_first.all() else is_first

    def _blocks(self, rows: Ints, phrase: NDArray[Any]) -> Iterator[WordPhrases]:
        """Yield the words of some messages, unmerged."""
        if self._words is not None:
            words = self._words
            if len(rows) == self.num_rows:
                yield WordPhrases(
                    word=words.kind, phrase=phrase[words.row], messages=None, tokens=words.count
                )
                return
            phrase_of = np.full(self.num_rows, -1)
            phrase_of[rows] = phrase
            paired = phrase_of[words.row]
            used = np.flatnonzero(paired >= 0)
            yield WordPhrases(
                word=words.kind[used], phrase=paired[used], messages=None, tokens=words.count[used]
            )
            return
        for start in range(0, len(rows), self._size):
            block = slice(start, start + self._size)
            row, kind, count = _counted_words(self._content.take(rows[block]), self.num_words)
            yield WordPhrases(word=kind, phrase=phrase[block][row], messages=None, tokens=count)


@dataclass(frozen=True, slots=True)
class _Blocks:
    """Iterable that calls a function at each iteration."""

    make: Callable[[], Iterator[WordPhrases]]
    """The function."""

    def __iter__(self) -> Iterator[WordPhrases]:
        """Make them."""
        return self.make()


class Cells:
    """Sums by cell (word and concept), in a table, or in a list if a table of all cells would be too large.

    Additions to a table are buffered until they are as many as its cells.

    Args:
        size: Number of cells.
    """

    def __init__(self, size: int) -> None:
        self._size, self.is_table = size, size <= _MOST_PAIRS
        self._table: Floats | None = None
        self._listed: list[tuple[Ints, NDArray[Any] | None]] = []
        self._num_listed, self._is_exact = 0, True

    def add(self, cells: Ints, weights: NDArray[Any] | None = None) -> None:
        """Add weights, or 1 each, to cells, both (num_pairs,); sums must be exact in any order."""
        self._listed.append((cells, weights))
        self._num_listed += len(cells)
        if self.is_table and (self._num_listed >= self._size or not self._is_exact):
            self._count_listed()

    def add_in_order(self, cells: Ints, weights: Floats) -> None:
        """Add shares in order, as the last bits of their sums depend on it."""
        if not self.is_table:
            self.add(cells, weights)
            return
        self._count_listed()
        self._is_exact = False
        if self._table is None:
            self.add(cells, weights)
        else:
            np.add.at(self._table, cells, weights)

    def _count_listed(self) -> None:
        """Add the buffered entries to the table."""
        if self._listed:
            sums = np.bincount(*self._joined(), self._size)
            self._table = sums.astype(np.float64) if self._table is None else self._table + sums
            self._listed, self._num_listed = [], 0

    def _joined(self) -> tuple[Ints, NDArray[Any] | None]:
        """The buffered cells and weights, concatenated; None: all weights are 1."""
        if len(self._listed) == 1:
            return self._listed[0]
        cells = np.concatenate([cells for cells, _ in self._listed])
        if all(weights is None for _, weights in self._listed):
            return cells, None
        return cells, np.concatenate(
            [np.ones(len(cells)) if weights is None else weights for cells, weights in self._listed]
        )

    def sums(self) -> tuple[Ints, Floats]:
        """Cells with positive sums, ascending, and their sums."""
        if self.is_table and self._listed:
            self._count_listed()
        if self._table is not None:
            cells = np.flatnonzero(self._table > 0)
            return cells, self._table[cells]
        if not self._listed:
            return np.zeros(0, np.int64), np.zeros(0)
        listed, weights = self._joined()
        every, places = np.unique(listed, return_inverse=True)
        sums: NDArray[Any] = np.bincount(places, weights, len(every)).astype(np.float64)
        return every[sums > 0], sums[sums > 0]


@cached_per_corpus
def incidence_of(corpus: Corpus) -> tuple[str, Incidence | str]:
    """Kind of `concept_rows`, and their tables or a reason for having none; words are symbols except EOS."""
    kind, concepts = concept_rows(corpus)
    if concepts is None:
        return kind, NO_CONCEPTS
    (content, _), phrase = dense_content(corpus), phrase_labels(corpus)
    if phrase is None or not len(content.values):
        return kind, "every message is empty"
    return kind, Incidence(content, concepts.narrowed(), phrase)


def are_first(rows: Ragged, row: Ints) -> NDArray[np.bool_]:
    """Whether each value is the first of its kind in its row, shape (num_values,).

    Args:
        rows: Rows such as messages.
        row: The row of each value, as from `row_of`.
    """
    is_first, longest = np.ones(len(rows.values), bool), int(rows.lengths.max(initial=1))
    if longest > _LONGEST:
        order = np.lexsort((rows.values, row))
        same = rows.values[order[1:]] == rows.values[order[:-1]]
        is_first[order[1:]] = ~(same & (row[order[1:]] == row[order[:-1]]))
        return is_first
    for shift in range(1, longest):
        is_again = rows.values[shift:] == rows.values[:-shift]
        is_again &= row[shift:] == row[:-shift]
        is_first[shift:] &= ~is_again
    return is_first


def _counted_words(rows: Ragged, num_kinds: int) -> tuple[Ints, Ints, Ints]:
    """Row of each distinct value, ascending, the value, and its count in the row."""
    num_kinds = max(1, num_kinds)
    cell, count = counted(row_of(rows) * num_kinds + rows.values, len(rows) * num_kinds)
    row = cell // num_kinds
    return row, cell - row * num_kinds, count


def concept_rows(corpus: Corpus) -> tuple[str, Ragged | None]:
    """Type and concepts of each message: the `concepts` of the corpus, otherwise its `attributes`.

    For attributes, each pair of attribute and value is a concept: the meaning (2, 0) has the concepts 0=2 and 1=0.
    """
    named = concept_sets(corpus)
    if named is not None:
        return "concepts", named
    attributes = attribute_codes(corpus)
    if attributes is None or not attributes.size:
        return "none", None
    first = np.cumsum([0, *(attributes.max(axis=0)[:-1] + 1)])
    return "attributes", Ragged.from_table(attributes + first)


def with_concepts(corpus: Corpus) -> Corpus | None:
    """The corpus with its concepts or, without them, those of its attributes, see `concept_rows`; None without both."""
    if corpus.concepts is not None and corpus.concepts.values.size:
        return corpus
    codes, rows = attribute_codes(corpus), concept_rows(corpus)[1]
    if codes is None or rows is None or corpus.meanings is None:
        return None
    values = flat(corpus.meanings)
    names = [
        f"{corpus.attribute_names[attribute] if corpus.attribute_names else attribute}={value}"
        for attribute, own in enumerate(codes.T)
        for value in values[first_rows(own, num_labels(own)), attribute].tolist()
    ]
    return replace(corpus, concepts=rows, concept_names=tuple(names))


def phrase_labels(corpus: Corpus) -> NDArray[np.integer[Any]] | None:
    """Label of each row of `concept_rows`, as `meaning_labels`; None if the corpus has no concepts."""
    labels = concept_labels(corpus)
    return meaning_labels(corpus) if labels is None else labels
