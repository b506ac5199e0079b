"""A table: named columns of cells, however they were written, with the place of each row; rows of symbol ids."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.formats.cells import is_decimal, is_missing, plain_cells, typed, unfolded
from ecsuite.formats.strict_json import LineError, place_of
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion, joined, unknown_name
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged

NO_EOS = "\0"
"""Value of `RawTable.eos` where a file says that its messages have none; no symbol is called so."""
Arrays = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""Flat values, and lengths of rows."""
Cells = Sequence[Any] | Ragged
"""Values of a column: texts, numbers, truth values, lists, mappings, None; or symbol ids of messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawTable:
    """The content of a file or a frame."""

    source: str
    """Its name, for messages."""
    about: str
    """Its form in words: `table with a header`."""
    columns: Mapping[str, Cells]
    """The cells by column; all columns have as many."""
    rows: Sequence[int]
    """The number of each row in the file: of lines from 1; a header is row 1, as a spreadsheet counts."""
    unit: str = "row"
    """The word for a row: row, or line."""
    is_header: bool = True
    """Whether the names of the columns are of the file; else they are ours, such as `message`, or numbers."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Roles that the file itself says."""
    eos: str | None = None
    """EOS as the file itself says it: a symbol, or `NO_EOS`; None: it says nothing."""
    are_texts: bool = False
    """Whether cells are texts whose types are found, as in CSV."""
    has_decimal_comma: bool = False
    """Whether `2,5` is a number."""
    layout: str | None = None
    """The name of the layout by which its rows and roles were found."""
    has_na: bool = False
    """Whether texts are in quotes, and NA without quotes is there, which is an empty cell here."""
    unclear: ReadingQuestion | None = None
    """A question that is asked unless the user says how messages are split."""
    notes: tuple[str, ...] = ()
    """Notes about what of the file was left out."""

    def __post_init__(self) -> None:
        """Make the names safe to print."""
        object.__setattr__(self, "source", printable(self.source))
        for field_name, named in (("roles", self.roles), ("columns", self.columns)):
            object.__setattr__(self, field_name, {printable(name): value for name, value in named.items()})

    def place(self, index: int, column: str | None = None) -> str:
        """The position of a row or a cell, for messages."""
        where = place_of(self.source, self.unit, self.rows[index])
        return where if column is None or not self.is_header else f"{where}, column {column}"

    def values(self, name: str, *, is_strict: bool = True) -> Sequence[Any]:
        """The cells of a column with their types: lists that are written as texts, too, and None for no value.

        Args:
            name: The column.
            is_strict: Whether a text among lists is an error; else all are texts then.

        Raises:
            CorpusError: If a cell can't be read; the message names its place.
        """
        cells = self.columns[name]
        if isinstance(cells, Ragged):
            return [cells[row].tolist() for row in range(len(cells))]
        if self.are_texts:
            comma = self.has_decimal_comma
            return self._read(name, lambda texts: typed(texts, has_decimal_comma=comma, is_strict=is_strict))
        return self._read(name, lambda cells: unfolded(cells, is_strict=is_strict))

    def plain(self) -> "RawTable":
        """The table with cells of NumPy, pandas or Arrow as JSON has them.

        Raises:
            CorpusError: If an integer has more than 64 bits; the message names its place.
        """
        columns = {
            name: cells if isinstance(cells, Ragged) else self._read(name, plain_cells)
            for name, cells in self.columns.items()
        }
        return replace(self, columns=columns)

    def _read(self, name: str, read: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """The cells of a column by a function, whose error has a place."""
        cells = self.columns[name]
        assert not isinstance(cells, Ragged)
        try:
            return read(cells)
        except LineError as error:
            raise CorpusError(
                f"{self.place(error.place, name)}: expected {error.expected}, got {error.got}"
            ) from None

    def missing(self, name: str) -> list[int]:
        """The places of the cells of a column that have no value."""
        cells = self.columns[name]
        return (
            []
            if isinstance(cells, Ragged)
            else [place for place, cell in enumerate(cells) if is_missing(cell)]
        )

    def with_part(self, name: str) -> "RawTable | None":
        """The table with the parts of an object column as columns, `response.word`; None if there is no such part.

        A column of this name is that column.
        """
        if name in self.columns:
            return self
        starts = (name[:place] for place, sign in enumerate(name) if sign == ".")
        column = max(filter(self.columns.__contains__, starts), key=len, default="")
        path = name.removeprefix(f"{column}.")
        cells = self.columns.get(column, ())
        if not column or isinstance(cells, Ragged):
            return None
        objects = [_as_object(cell) if self.are_texts else cell for cell in cells]
        objects = [each if isinstance(each, dict) else {} for each in objects]
        keys = dict.fromkeys(str(key) for each in objects for key in each)
        if not any(path == key or path.startswith(f"{key}.") for key in keys):
            return None
        parts: dict[str, list[Any]] = {key: [each.get(key) for each in objects] for key in keys}
        if self.are_texts:
            parts = {
                key: [
                    part
                    if isinstance(part, str)
                    else ""
                    if part is None
                    else json.dumps(part, ensure_ascii=False)
                    for part in own
                ]
                for key, own in parts.items()
            }
        columns: dict[str, Cells] = {}
        for own, own_cells in self.columns.items():
            columns |= {f"{column}.{key}": parts[key] for key in keys} if own == column else {own: own_cells}
        roles = {key: role for key, role in self.roles.items() if key != column}
        return replace(self, columns=columns, roles=roles).with_part(name)

    def chosen(self, where: Sequence[str]) -> "RawTable":
        """The rows that all conditions choose, such as `color=red`, `trial_type!=fixation`, or `word!=` for any word.

        Raises:
            ConfigError: If one is not written so.
            CorpusError: If there is no such column, or no such row.
        """
        found = self
        for condition in where:
            name, is_not, value = parse_condition(condition)
            table = found.with_part(name)
            if table is None:
                raise unknown_name("column", name, self.columns)
            cells = table.columns[name]
            if isinstance(cells, Ragged):
                raise CorpusError(f"--where {condition}: {name} has the messages of {self.source}")
            places = [place for place, cell in enumerate(cells) if is_written(cell, value) != is_not]
            if not places:
                known = joined(list(dict.fromkeys(map(str, cells)))[:10])
                raise CorpusError(
                    f"no message with {name} {'other than ' if is_not else ''}{value}; {name} is one of {known}"
                )
            found = found.with_rows(places)
        return found

    def with_rows(self, places: Sequence[int]) -> "RawTable":
        """These rows alone."""
        kept: dict[str, Cells] = {
            name: cells.take(np.asarray(places, np.int64))
            if isinstance(cells, Ragged)
            else [cells[place] for place in places]
            for name, cells in self.columns.items()
        }
        return replace(self, columns=kept, rows=[self.rows[place] for place in places])


def more(places: Sequence[Any], start: str = ", and", what: str = "rows") -> str:
    """How many places there are beside the first: `, and 2 more rows`; nothing if there is one."""
    return f"{start} {len(places) - 1:,} more {what}" if len(places) > 1 else ""


def _as_object(text: Any) -> Any:
    """The mapping that a text writes as JSON; anything else as it is."""
    try:
        return json.loads(text) if isinstance(text, str) and text[:1] == "{" else text
    except (ValueError, RecursionError):
        return text


def parse_condition(text: str) -> tuple[str, bool, str]:
    """Column, whether the value is excluded, and value of `COLUMN=VALUE` or `COLUMN!=VALUE`.

    Raises:
        ConfigError: If it is written otherwise.
    """
    name, equals, value = text.partition("=")
    is_not = name.endswith("!")
    name = name.removesuffix("!").strip()
    if not equals or not name:
        raise ConfigError(f"--where {text}: expected COLUMN=VALUE, such as split=held_out, or COLUMN!=VALUE")
    return name, is_not, value


def is_written(cell: Any, value: str) -> bool:
    """Whether a cell is what a user writes so: the text, the number, or nothing for an empty cell."""
    if is_missing(cell) or not value:
        return is_missing(cell) and not value
    if str(cell) == value or (isinstance(cell, bool) and str(cell).lower() == value):
        return True
    return is_decimal(str(cell)) and is_decimal(value) and float(str(cell)) == float(value)


class Rows:
    """An append-only list of rows. Strings are mapped to ids in order of first appearance."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = {name: index for index, name in enumerate(names)}
        self.arrays: list[Arrays] = [(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))]

    def extend(self, rows: Sequence[Sequence[int | str]]) -> None:
        """Add rows of ids or strings."""
        names = self.names
        flat = chain.from_iterable(rows)
        ids = [names.setdefault(item, len(names)) if isinstance(item, str) else item for item in flat]
        lengths = [len(row) for row in rows]
        self.arrays.append((np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int32)))

    def ragged(self) -> Ragged:
        """All rows so far."""
        values, lengths = zip(*self.arrays, strict=True)
        return Ragged.from_lengths(np.concatenate(values, dtype=np.int32), np.concatenate(lengths))
