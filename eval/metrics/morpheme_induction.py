"""Candidate forms and meanings of morphemes, their occurrences in messages, and the selection of morphemes (CSAR)."""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import chdtri

from ecsuite.eval.counts.counting import row_of
from ecsuite.eval.statistics.contingency import Floats, Ints, renumbered
from ecsuite.eval.statistics.estimates import student_tail
from ecsuite.runtime.ragged import Ragged

MAX_FORM = 6
"""Maximum number of symbols of a form."""
MAX_MEANING = 3
"""Maximum number of concepts of a meaning; 2 if a message has more than `MAX_CONCEPTS`."""
MAX_CONCEPTS = 10
"""Maximum number of concepts of a message with sets of three, as larger messages have too many."""


@dataclass(kw_only=True, slots=True)
class MorphemeUnits:
    """Occurrences of forms, or of meanings, in messages; removing a part of an occurrence removes the occurrence."""

    row: Ints
    """The message of each occurrence, ascending, (num_occurrences,)."""
    unit: Ints
    """The form or meaning, (num_occurrences,)."""
    parts: Ints
    """Indices of its symbols or concepts in all messages, the last one repeated as padding, (num_occurrences, most)."""
    size: Ints
    """Number of symbols or concepts of each unit, (num_units,)."""
    is_alive: NDArray[np.bool_] = field(init=False)
    """Whether each occurrence is not removed, (num_occurrences,)."""
    starts: Ints = field(init=False)
    """Index of the first occurrence of each message, (num_rows + 1,)."""
    by_unit: list[Ints] = field(init=False)
    """The occurrences of each unit."""

    def index(self, num_rows: int) -> None:
        """Prepare look-ups by message and by unit."""
        self.is_alive = np.ones(len(self.row), bool)
        self.starts = np.searchsorted(self.row, np.arange(num_rows + 1))
        order = np.argsort(self.unit, kind="stable")
        self.by_unit = np.split(order, np.cumsum(np.bincount(self.unit, minlength=len(self.size)))[:-1])

    def kept(self, is_kept: NDArray[np.bool_]) -> "MorphemeUnits":
        """Select units, and renumber them."""
        number = np.cumsum(is_kept) - 1
        chosen = is_kept[self.unit]
        return MorphemeUnits(
            row=self.row[chosen],
            unit=number[self.unit[chosen]],
            parts=self.parts[chosen],
            size=self.size[is_kept],
        )

    def left(self, is_left: NDArray[np.bool_], whole: Ints, *, recurring: bool = True) -> "MorphemeUnits":
        """Occurrences without removed parts, of units that still occur with two different whole meanings.

        Args:
            is_left: Whether each symbol or concept of all messages is not removed.
            whole: The id of the whole meaning of each message.
            recurring: False: also units that occur with one whole meaning only.
        """
        chosen = is_left[self.parts].all(1)
        rest = MorphemeUnits(
            row=self.row[chosen], unit=self.unit[chosen], parts=self.parts[chosen], size=self.size
        )
        occurs = _recurs(rest, whole) if recurring else np.bincount(rest.unit, minlength=len(rest.size)) > 0
        rest = rest.kept(occurs)
        rest.index(len(whole))
        return rest

    def present(self, rows: Ints) -> csr_array:
        """Presence of units in some messages, as zeros and ones, (num_rows, num_units)."""
        found, where = self._occurrences(rows)
        alive = self.is_alive[found]
        return _incidence(where[alive], self.unit[found[alive]], len(rows), len(self.size))

    def remove(self, rows: Ints, is_removed: NDArray[np.bool_]) -> None:
        """Remove the occurrences in these messages that have a removed part."""
        found, _ = self._occurrences(rows)
        self.is_alive[found] &= ~is_removed[self.parts[found]].any(1)

    def first_alive(self, unit: int) -> tuple[Ints, Ints]:
        """Messages that contain a unit, and its first occurrence in each."""
        found = self.by_unit[unit][self.is_alive[self.by_unit[unit]]]
        rows, first = np.unique(self.row[found], return_index=True)
        return rows, found[first]

    def _occurrences(self, rows: Ints) -> tuple[Ints, Ints]:
        """All occurrences in some messages, and the position in `rows` of their message."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        where = np.repeat(np.arange(len(rows)), lengths)
        before = np.cumsum(lengths) - lengths
        return np.arange(len(where)) + np.repeat(self.starts[rows] - before, lengths), where


def forms_of(messages: Ragged, least: int = 2) -> MorphemeUnits:
    """All n-grams of up to `MAX_FORM` symbols that occur at least `least` times."""
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
        recurs = np.bincount(code, minlength=len(originals)) >= least
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


def largest_meaning(concepts: Ragged) -> int:
    """Maximum number of concepts of a meaning, for these messages."""
    return MAX_MEANING if concepts.lengths.max(initial=0) <= MAX_CONCEPTS else 2


def num_meanings(concepts: Ragged) -> int:
    """Number of sets of up to `largest_meaning` concepts, summed over messages."""
    lengths = concepts.lengths.astype(float)  # floats do not overflow
    sizes = [np.ones_like(lengths)]
    for number in range(1, largest_meaning(concepts) + 1):
        sizes.append(sizes[-1] * np.maximum(0, lengths - number + 1) / number)
    return int(sum(each.sum() for each in sizes[1:]))


def meanings_of(concepts: Ragged) -> MorphemeUnits:
    """All sets of up to `largest_meaning` concepts of the messages."""
    row, unit, parts, size = [], [], [], []
    num_concepts, num_units = int(concepts.values.max(initial=0)) + 1, 0
    longest = int(concepts.lengths.max(initial=0))
    for number in range(1, largest_meaning(concepts) + 1):
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


def _incidence(rows: Ints, columns: Ints, num_rows: int, num_columns: int) -> csr_array:
    """Sparse table with ones at these cells, which may repeat, and zeros elsewhere."""
    table = csr_array((np.ones(len(rows)), (rows, columns)), shape=(num_rows, num_columns))
    table.data[:] = 1
    return table


def _units(
    row: list[Ints], unit: list[Ints], parts: list[Ints], size: list[Ints], width: int
) -> MorphemeUnits:
    """Occurrences ordered by message, and by position within a message."""
    if not row:
        nothing = np.zeros(0, np.int64)
        return MorphemeUnits(row=nothing, unit=nothing, parts=np.zeros((0, width), np.int64), size=nothing)
    rows, places = np.concatenate(row), np.concatenate(parts)
    order = np.lexsort([places[:, 0], rows])
    return MorphemeUnits(
        row=rows[order], unit=np.concatenate(unit)[order], parts=places[order], size=np.concatenate(size)
    )


def _recurs(units: MorphemeUnits, whole: Ints) -> NDArray[np.bool_]:
    """Whether each unit occurs with two different whole meanings."""
    least, most = np.full(len(units.size), np.iinfo(np.int64).max), np.full(len(units.size), -1)
    np.minimum.at(least, units.unit, whole[units.row])
    np.maximum.at(most, units.unit, whole[units.row])
    return np.asarray(least < most)


_ROUNDING = 1e-9
"""Differences between weights, in bits, that count as ties."""
FALSE_SHARE = 0.2
"""Maximum share of selected pairs that are expected without structure."""
_KEPT = 0.7
"""Share of selectable pairs below which the others are dropped, to save time."""
_LOOKED_AT = 100
"""Approximate number of chance pairs whose weights are computed; lower weights are skipped, to save time."""


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
    """Messages in which it was selected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MorphemeInventory:
    """The morphemes of a corpus, and the symbols and concepts that belong to them."""

    morphemes: tuple[Morpheme, ...]
    """In the order of their selection."""
    of_symbol: Ints
    """The morpheme that each symbol belongs to; -1 if none, (num_symbols,)."""
    of_concept: Ints
    """Morpheme of each concept of the meanings, (num_concepts,)."""
    least_weight: float
    """Lowest selected weight, in bits; without morphemes, the highest weight in the exchanged corpora."""
    p_value: float
    """Probability that chance alone makes a pair of the highest weight, by Student's t of the highest weights of the
    exchanged corpora; 1 without morphemes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pairs:
    """Forms and meanings that occur together, and how often."""

    form: Ints
    meaning: Ints
    joint: Floats
    """Messages with both."""
    weight: Floats
    """Mutual information in bits."""

    def above(self, least: float) -> "_Pairs":
        """Pairs of at least this weight."""
        return self.chosen(self.weight >= least)

    def chosen(self, chosen: NDArray[np.bool_]) -> "_Pairs":
        return _Pairs(
            form=self.form[chosen],
            meaning=self.meaning[chosen],
            joint=self.joint[chosen],
            weight=self.weight[chosen],
        )


def induce(
    messages: Ragged, concepts: Ragged, whole: Ints, rng: np.random.Generator, shuffles: int
) -> MorphemeInventory:
    """Find the morphemes.

    Args:
        messages: Symbols without EOS.
        concepts: The concepts of each message, as ascending ids.
        whole: The id of the whole meaning of each message, from 0, (num_messages,).
        rng: Exchanges whole meanings.
        shuffles: Number of exchanges, from which the lowest weight of a pair follows.
    """
    forms, meanings = forms_of(messages), meanings_of(concepts)
    of_symbol, of_concept = (np.full(len(each.values), -1) for each in (messages, concepts))
    found: list[Morpheme] = []
    lowest, p_value = np.inf, 1.0
    while True:
        forms, meanings = forms.left(of_symbol < 0, whole), meanings.left(of_concept < 0, whole)
        pairs, by_chance, highest = _weights(forms, meanings, whole, rng, shuffles)
        least = _least(pairs.weight, by_chance, shuffles, is_first=not found)
        if least == np.inf:
            break
        if not found:
            p_value = _p_value(float(pairs.weight.max()), highest)
        lowest = min(lowest, least)
        _select(
            pairs.above(least), forms, meanings, (messages, of_symbol), (concepts, of_concept), least, found
        )
    return MorphemeInventory(
        morphemes=tuple(found),
        of_symbol=of_symbol,
        of_concept=of_concept,
        least_weight=float(lowest if found else by_chance.max(initial=0.0)),
        p_value=p_value,
    )


def induce_all(messages: Ragged, concepts: Ragged, whole: Ints) -> MorphemeInventory:
    """Find morphemes until nothing is left, as the authors' program does, including pairs that occur once.

    Args:
        messages: Symbols without EOS.
        concepts: The concepts of each message, as ascending ids.
        whole: The id of the whole meaning of each message, from 0, (num_messages,).
    """
    of_symbol, of_concept = (np.full(len(each.values), -1) for each in (messages, concepts))
    forms = forms_of(messages, least=1).left(of_symbol < 0, whole, recurring=False)
    meanings = meanings_of(concepts).left(of_concept < 0, whole, recurring=False)
    rows = np.arange(len(whole))
    pairs = _weighted(csr_array(forms.present(rows).T), meanings.present(rows), are_all=True)
    found: list[Morpheme] = []
    _select(pairs, forms, meanings, (messages, of_symbol), (concepts, of_concept), _ROUNDING, found)
    lowest = min((each.weight for each in found), default=0.0)
    return MorphemeInventory(
        morphemes=tuple(found), of_symbol=of_symbol, of_concept=of_concept, least_weight=lowest, p_value=1.0
    )


def pointwise_information(found: MorphemeInventory, messages: Ragged, concepts: Ragged) -> Floats:
    """Normalised pointwise mutual information (NPMI) of form and meaning of each morpheme, (num_morphemes,).

    ln(p(f, m) / (p(f) p(m))) / -ln p(f, m) (Bouma 2009), where p is the share of messages that contain the form, or
    that have all concepts of the meaning: 1 if neither occurs without the other, 0 if they are independent, or in all
    messages. Pairs that occur once have 1 in any language.
    """
    rows, places, values = row_of(messages), row_of(concepts), messages.values
    information = np.zeros(len(found.morphemes))
    for number, each in enumerate(found.morphemes):
        last = len(each.form) - 1
        starts = np.flatnonzero(values[: len(values) - last] == each.form[0])
        for offset, symbol in enumerate(each.form):
            starts = starts[values[starts + offset] == symbol]
        with_form = np.unique(rows[starts[rows[starts] == rows[starts + last]]])
        about = np.bincount(places[np.isin(concepts.values, each.meaning)], minlength=len(messages))
        with_meaning = np.flatnonzero(about == len(each.meaning))
        joint = len(np.intersect1d(with_form, with_meaning)) / len(messages)
        if 0 < joint < 1:
            ratio = joint * len(messages) ** 2 / (len(with_form) * len(with_meaning))
            information[number] = np.log(ratio) / -np.log(joint)
    return information


def _weights(
    forms: MorphemeUnits, meanings: MorphemeUnits, whole: Ints, rng: np.random.Generator, shuffles: int
) -> tuple[_Pairs, Floats, Floats]:
    """Remaining pairs; weights of all pairs after exchanges of whole meanings; the highest weight of each exchange."""
    rows = np.arange(len(whole))
    with_form = csr_array(forms.present(rows).T)
    with_meaning = meanings.present(rows)
    pairs = _weighted(with_form, with_meaning)
    if not len(pairs.weight):
        return pairs, np.zeros(0), np.zeros(0)
    members = np.argsort(whole, kind="stable")
    sizes = np.bincount(whole)
    starts, place = np.cumsum(sizes) - sizes, np.empty(len(whole), np.int64)
    place[members] = np.arange(len(whole)) - (np.cumsum(sizes) - sizes)[whole[members]]
    by_chance = []
    for _ in range(shuffles):
        other = rng.permutation(len(sizes))[whole]
        source = members[starts[other] + place % sizes[other]]
        by_chance.append(_weighted(with_form, with_meaning[source]).weight)
    return pairs, np.concatenate(by_chance), np.array([each.max(initial=0.0) for each in by_chance])


def _p_value(weight: float, highest: Floats) -> float:
    """Probability that another exchange reaches this weight, at most the p-value by ranks."""
    by_rank, spread = 1 / (1 + len(highest)), float(highest.std(ddof=1)) * np.sqrt(1 + 1 / len(highest))
    if spread < _ROUNDING:
        return by_rank
    return min(by_rank, student_tail((weight - highest.mean()) / spread, len(highest) - 1))


def _least(weights: Floats, by_chance: Floats, shuffles: int, *, is_first: bool) -> float:
    """Lowest weight of pairs of which at most `FALSE_SHARE` are expected without structure; infinite without any."""
    highest = by_chance.max(initial=0.0) + _ROUNDING
    if not len(weights) or (is_first and weights.max() <= highest):
        return np.inf
    found = np.sort(weights)[::-1]
    exceeding = len(by_chance) - np.searchsorted(np.sort(by_chance), found - _ROUNDING)
    good = np.flatnonzero(exceeding / shuffles <= FALSE_SHARE * np.arange(1, len(found) + 1))
    return float(found[good[-1]]) if len(good) else np.inf


def _select(
    pairs: _Pairs,
    forms: MorphemeUnits,
    meanings: MorphemeUnits,
    said: tuple[Ragged, Ints],
    meant: tuple[Ragged, Ints],
    least: float,
    found: list[Morpheme],
) -> None:
    """Select and ablate until no weight reaches `least`; marks symbols and concepts, and appends to `found`."""
    (messages, of_symbol), (concepts, of_concept) = said, meant
    num_rows = len(messages)
    rows = np.arange(num_rows)
    counts = [np.asarray(units.present(rows).sum(0), float) for units in (forms, meanings)]
    num_uses = np.zeros(len(forms.size), np.int64)
    joint, weights = pairs.joint.copy(), pairs.weight.copy()
    while len(weights) and weights.max() >= least:
        best = _best(pairs, weights, forms, meanings, num_uses)
        form, meaning = int(pairs.form[best]), int(pairs.meaning[best])
        num_uses[form] += 1
        in_form, at = forms.first_alive(form)
        in_meaning, about = meanings.first_alive(meaning)
        rows, at_form, at_meaning = np.intersect1d(
            in_form, in_meaning, assume_unique=True, return_indices=True
        )
        symbols, parts = forms.parts[at[at_form]], meanings.parts[about[at_meaning]]
        found.append(
            Morpheme(
                form=tuple(messages.values[symbols[0][: forms.size[form]]].tolist()),
                meaning=tuple(concepts.values[parts[0][: meanings.size[meaning]]].tolist()),
                weight=float(weights[best]),
                num_messages=len(rows),
            )
        )
        before = [units.present(rows) for units in (forms, meanings)]
        of_symbol[symbols], of_concept[parts] = len(found) - 1, len(found) - 1
        forms.remove(rows, of_symbol >= 0)
        meanings.remove(rows, of_concept >= 0)
        after = [units.present(rows) for units in (forms, meanings)]
        changed = []
        for count, old, new in zip(counts, before, after, strict=True):
            fewer = np.asarray(old.sum(0)) - np.asarray(new.sum(0))
            count -= fewer
            changed.append(fewer > 0)
        near = np.flatnonzero(changed[0][pairs.form] | changed[1][pairs.meaning])
        of_form, of_meaning = pairs.form[near], pairs.meaning[near]
        gone = csr_array(before[0].T @ before[1] - after[0].T @ after[1])
        joint[near] -= np.asarray(gone[of_form, of_meaning]).ravel()
        information = _information(joint[near], counts[0][of_form], counts[1][of_meaning], num_rows)
        weights[near] = np.minimum(weights[near], information)
        weights[best] = 0
        kept = weights >= least
        if kept.mean() < _KEPT:
            pairs, joint, weights = pairs.chosen(kept), joint[kept], weights[kept]


def _best(
    pairs: _Pairs, weights: Floats, forms: MorphemeUnits, meanings: MorphemeUnits, num_uses: Ints
) -> int:
    tied = np.flatnonzero(weights > weights.max() - _ROUNDING)
    form, meaning = pairs.form[tied], pairs.meaning[tied]
    first_weight = np.round(pairs.weight[tied] / _ROUNDING)
    order = np.lexsort(
        [form, meaning, meanings.size[meaning], -forms.size[form], num_uses[form], -first_weight]
    )
    return int(tied[order[0]])


def _weighted(with_form: csr_array, with_meaning: csr_array, *, are_all: bool = False) -> _Pairs:
    """Pairs that co-occur clearly more often than if independent, or all pairs that do so more often.

    A bound without logarithms excludes most pairs: mutual information is at most log2(1 + phi^2), where phi is the
    correlation of the two variables, as the Kullback-Leibler divergence is bounded by the chi-squared divergence.

    Args:
        with_form: Presence of each form in messages, (num_forms, num_messages).
        with_meaning: Presence of each meaning in messages, (num_messages, num_meanings).
        are_all: Include pairs that do so slightly, or in one message.
    """
    together = csr_array(with_form @ with_meaning)
    total = with_meaning.shape[0]
    form_counts, meaning_counts = np.asarray(with_form.sum(1)), np.asarray(with_meaning.sum(0))
    form_ends, meaning_ends = (each * (total - each) for each in (form_counts, meaning_counts))
    form = np.repeat(np.arange(together.shape[0]), np.diff(together.indptr))
    meaning, joint = together.indices, together.data
    excess = joint * total - form_counts[form] * meaning_counts[meaning]
    rare = min(1e-3, _LOOKED_AT / max(1, len(form_counts) * len(meaning_counts)))
    least = chdtri(1, rare) / (2 * total * np.log(2))  # Wilks 1938: 2 N times mutual information in nats
    may = (joint > 1) & (excess > 0) & (excess**2 >= (2**least - 1) * form_ends[form] * meaning_ends[meaning])
    may = excess > 0 if are_all else may
    form, meaning, joint = form[may].astype(np.int64), meaning[may].astype(np.int64), joint[may]
    weight = _information(joint, form_counts[form], meaning_counts[meaning], total)
    return _Pairs(form=form, meaning=meaning, joint=joint, weight=weight)


def _information(joint: Floats, first: Floats, second: Floats, total: float) -> Floats:
    """Mutual information of binary variables in bits; 0 for pairs that co-occur no more often than if independent.

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
