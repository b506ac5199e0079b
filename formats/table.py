"""Tables: named columns of cells from any format, with row numbers for messages; rows of symbol ids."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.formats.cells import is_decimal, is_missing, literal, looks_literal, plain_cells, typed, unfolded
from ecsuite.formats.signs import joined_columns, named_values
from ecsuite.formats.strict_json import LineError, place_of, show
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion, joined, unknown_name
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged

NO_EOS = "\0"
"""Value of `RawTable.eos` if the file declares that there is no EOS; never the name of a symbol."""
Arrays = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]
"""Concatenated values, and lengths of rows."""
Cells = Sequence[Any] | Ragged
"""Values of a column: texts, numbers, Booleans, lists, mappings, None; or symbol ids of messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RawTable:
    """The content of a file or a frame."""

    source: str
    """Name of the file or frame in messages."""
    about: str
    """Format in words: `table with a header`."""
    columns: Mapping[str, Cells]
    """Cells by column; all columns have the same length."""
    rows: Sequence[int]
    """Row numbers in the file from 1; a header is row 1, as in spreadsheets."""
    unit: str = "row"
    """The word for a row: row, or line."""
    is_header: bool = True
    """Whether the file names its columns; otherwise their names are assigned, such as `message`, or numbers."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Roles that the file declares."""
    eos: str | None = None
    """EOS that the file declares: a symbol, or `NO_EOS`; None: not declared."""
    are_texts: bool = False
    """Whether cells are texts whose types are inferred, as in CSV."""
    has_decimal_comma: bool = False
    """Whether `2,5` is a number."""
    layout: str | None = None
    """Name of the layout that determined rows and roles."""
    has_na: bool = False
    """Whether the file has quoted texts and unquoted NA, which was read as an empty cell."""
    unclear: ReadingQuestion | None = None
    """A question that is raised unless the user sets how messages are split."""
    notes: list[str] = field(default_factory=list)
    """Notes on excluded rows and inferred properties, extended while the table is read."""

    def __post_init__(self) -> None:
        """Make the names safe to print."""
        object.__setattr__(self, "source", printable(self.source))
        for field_name, named in (("roles", self.roles), ("columns", self.columns)):
            object.__setattr__(self, field_name, {printable(name): value for name, value in named.items()})

    def place(self, index: int, column: str | None = None) -> str:
        """The position of a row or a cell."""
        where = place_of(self.source, self.unit, self.rows[index])
        return where if column is None or not self.is_header else f"{where}, column {column}"

    def error(self, index: int, expected: str, got: object, column: str | None = None) -> CorpusError:
        """The error of a row or a cell."""
        return CorpusError(f"{self.place(index, column)}: expected {expected}, got {show(got)}")

    def note(self, text: str) -> None:
        """Add a note about the table."""
        self.notes.append(f"{self.source}: {text}")

    def values(self, name: str, *, is_strict: bool = True) -> Sequence[Any]:
        """Cells of a column with inferred types, including lists that are written as texts; None: missing value.

        If texts and lists are mixed, strict reading raises an error, and other reading returns texts.
        """
        cells = self.columns[name]
        if isinstance(cells, Ragged):
            return [cells[row].tolist() for row in range(len(cells))]
        read = partial(typed, has_decimal_comma=self.has_decimal_comma) if self.are_texts else unfolded
        found: list[Any] = self._read(name, partial(read, is_strict=is_strict))
        return found

    def plain(self) -> "RawTable":
        """The table with cells of NumPy, pandas or Arrow as JSON has them."""
        return replace(self, columns={name: self._read(name, plain_cells) for name in self.columns})

    def _read(self, name: str, read: Callable[[Sequence[Any]], list[Any]]) -> Any:
        cells = self.columns[name]
        try:
            return cells if isinstance(cells, Ragged) else read(cells)
        except LineError as error:
            place = self.place(error.place, name)
            raise CorpusError(f"{place}: expected {error.expected}, got {error.got}") from None

    def missing(self, name: str) -> list[int]:
        """Indices of the rows without a value in a column."""
        cells = self.columns[name]
        places = () if isinstance(cells, Ragged) else enumerate(cells)
        return [place for place, cell in places if is_missing(cell)]

    def with_part(self, name: str) -> "RawTable | None":
        """Add a column that is a part of another column, if necessary; None if there is no such part.

        Parts of objects, lists and texts are `response.word`, `response.0`; `objects.target` is the item of the list
        `objects` with the index `target`; `color` joins `color_red` and `color_blue`.
        """
        if name in self.columns:
            return self
        bits = {each: self.values(each, is_strict=False) for each in self.columns if each.startswith(name)}
        if name in (found := joined_columns(bits)):
            places = {each: each if each in found else name for each in bits}
            whole = {places.get(each, each): cells for each, cells in self.columns.items()}
            return replace(self, columns=whole | {name: found[name]})
        starts = (name[:place] for place, sign in enumerate(name) if sign == ".")
        column = max(filter(self.columns.__contains__, starts), key=len, default="")
        path = name.removeprefix(f"{column}.")
        cells = self.columns.get(column, ())
        if not column or isinstance(cells, Ragged):
            return None
        if path in self.columns and (indices := indices_of(self, path, column)) is not None:
            items = self.values(column, is_strict=False)
            chosen = [items[row][index] for row, index in enumerate(indices)]
            texts = list(map(_as_text, chosen)) if self.are_texts else chosen
            return replace(self, columns={**self.columns, name: texts})
        objects = _objects(cells)
        keys = dict.fromkeys(key for each in objects for key in each)
        if not any(path == key or path.startswith(f"{key}.") for key in keys):
            return None
        parts: dict[str, list[Any]] = {key: [each.get(key) for each in objects] for key in keys}
        if self.are_texts:
            parts = {key: list(map(_as_text, own)) for key, own in parts.items()}
        columns: dict[str, Cells] = {}
        for own, own_cells in self.columns.items():
            columns |= {f"{column}.{key}": parts[key] for key in keys} if own == column else {own: own_cells}
        roles = {key: role for key, role in self.roles.items() if key != column}
        return replace(self, columns=columns, roles=roles).with_part(name)

    def chosen(self, where: Sequence[str]) -> "RawTable":
        """Select rows by conditions such as `color=red`, `trial_type!=fixation`, or `word!=` for any word."""
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
                known, other = joined(list(dict.fromkeys(map(str, cells)))[:10]), "other than " * is_not
                raise CorpusError(f"no message with {name} {other}{value}; {name} is one of {known}")
            found = found.with_rows(places)
        return found

    def with_rows(self, places: Sequence[int]) -> "RawTable":
        """Select rows by index."""
        columns = dict(self.columns)
        for name, cells in self.columns.items():
            if isinstance(cells, Ragged):
                columns[name] = cells.take(np.asarray(places, np.int64))
            else:
                columns[name] = [cells[place] for place in places]
        return replace(self, columns=columns, rows=[self.rows[place] for place in places])


def indices_of(table: RawTable, name: str, lists: str) -> list[int] | None:
    """The cells of a column if each is the index of an item of the list in another column; otherwise None."""
    if isinstance(table.columns[lists], Ragged) or isinstance(table.columns[name], Ragged):
        return None
    rows, items = table.values(name, is_strict=False), table.values(lists, is_strict=False)
    are_indices = all(
        isinstance(row, int) and not isinstance(row, bool) and isinstance(item, list) and 0 <= row < len(item)
        for row, item in zip(rows, items, strict=True)
    )
    return list(rows) if are_indices and any(len(item) > 1 for item in items) else None


def more(places: Sequence[Any], start: str = ", and", what: str = "rows") -> str:
    """Text for further places after the first: `, and 2 more rows`; empty for one place."""
    return f"{start} {len(places) - 1:,} more {what}" if len(places) > 1 else ""


def _objects(cells: Sequence[Any]) -> list[dict[str, Any]]:
    """Parts of each cell by name if it is an object or a list, or a text of one; otherwise an empty mapping."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    named: dict[str, Any] = dict(zip(texts, named_values(texts) or (), strict=False))
    values = [named.get(cell) or _as_object(cell) if isinstance(cell, str) else cell for cell in cells]
    values = [dict(enumerate(each)) if isinstance(each, list) else each for each in values]
    return [{str(key): each[key] for key in each} if isinstance(each, dict) else {} for each in values]


def _as_object(text: str) -> Any:
    for read in (json.loads, literal) if looks_literal(text) else ():
        with suppress(ValueError, RecursionError, LineError):
            return read(text)
    return None


def _as_text(value: Any) -> str:
    """Convert a value to a text cell: texts unchanged, None to an empty text, other values to JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def parse_condition(text: str) -> tuple[str, bool, str]:
    """Parse `COLUMN=VALUE` or `COLUMN!=VALUE` into column, whether the value is excluded, and value."""
    name, equals, value = text.partition("=")
    is_not = name.endswith("!")
    name = name.removesuffix("!").strip()
    if not equals or not name:
        raise ConfigError(f"--where {text}: expected COLUMN=VALUE, such as split=held_out, or COLUMN!=VALUE")
    return name, is_not, value


def is_written(cell: Any, value: str) -> bool:
    """Whether a cell equals a value on the command line: a text, a number, or empty for an empty cell."""
    if is_missing(cell) or not value:
        return is_missing(cell) and not value
    if str(cell) == value or (isinstance(cell, bool) and str(cell).lower() == value):
        return True
    return is_decimal(str(cell)) and is_decimal(value) and float(str(cell)) == float(value)


def columns_of(rows: Sequence[Mapping[Any, Any]], default: Any = None) -> dict[Any, Any]:
    """Convert rows to columns; missing keys get the default."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key, default) for row in rows] for key in keys}


class Rows:
    """An append-only list of rows; strings are mapped to ids in order of first appearance."""

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
