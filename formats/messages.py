"""Messages of a table's column: lists, or texts that are split into symbols."""

import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from ecsuite.formats.cells import is_id, is_missing
from ecsuite.formats.line_errors import ErrorList, LineError, show
from ecsuite.formats.rows import ID_LIMIT, Rows
from ecsuite.formats.strict_json import is_text
from ecsuite.formats.table import Table
from ecsuite.runtime.ragged import Ragged

Split = Literal["auto", "spaces", "commas", "hyphens", "letters"]


def messages_of(
    table: Table, column: str, split: Split, notes: list[str]
) -> tuple[Ragged, tuple[str, ...] | None]:
    """Messages of a column as symbols, and their names unless all are whole numbers as one writes them.

    Args:
        table: The table.
        column: Name of the column.
        split: At what a message that is a text is split.
        notes: Where what was guessed is added.

    Raises:
        CorpusError: If a cell is no message; one line with the place.
    """
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


def _as_lists(table: Table, column: str) -> Sequence[Any]:
    """The cells of messages: lists that are written as texts are lists, and other texts stay as they are."""
    from_texts = replace(table, are_texts=False)
    return [
        ("" if table.are_texts else []) if is_missing(cell) else cell for cell in from_texts.values(column)
    ]


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
        separator = {"commas": ",", "hyphens": "-"}.get(how)
        return (
            cell.split()
            if separator is None
            else [each.strip() for each in cell.split(separator) if each.strip()]
        )
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
    """What stands between the symbols of texts: spaces, where any has one; commas or hyphens, where all have."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    if not texts:
        return "spaces"
    have_spaces = any(" " in text or "\t" in text or len(text.split()) > 1 for text in texts)
    have_commas = sum("," in text.strip(",") for text in texts)
    if have_commas and (
        not have_spaces or all(text.count(",") == text.count(", ") for text in texts if "," in text)
    ):
        if have_commas > len(texts) / 2 or all(
            part.strip().isdecimal() for text in texts for part in text.split(",")
        ):
            return "commas"
    if have_spaces:
        return "spaces"
    parts = [text.split("-") for text in texts]
    if all(len(each) > 1 and all(each) for each in parts) or (
        any(len(each) > 1 for each in parts) and all(part.isdecimal() for each in parts for part in each)
    ):
        return "hyphens"
    place = f"{table.source}: column {column}" if table.is_header else table.source
    if any(len(each) > 1 for each in parts):
        notes.append(f"{place}: some messages have hyphens; each is one symbol (--split hyphens splits them)")
    elif sum(len(text) > 1 for text in texts) > len(texts) / 2 and len(set(texts)) > 1:
        notes.append(f"{place}: each message is one symbol (--split letters takes its letters as symbols)")
    return "spaces"


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
