"""Text files of symbols: a message a line with spaces between symbols, and CSV with or without a header."""

from collections.abc import Sequence
from pathlib import Path

from ecsuite.corpus import Corpus
from ecsuite.formats.records import CONCEPTS, MEANINGS, MESSAGES, NOT_ATTRIBUTES, from_columns
from ecsuite.formats.separated import read_rows
from ecsuite.formats.stored_text import read_lines
from ecsuite.runtime.errors import ConfigError, CorpusError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
"""Between the cells of a table, by the ending of the file's name."""


def is_plain_text(path: Path) -> bool:
    """Whether a file is one of symbols: `.csv`, `.tsv`, or a `.txt` that does not begin as JSON does."""
    if path.suffix.lower() in SEPARATORS:
        return path.is_file()
    if path.suffix.lower() != ".txt" or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"[", b'"', b"{")


def read_plain_text(path: Path) -> Corpus:
    """Read a `.txt` of symbols between spaces, or a table.

    A table whose header has one of `MESSAGES` holds messages as texts; its column `meaning`, or else all its other
    columns as attributes, are the meanings. A table without a header holds a message a row and an integer a cell.

    Raises:
        CorpusError: If the file holds no message, or a row is not of this form; one line that says what is.
    """
    try:
        if path.suffix.lower() == ".txt":
            lines = read_lines(path)
            _require(bool(lines), path.name, "empty file, expected a message a line, such as 3 1 4")
            return from_columns({"message": lines}, path, "text of symbols")
        rows = read_rows(path, SEPARATORS[path.suffix.lower()])
    except ConfigError as error:
        raise CorpusError(str(error)) from None
    _require(bool(rows), path.name, "empty file, expected a header with a column `message`, or integers")
    header = [cell.strip() for cell in rows[0][1]]
    if not set(header) & set(MESSAGES):
        return _without_header(rows, path)
    _require(len(rows) > 1, path.name, "a header and no rows, expected a message a row")
    _require(
        len(set(header)) == len(header), path.name, f"a column twice in the header: {', '.join(header):.100}"
    )
    for number, row in rows[1:]:
        _require(
            len(row) == len(header),
            f"{path.name}: row {number}",
            f"expected {len(header)} cells, got {len(row)}",
        )
    columns = {name: [row[place] for _, row in rows[1:]] for place, name in enumerate(header)}
    known = {*MESSAGES, *MEANINGS, CONCEPTS, *NOT_ATTRIBUTES}
    attributes = [name for name in header if name and name.lower() not in known]
    return from_columns(columns, path, "table with a header", attributes=attributes)


def _without_header(rows: Sequence[tuple[int, Sequence[str]]], path: Path) -> Corpus:
    """A message a row, an integer a cell; empty cells at the end belong to no message."""
    messages = []
    for number, row in rows:
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        bad = next((cell for cell in cells if not cell.isdecimal()), None)
        _require(
            bad is None,
            f"{path.name}: row {number}",
            f"expected integers, or a header with a column `message`; got {bad!r:.40}",
        )
        messages.append(" ".join(cells))
    return from_columns({"message": messages}, path, "table of integers")


def _require(condition: bool, place: str, message: str) -> None:
    if not condition:
        raise CorpusError(f"{place}: {message}")
