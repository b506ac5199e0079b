"""Tables of cells with commas, semicolons or tabs between them, as lists of texts."""

import csv
import io
from pathlib import Path

from ecsuite.formats.stored_text import read_text
from ecsuite.runtime.errors import ConfigError

CELLS = 12.0
"""Bytes of memory for each byte of a table, whose cells are texts of their own."""


def read_rows(path: Path, delimiters: str) -> list[tuple[int, list[str]]]:
    """The rows of a table that have a cell with a text, each with its number, from 1, as a spreadsheet counts.

    Args:
        path: The file, in UTF-8.
        delimiters: What may stand between cells; the one that the first line has most is taken.

    Raises:
        ConfigError: If it can't be read as such a table; the message begins with the file and the line.
    """
    text = read_text(path, factor=CELLS)
    first = text.lstrip().split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(delimiters, key=first.count))
    try:
        return [(number, row) for number, row in enumerate(reader, 1) if any(map(str.strip, row))]
    except csv.Error as error:
        raise ConfigError(f"{path}:{reader.line_num}: can't be read as a table: {error}") from None
