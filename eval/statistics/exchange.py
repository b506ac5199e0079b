"""Units of permutations and half-samples: meanings with all their messages, or single messages.

Copies of a row are no further evidence that a language is compositional: a holistic language gives each meaning one
message, however often it is uttered. So scores of composition and of concepts exchange the messages of whole meanings,
which keeps what varies within a meaning; scores of consistency, which are about just that, exchange single messages.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.eval.statistics.cooccurrence import concept_rows
from ecsuite.eval.statistics.counting import (
    concept_sets,
    first_rows,
    flat,
    meaning_codes,
    narrow_attributes,
    narrow_content,
    num_labels,
    row_labels,
    row_of,
)
from ecsuite.eval.statistics.equal_codes import labels_of_codes
from ecsuite.eval.statistics.kept import once
from ecsuite.eval.statistics.message_labels import halved, message_labels
from ecsuite.runtime.ragged import Ragged

Labels = NDArray[np.integer[Any]]

MOST_PAIRINGS = 5_040
"""All distinct pairings of messages and meanings are enumerated up to this number: those of seven meanings."""
_FACTOR = 0x9E3779B97F4A7C15
"""An odd number near 2^64 divided by the golden ratio."""
_COUNTABLE = 1 << 53
"""Larger numbers of pairings are not counted."""


@dataclass(frozen=True)
class Exchange:
    """Units of rows, which are exchanged as wholes.

    Args:
        of_row: The unit of each row, from 0, all of which occur, (num_rows,).
        alike: The number of each row's message, (num_rows,): units with the same messages need no exchange.
        are_meanings: Whether units are meanings; otherwise each is a row.
    """

    of_row: Labels
    alike: Callable[[], Labels]
    are_meanings: bool = True

    @cached_property
    def num_units(self) -> int:
        """Number of units."""
        return num_labels(self.of_row)

    @cached_property
    def sizes(self) -> Ints:
        """Number of rows of each unit, (num_units,)."""
        return np.bincount(self.of_row)

    @cached_property
    def _places(self) -> Labels:
        """The rows of each unit, (num_units, rows of a unit), or where their numbers differ the first, (num_units,)."""
        if self.num_units == len(self.of_row):
            places = np.empty(self.num_units, np.int64)
            places[self.of_row] = np.arange(self.num_units)
            return places
        if np.ptp(self.sizes):
            return first_rows(self.of_row, self.num_units)
        return np.argsort(self.of_row, kind="stable").reshape(self.num_units, -1)

    @cached_property
    def _classes(self) -> Labels:
        """A number for each unit, equal where units have the same messages equally often, (num_units,)."""
        labels = self.alike()
        if self.num_units == len(self.of_row):
            classes = np.empty_like(labels)
            classes[self.of_row] = labels
            return np.unique(classes, return_inverse=True)[1]
        # sums of random integers, which are exact in float64: those of other messages differ
        weights = np.random.default_rng(0).integers(1, 1 << 20, (2, num_labels(labels))).astype(float)
        sums = [np.bincount(self.of_row, each[labels], self.num_units) for each in weights]
        return np.unique(np.stack(sums, axis=1), axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def num_pairings(self) -> int | None:
        """Number of distinct pairings of messages and meanings; None if it is too large to be counted exactly."""
        sizes = np.bincount(self._classes)
        logarithm = math.lgamma(self.num_units + 1) - sum(math.lgamma(each + 1) for each in sizes.tolist())
        if logarithm > math.log(_COUNTABLE):
            return None
        number, left = 1, self.num_units
        for size in sizes.tolist():
            number *= math.comb(left, size)
            left -= size
        return number

    def orders(self, rng: np.random.Generator, number: int, most: int = MOST_PAIRINGS) -> Iterator[Ints]:
        """For each pairing and unit the unit whose meaning its messages get, each (num_units,).

        Args:
            rng: Draws them, where there are more than are enumerated.
            number: Number of random ones; of a single one none are enumerated.
            most: Maximum number of pairings that are enumerated, if it is below `MOST_PAIRINGS`.
        """
        if number > 1 and self.num_pairings is not None and self.num_pairings <= min(most, MOST_PAIRINGS):
            yield from self._pairings()
        else:
            for _ in range(number):
                yield rng.permutation(self.num_units)

    def _pairings(self) -> list[Ints]:
        """All distinct pairings, in an order that is random, but the same for the same classes of units."""
        classes = self._classes
        units = np.argsort(classes, kind="stable")
        found = []
        for arrangement in _arrangements(classes[units].tolist()):
            order = np.empty(self.num_units, np.int64)
            order[units] = np.argsort(arrangement, kind="stable")
            found.append(order)
        rng = np.random.default_rng([self.num_units, *classes.tolist()])
        return [found[place] for place in rng.permutation(len(found))]

    def partners(self, order: Ints) -> Ints:
        """For each row a row of the meaning that its message gets, (num_rows,), of one of `orders`.

        If all units have the same number of rows, each row is the partner of one other.
        """
        if self._places.ndim == 1:
            return np.asarray(self._places[order][self.of_row])
        partners = np.empty(len(self.of_row), np.int64)
        partners[self._places] = self._places[order]
        return partners

    def rows_of(self, units: Ints) -> Ints:
        """The rows of some units, ascending."""
        if not self.are_meanings:
            return units
        is_taken = np.zeros(self.num_units, bool)
        is_taken[units] = True
        return np.flatnonzero(is_taken[self.of_row])

    @property
    def num_independent(self) -> float:
        """Effective number of units: the number of those of equal sizes whose mean is as uncertain."""
        return float(len(self.of_row) ** 2 / (self.sizes.astype(float) ** 2).sum())

    def take(self, rows: Ints) -> "Exchange":
        """The units of some rows, which are numbered from 0."""
        present = np.bincount(self.of_row[rows], minlength=self.num_units) > 0
        number = np.cumsum(present) - 1
        return Exchange(number[self.of_row[rows]], lambda: self.alike()[rows], self.are_meanings)


def _arrangements(labels: list[int]) -> Iterator[list[int]]:
    """All distinct orders of labels, which are ascending: Knuth, The Art of Computer Programming, 7.2.1.2, L."""
    while True:
        yield labels
        labels = labels.copy()
        place = next((i for i in reversed(range(len(labels) - 1)) if labels[i] < labels[i + 1]), None)
        if place is None:
            return
        other = next(i for i in reversed(range(len(labels))) if labels[i] > labels[place])
        labels[place], labels[other] = labels[other], labels[place]
        labels[place + 1 :] = reversed(labels[place + 1 :])


def single_rows(num_rows: int, *labels: Labels) -> Exchange:
    """Single messages, for scores of consistency.

    Args:
        num_rows: Number of messages.
        labels: The number of each message, and that of each meaning: those count that leave fewer pairings.
    """

    def alike() -> Labels:
        """The labels with the fewest distinct orders."""
        logarithms = [sum(math.lgamma(each + 1) for each in np.bincount(some).tolist()) for some in labels]
        return labels[int(np.argmax(logarithms))] if labels else np.arange(num_rows)

    return Exchange(np.arange(num_rows), alike, are_meanings=False)


@once
def of_meanings(corpus: Corpus) -> Exchange | None:
    """Whole meanings: vectors of attribute values or features, otherwise sets of concepts; None without any."""
    labels = meaning_labels(corpus)
    if labels is None:
        return None
    first = first_rows(labels, num_labels(labels))
    if corpus.meanings is None:
        sets = concept_sets(corpus)
        assert sets is not None
        return _sorted(corpus, labels, sets.take(first))
    columns = narrow_attributes(corpus)
    vectors = _words(flat(corpus.meanings)[first]) if columns is None else columns[:, first].T
    return _sorted(corpus, labels, _table(vectors))


@once
def of_phrases(corpus: Corpus) -> Exchange | None:
    """Concepts in any order, otherwise vectors of attribute values: the meanings of scores of words and concepts.

    Where meanings differ by a single concept each, to exchange them is to rename concepts, which changes no score. So
    single messages are exchanged then, as the name of a concept is that of a meaning.
    """
    kind, rows = concept_rows(corpus)
    if rows is None:
        return None
    whole = corpus.concepts if kind == "concepts" else None
    if whole is not None and len(rows.values) < len(whole.values):
        # some are repeated, which concept best matching counts
        rows = Ragged(whole.values[np.lexsort((whole.values, row_of(whole)))], whole.offsets)
    labels = meaning_labels(corpus) if kind == "attributes" else halved(row_labels(rows))
    assert labels is not None
    phrases = rows.take(first_rows(labels, num_labels(labels)))
    differs = np.bincount(phrases.values) != len(phrases)
    if np.bincount(row_of(phrases), differs[phrases.values]).max(initial=0) <= 1:
        return single_rows(len(labels), message_labels(corpus), labels)
    return _sorted(corpus, labels, phrases)


def of_concepts(corpus: Corpus) -> Exchange:
    """Concepts in their order."""
    assert corpus.concepts is not None
    labels = halved(row_labels(corpus.concepts))
    return _sorted(corpus, labels, corpus.concepts.take(first_rows(labels, num_labels(labels))))


def _sorted(corpus: Corpus, labels: Labels, meanings: Ragged) -> Exchange:
    """Units in an order of what they are, so that the order of rows has no say in what is drawn."""
    rank = np.empty(len(meanings), labels.dtype)
    rank[np.argsort(content_keys(meanings), kind="stable")] = np.arange(len(meanings))
    return Exchange(rank[labels], lambda: message_labels(corpus))


def _table(codes: Labels) -> Ragged:
    return Ragged.from_lengths(codes.astype(np.int32).ravel(), np.full(len(codes), codes.shape[1]))


def _words(features: NDArray[Any]) -> NDArray[np.int16]:
    """The bits of features as integers, where 0 has one sign, (num_messages, several times num_features)."""
    return np.ascontiguousarray(features + 0).view(np.int16)


@once
def meaning_labels(corpus: Corpus) -> Labels | None:
    """The number of each whole meaning, from 0 in order of first occurrence, (num_messages,); None without any.

    As `message_labels`, others may have them, too.
    """
    if corpus.meanings is None:
        sets = concept_sets(corpus)
        return None if sets is None else halved(row_labels(sets))
    codes = meaning_codes(corpus)
    if codes is not None:
        return halved(labels_of_codes(*codes))
    return halved(row_labels(_table(_words(flat(corpus.meanings)))))


def content_keys(rows: Ragged) -> NDArray[np.uint64]:
    """A number for each row that depends on its values alone, (num_rows,), by which rows are put in order.

    A value of 0 at the end counts as none, so that an attribute that is constant changes nothing there.
    """
    longest = int(rows.lengths.max(initial=0))
    factors = np.random.default_rng(1).integers(1, 1 << 63, longest, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    keys = np.zeros(len(rows), np.uint64)
    begin = 0
    for block in rows.blocks():
        lengths = block.lengths
        place = np.arange(len(block.values)) - np.repeat(block.offsets[:-1], lengths)
        terms = block.values.astype(np.int64).view(np.uint64) * factors[place]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])  # modulo 2^64
        keys[begin : begin + len(block)] = sums[block.offsets[1:]] - sums[block.offsets[:-1]]
        begin += len(block)
    return _mixed(keys)


def sorted_rows(corpus: Corpus, exchange: Exchange) -> Ints:
    """All rows in an order of what they say and mean, so that their order in the corpus has no say in what is drawn."""
    keys = content_keys(narrow_content(corpus))
    keys *= np.uint64(_FACTOR)
    keys += exchange.of_row.astype(np.uint64)
    keys = _mixed(keys)
    # sorted with the row in the low bits, which takes a tenth of the time of an order
    bits = np.uint64(max(1, len(keys) - 1).bit_length())
    mask = (np.uint64(1) << bits) - np.uint64(1)
    joined = np.sort((keys & ~mask) | np.arange(len(keys), dtype=np.uint64))
    rows = (joined & mask).astype(np.int64)
    keys, high = keys[rows], joined & ~mask
    for place in np.flatnonzero((high[1:] == high[:-1]) & (keys[1:] != keys[:-1])).tolist():
        same = slice(*np.searchsorted(high, [high[place], high[place] + mask + np.uint64(1)]))
        rows[same] = rows[same][np.argsort(keys[same], kind="stable")]
    return rows


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys whose high bits depend on all bits of those given (the last steps of MurmurHash3 of 64 bits)."""
    keys = (keys ^ (keys >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    keys = (keys ^ (keys >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return keys ^ (keys >> np.uint64(33))
