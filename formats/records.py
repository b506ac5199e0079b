"""Messages and meanings as other people write them: records, texts of symbols, and named columns."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus, Ragged
from ecsuite.formats.blocks import chunks
from ecsuite.formats.line_errors import ErrorList, LineError, show, show_line
from ecsuite.formats.rows import ID_LIMIT, Rows
from ecsuite.formats.strict_json import decode, is_text
from ecsuite.runtime.errors import CorpusError

MESSAGES = ("messages", "message", "tokens", "text")
"""Names of columns and keys that hold messages; the first that is there is read."""
MEANINGS = ("meanings", "meaning")
"""Names of those that hold meanings."""
CONCEPTS = "concepts"
"""The name of that which holds sets of concepts."""
NOT_ATTRIBUTES = ("id", "index", "split", "speaker")
"""Columns of a CSV file that are no attributes."""
_INTEGER = re.compile(r"\d{1,10}")
_RECORD = 'an object such as {"message": [3, 1, 4], "meaning": {"color": "red"}}'


def is_record(values: list[Any]) -> bool:
    """Whether a line of JSON values is an object with a message."""
    return len(values) == 1 and isinstance(values[0], dict) and _first(MESSAGES, values[0]) is not None


def read_records(path: Path) -> Corpus:
    """Read a JSON object a line, with a message and perhaps a meaning and concepts; other keys are left out.

    Args:
        path: The file.

    Raises:
        CorpusError: If a line has no message, or messages or meanings differ in kind.
    """
    errors, rows = ErrorList(path, _RECORD), list[dict[str, Any]]()
    for number, lines in chunks(path):
        rows += errors.parse(lines[:-1].split(b"\n"), number, _record)
    errors.check()
    columns = {
        key: [row.get(key) for row in rows] for key in dict.fromkeys(key for row in rows for key in row)
    }
    return from_columns(columns, path, "jsonl of records")


def _record(line: bytes) -> dict[str, Any]:
    values = decode(line)
    if not is_record(values):
        raise LineError(show_line(values))
    record: dict[str, Any] = values[0]
    return record


def from_columns(
    columns: Mapping[str, Sequence[Any]], path: Path, about: str, *, attributes: Sequence[str] = ()
) -> Corpus:
    """A corpus of the columns of a table.

    Args:
        columns: Values by column, one of `MESSAGES` among them.
        path: Of the file, for messages.
        about: What the file is, for the metadata.
        attributes: Columns that are attributes, if none of `MEANINGS` is there.

    Raises:
        CorpusError: If the values of a column differ in kind, or are none that can be read.
    """
    key = _first(MESSAGES, columns)
    assert key is not None
    messages, names = read_messages(columns[key], path)
    known = read_meanings(columns, path, attributes=attributes)
    metadata = {"source_format": about}
    return Corpus(messages=messages, symbol_names=names, metadata=metadata, **known)


def read_messages(values: Sequence[Any], path: Path) -> tuple[Ragged, tuple[str, ...] | None]:
    """Messages as symbols, and their names unless all are integers.

    Args:
        values: For each message a list of integers or strings, or a text with spaces between symbols.
        path: Of the file, for messages.
    """
    errors = ErrorList(path, "a message as a list of integers or of strings, or as a text")
    rows = errors.parse(values, 1, _symbols)
    errors.check()
    if all(isinstance(symbol, int) or _is_id(symbol) for row in rows for symbol in row):
        return Ragged.from_rows([[int(symbol) for symbol in row] for row in rows]), None
    named = Rows()
    named.extend([[str(symbol) for symbol in row] for row in rows])
    return named.ragged(), tuple(named.names)


def _symbols(value: Any) -> list[Any]:
    if isinstance(value, str):
        return value.split()
    if type(value) is int:
        value = [value]
    is_ids = isinstance(value, list) and all(type(item) is int and 0 <= item < ID_LIMIT for item in value)
    if is_ids or (isinstance(value, list) and all(map(is_text, value))):
        return list(value)
    raise LineError(show(value))


def _is_id(symbol: str) -> bool:
    return _INTEGER.fullmatch(symbol) is not None and int(symbol) < ID_LIMIT


def read_meanings(
    columns: Mapping[str, Sequence[Any]], path: Path, *, attributes: Sequence[str] = ()
) -> dict[str, Any]:
    """Meanings and concepts of a table, as arguments of `Corpus`; empty if it has none.

    Args:
        columns: Values by column.
        path: Of the file, for messages.
        attributes: Columns that are attributes, if none of `MEANINGS` is there.
    """
    known: dict[str, Any] = {}
    key = _first(MEANINGS, columns)
    if key is not None:
        known = _from_values(columns[key], path)
    elif attributes:
        rows = zip(*(columns[name] for name in attributes), strict=True)
        known = _from_values([dict(zip(attributes, row, strict=True)) for row in rows], path)
    if CONCEPTS in columns:
        errors = ErrorList(path, "concepts as a list of strings, or as a text")
        known |= _named(errors.parse(columns[CONCEPTS], 1, _texts))
        errors.check()
    return known


def _from_values(values: Sequence[Any], path: Path) -> dict[str, Any]:
    """Meanings of one kind: named attributes, vectors, texts or single values."""
    first = values[0]
    if isinstance(first, dict):
        return _from_attributes(values, path)
    errors = ErrorList(path, f"a meaning like the first, {show(first)}")
    rows = errors.parse(values, 1, lambda value: _vector(value, first))
    errors.check()
    lengths = {len(row) for row in rows}
    if all(isinstance(item, str) for row in rows for item in row) and (
        len(lengths) > 1 or all("=" in item for row in rows for item in row)
    ):
        return _named(rows)
    if len(lengths) > 1:
        raise CorpusError(
            f"{path.name}: expected meanings of one length, got {', '.join(map(str, sorted(lengths)))}"
        )
    return {"meanings": np.array(rows)}


def _vector(value: Any, first: Any) -> list[Any]:
    """A meaning as a list of numbers or of strings."""
    if isinstance(value, str):
        items: list[Any] = value.split()
        return [int(item) for item in items] if items and all(map(_is_id, items)) else items
    items = value if isinstance(value, list) else [value]
    kinds = {str} if all(map(is_text, items)) else {int, float}
    same = isinstance(value, list) == isinstance(first, list)
    if not same or not all(type(item) in kinds and (kinds == {str} or np.isfinite(item)) for item in items):
        raise LineError(show(value))
    return items


def _from_attributes(values: Sequence[Any], path: Path) -> dict[str, Any]:
    """Named attributes: concepts such as `color=red`, and vectors where every meaning has the same names."""
    errors = ErrorList(path, "a meaning as an object of attributes with texts or numbers")

    def parse(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or any(isinstance(item, list | dict) for item in value.values()):
            raise LineError(show(value))
        return {name: item for name, item in value.items() if item is not None and item != ""}

    rows = errors.parse(values, 1, parse)
    errors.check()
    known = _named([[f"{name}={item}" for name, item in row.items()] for row in rows])
    names = list(rows[0])
    if names and all(row.keys() == set(names) for row in rows):
        vectors = [[row[name] for name in names] for row in rows]
        is_whole = all(type(item) is int for row in vectors for item in row)
        known["meanings"] = np.array(
            vectors if is_whole else [[str(item) for item in row] for row in vectors]
        )
    return known


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return value.split()
    if isinstance(value, list) and all(map(is_text, value)):
        return value
    raise LineError(show(value))


def _named(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Concepts by their names."""
    found = Rows()
    found.extend(rows)
    return {"concepts": found.ragged(), "concept_names": tuple(found.names)}


def _first(names: Sequence[str], there: Mapping[str, Any]) -> str | None:
    return next((name for name in names if name in there), None)
