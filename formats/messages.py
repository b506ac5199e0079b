"""Messages of a table's column: lists, or texts that are split into symbols."""

import shlex
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ecsuite.formats.cells import is_id, is_missing
from ecsuite.formats.line_errors import ErrorList, LineError, show
from ecsuite.formats.rows import ID_LIMIT, Rows
from ecsuite.formats.signs import SIGNS, have_spaces, parts_of, sign_between
from ecsuite.formats.strict_json import is_text
from ecsuite.formats.table import Table
from ecsuite.runtime.errors import ConfigError, CorpusError, shown
from ecsuite.runtime.ragged import Ragged

SPLITS = ("auto", "spaces", "letters")
"""At what a message that is a text is split; or at a sign, such as `,`."""


def check_split(split: object) -> None:
    """Refuse what is neither one of `SPLITS` nor a sign.

    Raises:
        ConfigError: With what was given.
    """
    is_sign = isinstance(split, str) and bool(split) and not any(c.isalnum() or c.isspace() for c in split)
    if split not in SPLITS and not is_sign:
        raise ConfigError(
            f"split: expected {', '.join(SPLITS)}, or the sign between symbols, such as , or -, got {shown(split)}"
        )


def messages_of(
    table: Table, columns: Sequence[str], split: str, notes: list[str]
) -> tuple[Ragged, tuple[str, ...] | None]:
    """Messages as symbols, and their names unless all are whole numbers as one writes them.

    Args:
        table: The table.
        columns: Name of the column of messages; or of several, which have one symbol each, in this order.
        split: At what a message that is a text is split.
        notes: Where what was guessed is added.

    Raises:
        CorpusError: If a cell is no message; one line with the place.
    """
    column, *others = columns
    if others:
        joined = _joined(table, columns)
        table = replace(table, columns={**table.columns, column: joined}, are_texts=False)
    cells = table.columns[column]
    if isinstance(cells, Ragged):
        return cells, None
    lacking = table.missing(column) if table.is_header else []
    if lacking:
        more = f", and {len(lacking) - 1:,} more rows" if len(lacking) > 1 else ""
        notes.append(f"{table.place(lacking[0])} has no message{more}: taken as empty messages")
    cells = _as_lists(table, column)
    how = _separator(table, column, cells, notes) if split == "auto" else split
    errors = ErrorList(
        table.source, "a message as a list of integers or of strings, or as a text", table.unit
    )
    rows = [_parsed(errors, table, place, cell, how) for place, cell in enumerate(cells)]
    errors.check()
    are_listed = any(isinstance(cell, list) and any(map(is_text, cell)) for cell in cells)
    if not are_listed and all(type(symbol) is int or is_id(symbol) for row in rows for symbol in row):
        numbers = [[int(symbol) for symbol in row] for row in rows]
        if max((symbol for row in numbers for symbol in row), default=0) < ID_LIMIT:
            return Ragged.from_rows(numbers), None
    named = Rows()
    named.extend([[str(symbol) for symbol in row] for row in rows])
    note_spellings(table, list(named.names), "symbols", notes)
    return named.ragged(), tuple(named.names)


def _joined(table: Table, columns: Sequence[str]) -> list[list[Any]]:
    """The symbols of several columns; empty cells at the end belong to no message.

    Raises:
        CorpusError: If a cell has several symbols, or none before one that has; one line with the place.
    """
    cells = [[_symbol(cell) for cell in table.values(name)] for name in columns]
    are_words = any(isinstance(cell, str) for column in cells for cell in column)
    rows = []
    for place, row in enumerate(map(list, zip(*cells, strict=True))):
        while row and row[-1] is None:
            row.pop()
        for column, cell in zip(columns, row, strict=False):
            if cell is None or isinstance(cell, list) or (are_words and len(str(cell).split()) > 1):
                got = "an empty cell before others" if cell is None else show(cell)
                listed = f"each of the {len(columns)} columns of the message"
                raise CorpusError(f"{table.place(place, column)}: expected one symbol in {listed}, got {got}")
        rows.append([str(cell) if are_words else cell for cell in row])
    return rows


def _symbol(cell: Any) -> Any:
    """A cell of one symbol; a whole number is one, as frames write those of columns that lack a value."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _as_lists(table: Table, column: str) -> Sequence[Any]:
    """The cells of messages: lists that are written as texts are lists, and other texts stay as they are.

    Of an answer by the name of its question, as jsPsych writes it, `{"Q0": "wa me"}`, the answer.
    """
    cells = [
        next(iter(cell.values()))
        if isinstance(cell, dict) and len(cell) == 1 and all(map(is_text, cell.values()))
        else cell
        for cell in replace(table, are_texts=False).values(column)
    ]
    return [("" if table.are_texts else []) if is_missing(cell) else cell for cell in cells]


def _parsed(errors: ErrorList, table: Table, place: int, cell: Any, how: str) -> list[Any]:
    found = errors.parse([cell], table.rows[place], lambda each: _symbols(each, how))
    return found[0] if found else []


def _symbols(cell: Any, how: str) -> list[Any]:
    """The symbols of a cell.

    Raises:
        LineError: If it is no message.
    """
    if isinstance(cell, str):
        if how == "letters":
            return [letter for letter in unicodedata.normalize("NFC", cell) if not letter.isspace()]
        return cell.split() if how == "spaces" else parts_of(cell, how)
    items = cell if isinstance(cell, list) else [cell]
    if any(type(item) is int and item >= ID_LIMIT for item in items):
        raise LineError(show(max(item for item in items if type(item) is int)), f"integers below {ID_LIMIT}")
    if any(isinstance(item, list) for item in items):
        raise LineError(show(cell), "a list of symbols, not of lists")
    is_words = bool(items) and is_text(items[0])
    for item in items:
        if not (is_text(item) if is_words else type(item) is int and item >= 0):
            raise LineError(show(item))
    return items


def _separator(table: Table, column: str, cells: Sequence[Any], notes: list[str]) -> str:
    """What stands between the symbols of texts: a sign where all have it, else spaces; a note where it is unclear."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    sign = sign_between(texts)
    if sign is None and not have_spaces(texts):
        place = f"{table.source}: column {column}" if table.is_header else table.source
        notes += [f"{place}: {note}" for note in _of_whole_texts(texts)]
    return sign or "spaces"


def _of_whole_texts(texts: Sequence[str]) -> list[str]:
    """What is said of messages of one symbol each."""
    most = max(SIGNS, key=lambda sign: sum(sign in text.strip(sign) for text in texts), default="")
    if any(most in text.strip(most) for text in texts):
        return [f"some messages have {most}; each is one symbol (--split {shlex.quote(most)} splits them)"]
    if sum(len(text) > 1 for text in texts) > len(texts) / 2 and len(set(texts)) > 1:
        return ["each message is one symbol (--split letters takes its letters as symbols)"]
    return []


def note_spellings(table: Table, names: Sequence[str], what: str, notes: list[str]) -> None:
    """Say where two symbols, or two values, look the same and are written with other characters."""
    forms: dict[str, str] = {}
    for name in names:
        other = forms.setdefault(unicodedata.normalize("NFC", name), name)
        if other != name:
            notes.append(
                f"{table.source}: {name} is there in two spellings (composed and decomposed letters), which are two "
                f"{what}"
            )
            return


def note_capitals(table: Table, names: Sequence[str], notes: list[str]) -> None:
    """Say where two values differ in capital letters alone, as typed ones do."""
    forms: dict[str, str] = {}
    for name in names:
        other = forms.setdefault(name.casefold(), name)
        if other != name:
            notes.append(f"{table.source}: {other} and {name} are two values")
            return
