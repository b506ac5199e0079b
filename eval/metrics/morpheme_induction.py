"""Morphemes of a language: form-meaning pairs by count, select, ablate, repeat (CSAR).

Boldt & Mortensen 2025 (EMNLP, arXiv 2510.03439). A form is an n-gram of symbols, a meaning a set of concepts (attribute
values). The weight of a pair is the mutual information, in bits, of two binary variables: whether a message has the
form, and whether it is about the meaning. The pair of the highest weight is selected and removed from the messages
that have both; this is repeated with new counts. Of equal weights that of the form selected least often comes first,
then the longer form, then the smaller meaning, as in the authors' program.

Four rules are ours. A pair must occur together more often than independent ones would, since mutual information is
as high for pairs that avoid each other. A form and a meaning must each occur with two different whole meanings, since
otherwise they are names of a whole. And it ends at the highest weight of any pair after whole meanings were exchanged
with each other, so that a language without morphemes has none. In a message with several occurrences of a form the
first is removed, where the authors' program looks for the best one.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecsuite.corpus import Ragged
from ecsuite.eval.statistics.contingency import renumbered
from ecsuite.eval.statistics.counting import Floats, Ints, row_of

MAX_FORM = 6
"""Most symbols of a form."""
MAX_MEANING = 2
"""Most concepts of a meaning."""
_ROUNDING = 1e-9
"""Weights, in bits, that differ by less are equal."""


@dataclass(kw_only=True, slots=True)
class Units:
    """Occurrences of forms, or of meanings, in messages; an occurrence is gone when one of its parts is removed."""

    row: Ints
    """The message of each occurrence, ascending, (num_occurrences,)."""
    unit: Ints
    """The form or meaning, (num_occurrences,)."""
    parts: Ints
    """Places of its symbols or concepts among those of all messages, the last repeated, (num_occurrences, most)."""
    size: Ints
    """Symbols or concepts of each unit, (num_units,)."""
    is_alive: NDArray[np.bool_] = field(init=False)
    """Whether it is still there."""
    starts: Ints = field(init=False)
    """Where the occurrences of each message begin, (num_rows + 1,)."""
    by_unit: list[Ints] = field(init=False)
    """The occurrences of each unit."""

    def index(self, num_rows: int) -> None:
        """Prepare look-ups by message and by unit."""
        self.is_alive = np.ones(len(self.row), bool)
        self.starts = np.searchsorted(self.row, np.arange(num_rows + 1))
        order = np.argsort(self.unit, kind="stable")
        self.by_unit = np.split(order, np.cumsum(np.bincount(self.unit, minlength=len(self.size)))[:-1])

    def kept(self, is_kept: NDArray[np.bool_]) -> "Units":
        """Only some units, numbered anew."""
        number = np.cumsum(is_kept) - 1
        chosen = is_kept[self.unit]
        return Units(
            row=self.row[chosen],
            unit=number[self.unit[chosen]],
            parts=self.parts[chosen],
            size=self.size[is_kept],
        )

    def present(self, rows: Ints) -> csr_array:
        """Which units some messages still have, as zeros and ones, (num_rows, num_units)."""
        found, where = self._occurrences(rows)
        alive = self.is_alive[found]
        return _incidence(where[alive], self.unit[found[alive]], len(rows), len(self.size))

    def remove(self, rows: Ints, is_removed: NDArray[np.bool_]) -> None:
        """Let occurrences in these messages go that have a removed part."""
        found, _ = self._occurrences(rows)
        self.is_alive[found] &= ~is_removed[self.parts[found]].any(1)

    def first_alive(self, unit: int) -> tuple[Ints, Ints]:
        """Messages that have a unit, and the first occurrence of it in each."""
        found = self.by_unit[unit][self.is_alive[self.by_unit[unit]]]
        rows, first = np.unique(self.row[found], return_index=True)
        return rows, found[first]

    def _occurrences(self, rows: Ints) -> tuple[Ints, Ints]:
        """All occurrences in some messages, and which of the messages each is in."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        where = np.repeat(np.arange(len(rows)), lengths)
        before = np.cumsum(lengths) - lengths
        return np.arange(len(where)) + np.repeat(self.starts[rows] - before, lengths), where


@dataclass(frozen=True, kw_only=True, slots=True)
class Morpheme:
    """A form that means something."""

    form: tuple[int, ...]
    """Symbols."""
    meaning: tuple[int, ...]
    """Concepts, ascending."""
    weight: float
    """Mutual information in bits when it was selected."""
    num_messages: int
    """Messages in which it was found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Inventory:
    """The morphemes of a corpus, and where they are."""

    morphemes: tuple[Morpheme, ...]
    """In the order of their selection."""
    of_symbol: Ints
    """The morpheme that each symbol belongs to; -1 if none, (num_symbols,)."""
    of_concept: Ints
    """The same of each concept of the meanings, (num_concepts,)."""
    least_weight: float
    """The weight that pairs must exceed, in bits."""


def forms_of(messages: Ragged) -> Units:
    """All n-grams of messages of up to `MAX_FORM` symbols that occur twice."""
    row, unit, parts, size = [], [], [], []
    start = np.arange(len(messages.values))
    code, num_codes, num_units = messages.values.astype(np.int64), int(messages.values.max(initial=0)) + 1, 0
    num_symbols, rows = num_codes, row_of(messages)
    ends = np.repeat(messages.offsets[1:], messages.lengths)
    for length in range(1, MAX_FORM + 1):
        if length > 1:
            goes_on = start + length - 1 < ends[start]
            start, code = start[goes_on], code[goes_on]
            code = code * num_symbols + messages.values[start + length - 1]
            num_codes *= num_symbols
        code, originals = renumbered(code, num_codes)
        recurs = np.bincount(code, minlength=len(originals)) > 1
        chosen = recurs[code]
        start, code = start[chosen], (np.cumsum(recurs) - 1)[code[chosen]]
        num_codes = int(recurs.sum())
        if not len(start):
            break
        row.append(rows[start])
        unit.append(code + num_units)
        parts.append(start[:, None] + np.minimum(np.arange(MAX_FORM), length - 1))
        size.append(np.full(num_codes, length))
        num_units += num_codes
    return _units(row, unit, parts, size, MAX_FORM)


def meanings_of(concepts: Ragged) -> Units:
    """All sets of up to `MAX_MEANING` concepts of the meanings."""
    row, unit, parts, size = [], [], [], []
    num_concepts, num_units = int(concepts.values.max(initial=0)) + 1, 0
    longest = int(concepts.lengths.max(initial=0))
    for number in range(1, MAX_MEANING + 1):
        members = []
        for chosen in combinations(range(longest), number):
            rows = np.flatnonzero(concepts.lengths > chosen[-1])
            members.append((rows, concepts.offsets[rows][:, None] + np.array(chosen)))
        if not members:
            break
        places = np.concatenate([each for _, each in members])
        code = np.zeros(len(places), np.int64)
        for column in places.T:
            code = code * num_concepts + concepts.values[column]
        code, originals = renumbered(code, num_concepts**number)
        row.append(np.concatenate([each for each, _ in members]))
        unit.append(code + num_units)
        parts.append(places[:, np.minimum(np.arange(MAX_MEANING), number - 1)])
        size.append(np.full(len(originals), number))
        num_units += len(originals)
    return _units(row, unit, parts, size, MAX_MEANING)


def induce(
    messages: Ragged, concepts: Ragged, whole: Ints, rng: np.random.Generator, shuffles: int
) -> Inventory:
    """Find the morphemes.

    Args:
        messages: Without EOS.
        concepts: What each message is about, as ascending ids.
        whole: The number of the whole meaning of each message, from 0, (num_messages,).
        rng: Exchanges whole meanings.
        shuffles: How often, to find the weight that pairs must exceed.
    """
    forms, meanings = (
        units.kept(_recurs(units, whole)) for units in (forms_of(messages), meanings_of(concepts))
    )
    num_rows, num_wholes = len(whole), int(whole.max()) + 1
    # As whole meanings are exchanged, counts by them are enough: messages with a form, and sets that one consists of.
    with_form = _incidence(forms.row, forms.unit, num_rows, len(forms.size))
    in_whole = _incidence(whole, np.arange(num_rows), num_wholes, num_rows)
    form_by_whole = csr_array((in_whole @ with_form).T)
    first = np.unique(whole, return_index=True)[1]
    of_whole = _incidence(meanings.row, meanings.unit, num_rows, len(meanings.size))[first]
    sizes = np.bincount(whole).astype(float)
    form_counts = np.asarray(with_form.sum(0), float)
    least = 0.0
    for _ in range(shuffles):
        exchanged = of_whole[rng.permutation(num_wholes)]
        least = max(least, _weighted(form_by_whole, exchanged, sizes, form_counts, least)[3].max(initial=0.0))
    form, meaning, joint, weights = _weighted(form_by_whole, of_whole, sizes, form_counts, least)
    chosen = weights > least + _ROUNDING
    candidates = _Candidates.of(forms, meanings, form[chosen], meaning[chosen], joint[chosen], num_rows)
    return candidates.selected(messages, concepts, weights[chosen], least)


@dataclass(kw_only=True, slots=True)
class _Candidates:
    """Pairs that may be morphemes, with their counts in what is left of the corpus."""

    forms: Units
    meanings: Units
    form: Ints
    meaning: Ints
    joint: Floats
    num_rows: int

    @classmethod
    def of(
        cls, forms: Units, meanings: Units, form: Ints, meaning: Ints, joint: Floats, num_rows: int
    ) -> "_Candidates":
        """Keep only the forms and meanings of the pairs."""
        has_form, has_meaning = np.zeros(len(forms.size), bool), np.zeros(len(meanings.size), bool)
        has_form[form], has_meaning[meaning] = True, True
        forms, meanings = forms.kept(has_form), meanings.kept(has_meaning)
        for units in (forms, meanings):
            units.index(num_rows)
        return cls(
            forms=forms,
            meanings=meanings,
            form=(np.cumsum(has_form) - 1)[form],
            meaning=(np.cumsum(has_meaning) - 1)[meaning],
            joint=joint,
            num_rows=num_rows,
        )

    def selected(self, messages: Ragged, concepts: Ragged, weights: Floats, least: float) -> Inventory:
        """Select and ablate until no weight exceeds the least."""
        rows = np.arange(self.num_rows)
        counts = [np.asarray(units.present(rows).sum(0), float) for units in (self.forms, self.meanings)]
        of_symbol, of_concept = (np.full(len(each.values), -1) for each in (messages, concepts))
        num_uses = np.zeros(len(self.forms.size), np.int64)
        found: list[Morpheme] = []
        while len(weights) and weights.max() > least + _ROUNDING:
            best = self._best(weights, num_uses)
            form, meaning = int(self.form[best]), int(self.meaning[best])
            num_uses[form] += 1
            in_form, said = self.forms.first_alive(form)
            in_meaning, meant = self.meanings.first_alive(meaning)
            rows, at_form, at_meaning = np.intersect1d(
                in_form, in_meaning, assume_unique=True, return_indices=True
            )
            symbols, parts = self.forms.parts[said[at_form]], self.meanings.parts[meant[at_meaning]]
            found.append(
                Morpheme(
                    form=tuple(messages.values[symbols[0][: self.forms.size[form]]].tolist()),
                    meaning=tuple(concepts.values[parts[0][: self.meanings.size[meaning]]].tolist()),
                    weight=float(weights[best]),
                    num_messages=len(rows),
                )
            )
            before = [units.present(rows) for units in (self.forms, self.meanings)]
            of_symbol[symbols], of_concept[parts] = len(found) - 1, len(found) - 1
            self.forms.remove(rows, of_symbol >= 0)
            self.meanings.remove(rows, of_concept >= 0)
            after = [units.present(rows) for units in (self.forms, self.meanings)]
            for count, old, new in zip(counts, before, after, strict=True):
                count -= np.asarray(old.sum(0)) - np.asarray(new.sum(0))
            gone = csr_array(before[0].T @ before[1] - after[0].T @ after[1])
            self.joint -= np.asarray(gone[self.form, self.meaning]).ravel()
            information = _information(
                self.joint, counts[0][self.form], counts[1][self.meaning], self.num_rows
            )
            weights = np.minimum(weights, information)
            weights[best] = 0
        return Inventory(
            morphemes=tuple(found), of_symbol=of_symbol, of_concept=of_concept, least_weight=least
        )

    def _best(self, weights: Floats, num_uses: Ints) -> int:
        """The pair to select next."""
        tied = np.flatnonzero(weights > weights.max() - _ROUNDING)
        form, meaning = self.form[tied], self.meaning[tied]
        order = np.lexsort(
            [form, meaning, self.meanings.size[meaning], -self.forms.size[form], num_uses[form]]
        )
        return int(tied[order[0]])


def _units(row: list[Ints], unit: list[Ints], parts: list[Ints], size: list[Ints], width: int) -> Units:
    """Occurrences in the order of messages, and of places within one."""
    if not row:
        nothing = np.zeros(0, np.int64)
        return Units(row=nothing, unit=nothing, parts=np.zeros((0, width), np.int64), size=nothing)
    rows, places = np.concatenate(row), np.concatenate(parts)
    order = np.lexsort([places[:, 0], rows])
    return Units(
        row=rows[order], unit=np.concatenate(unit)[order], parts=places[order], size=np.concatenate(size)
    )


def _recurs(units: Units, whole: Ints) -> NDArray[np.bool_]:
    """Whether each unit occurs with two different whole meanings."""
    least, most = np.full(len(units.size), np.iinfo(np.int64).max), np.full(len(units.size), -1)
    np.minimum.at(least, units.unit, whole[units.row])
    np.maximum.at(most, units.unit, whole[units.row])
    return np.asarray(least < most)


def _incidence(rows: Ints, columns: Ints, num_rows: int, num_columns: int) -> csr_array:
    """A table of ones at these places, which may repeat, and zeros elsewhere."""
    table = csr_array((np.ones(len(rows)), (rows, columns)), shape=(num_rows, num_columns))
    table.data[:] = 1
    return table


def _weighted(
    form_by_whole: csr_array, of_whole: csr_array, sizes: Floats, form_counts: Floats, least: float
) -> tuple[Ints, Ints, Floats, Floats]:
    """Pairs that occur together and may exceed a weight: forms, meanings, numbers of messages with both, weights.

    Most are left out by a bound without logarithms: mutual information is at most log2(1 + phi^2), where phi is the
    correlation of the two variables, as the Kullback-Leibler divergence is by that of chi-squared.
    """
    together = csr_array(form_by_whole @ of_whole)
    total = float(sizes.sum())
    meaning_counts = np.asarray(sizes @ of_whole)
    form_ends, meaning_ends = (each * (total - each) for each in (form_counts, meaning_counts))
    form = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
    meaning, joint = together.indices, together.data
    excess = joint * total - form_counts[form] * meaning_counts[meaning]
    may = (excess > 0) & (excess**2 >= (2**least - 1) * form_ends[form] * meaning_ends[meaning] * (1 - 1e-9))
    form, meaning, joint = form[may], meaning[may].astype(np.int64), joint[may]
    return form, meaning, joint, _information(joint, form_counts[form], meaning_counts[meaning], total)


def _information(joint: Floats, first: Floats, second: Floats, total: float) -> Floats:
    """Mutual information of binary variables in bits; 0 for pairs that occur together no more often than independent.

    Args:
        joint: Messages with both, (num_pairs,).
        first: Messages with the form.
        second: Messages with the meaning.
        total: All messages.
    """
    information = np.zeros(len(joint))
    for both, one, other in (
        (joint, first, second),
        (first - joint, first, total - second),
        (second - joint, total - first, second),
        (total - first - second + joint, total - first, total - second),
    ):
        there = both > 0
        ratio = np.divide(both * total, one * other, where=there, out=np.ones(len(joint)))
        information += both / total * np.log2(ratio)
    return np.where(joint * total > first * second, information, 0.0)
