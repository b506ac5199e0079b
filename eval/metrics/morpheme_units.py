"""Forms and meanings that may make a morpheme, and where they are in messages, while parts of these are removed."""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ecsuite.eval.counts.counting import row_of
from ecsuite.eval.statistics.contingency import Ints, renumbered
from ecsuite.runtime.ragged import Ragged

MAX_FORM = 6
"""Most symbols of a form."""
MAX_MEANING = 3
"""Most concepts of a meaning; 2 where some message is about more than `MAX_CONCEPTS`."""
MAX_CONCEPTS = 10
"""A message that is about more has too many sets of three."""


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

    def left(self, is_left: NDArray[np.bool_], whole: Ints, *, recurring: bool = True) -> "Units":
        """What is left: occurrences whose parts are, of units that still occur with two different whole meanings.

        Args:
            is_left: Of each symbol or concept of all messages.
            whole: The number of the whole meaning of each message.
            recurring: False: also of units that occur with one whole meaning only.
        """
        chosen = is_left[self.parts].all(1)
        rest = Units(row=self.row[chosen], unit=self.unit[chosen], parts=self.parts[chosen], size=self.size)
        occurs = _recurs(rest, whole) if recurring else np.bincount(rest.unit, minlength=len(rest.size)) > 0
        rest = rest.kept(occurs)
        rest.index(len(whole))
        return rest

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


def forms_of(messages: Ragged, least: int = 2) -> Units:
    """All n-grams of messages of up to `MAX_FORM` symbols that occur so often."""
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
    """Most concepts of a meaning of these."""
    return MAX_MEANING if concepts.lengths.max(initial=0) <= MAX_CONCEPTS else 2


def num_meanings(concepts: Ragged) -> int:
    """How many sets of up to `largest_meaning` concepts all messages together have."""
    lengths = concepts.lengths.astype(float)  # which do not overflow
    sizes = [np.ones_like(lengths)]
    for number in range(1, largest_meaning(concepts) + 1):
        sizes.append(sizes[-1] * np.maximum(0, lengths - number + 1) / number)
    return int(sum(each.sum() for each in sizes[1:]))


def meanings_of(concepts: Ragged) -> Units:
    """All sets of up to `largest_meaning` concepts of the meanings."""
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
    """A table of ones at these places, which may repeat, and zeros elsewhere."""
    table = csr_array((np.ones(len(rows)), (rows, columns)), shape=(num_rows, num_columns))
    table.data[:] = 1
    return table


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
