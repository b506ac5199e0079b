"""Files of tables, read as columns of texts: CSV, TSV, JSON, Parquet, and data sets of Hugging Face."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.formats.parquet_files import read_parquet
from ecsuite.formats.separated import read_rows
from ecsuite.formats.stored_text import read_text
from ecsuite.formats.strict_json import VALUES, parse_json
from ecsuite.games.worlds.hub_data import is_data_set, read_columns
from ecsuite.runtime.errors import ConfigError, missing_extra, shown

TABLES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
"""Endings of tables of objects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextTable:
    """The cells of a table as texts."""

    source: str
    """The file, or the name of the data set."""
    columns: Mapping[str, Sequence[str]]
    """The cells of each column by its name."""
    rows: Sequence[int]
    """The number of each row: from 1; where there is a header, that is row 1, as a spreadsheet counts."""

    def place(self, index: int, column: str) -> str:
        """Where a cell is, for messages."""
        return f'{self.source}: row {self.rows[index]}, column "{column}"'


def read_table(source: str) -> TextTable:
    """Read a table with a value in every cell.

    Args:
        source: `.csv` or `.tsv` with a header, `.json` (a list of objects, or of one a line), `.parquet`, or a data
            set of Hugging Face, `hf:NAME`.

    Raises:
        ConfigError: If it can't be read, or a cell has no value; the message names the row and the column.
    """
    file = Path(source)
    rows: Sequence[int] | None = None
    if is_data_set(source):
        columns: Mapping[str, Sequence[Any]] = read_columns(source)
    elif file.suffix not in TABLES:
        raise ConfigError(f"{source}: expected a table that ends in .csv, .tsv, .json, .parquet or .npz")
    elif file.suffix == ".parquet":
        columns = _parquet(file)
    elif file.suffix in (".json", ".jsonl"):
        columns = _records(file)
    else:
        columns, rows = _separated(file)
    texts = {name: [_as_text(cell) for cell in cells] for name, cells in columns.items()}
    number = len(next(iter(texts.values()), ()))
    if number < 2:
        raise ConfigError(f"{source}: expected a header and at least 2 objects, got {number}")
    table = TextTable(source=source, columns=texts, rows=range(1, number + 1) if rows is None else rows)
    missing = [(index, name) for index in range(number) for name in texts if texts[name][index] == ""]
    if missing:
        more = f", and {len(missing) - 1} more cells are empty" if len(missing) > 1 else ""
        raise ConfigError(f"{table.place(*missing[0])}: expected a value, got nothing{more}")
    return table


def _separated(file: Path) -> tuple[dict[str, list[str]], list[int]]:
    """The columns of a table with commas, semicolons or tabs, and the number of each row."""
    source = str(file)
    rows = read_rows(file, "\t" if file.suffix == ".tsv" else ",;\t")
    if not rows:
        raise ConfigError(f"{source}: is empty, expected a header and a row for each object")
    header = [name.strip() for name in rows[0][1]]
    if "" in header:
        raise ConfigError(
            f"{source}: row {rows[0][0]}: column {header.index('') + 1} has no name (pandas writes such a column of "
            "row numbers unless it is asked for to_csv(index=False))"
        )
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise ConfigError(f"{source}: row {rows[0][0]}: two columns have the name {twice}")
    if all(map(is_number, header)):
        raise ConfigError(
            f"{source}: row {rows[0][0]}: expected the names of the columns, got {', '.join(header)}"
        )
    wrong = [(number, len(row)) for number, row in rows[1:] if len(row) != len(header)]
    if wrong:
        more = f", and {len(wrong) - 1} more rows have not as many" if len(wrong) > 1 else ""
        raise ConfigError(
            f"{source}: row {wrong[0][0]}: expected {len(header)} values, as in the header, got {wrong[0][1]}{more}"
        )
    columns = {name: [row[place].strip() for _, row in rows[1:]] for place, name in enumerate(header)}
    return columns, [number for number, _ in rows[1:]]


def _records(file: Path) -> dict[str, list[Any]]:
    """The columns of JSON records."""
    source, text = str(file), read_text(file, factor=VALUES)
    if text.lstrip()[:1] == "[":
        found = parse_json(text, file)
    else:
        lines = enumerate(text.split("\n"), 1)
        found = [parse_json(line, file, number) for number, line in lines if line.strip()]
    if not isinstance(found, list) or not all(isinstance(record, Mapping) for record in found):
        raise ConfigError(f"{source}: expected a list of objects with named values")
    names = list(found[0]) if found else []
    for number, record in enumerate(found, 1):
        if set(record) != set(names):
            odd = sorted(set(record) ^ set(names))
            raise ConfigError(
                f"{source}: record {number}: expected the keys {', '.join(names)}, as in record 1; differs in "
                f"{', '.join(odd)}"
            )
        for name, value in record.items():
            if not isinstance(value, str | int | float | None):
                raise ConfigError(
                    f"{source}: record {number}: {name}: expected a text or a number, got {shown(value)}"
                )
    return {name: [record[name] for record in found] for name in names}


def _parquet(file: Path) -> dict[str, list[Any]]:
    """The columns of a Parquet file."""
    try:
        import pyarrow
    except ImportError:
        raise missing_extra(f"{file}: tables need pyarrow", "data") from None
    try:
        table = read_parquet(file)
        columns = {name: table[name].to_pylist() for name in table.column_names}
    except OSError as error:
        reason = error.strerror or "damaged"
        raise ConfigError(f"{file}: can't be read: {reason}") from None
    except (pyarrow.ArrowException, ValueError) as error:
        raise ConfigError(f"{file}: can't be read as Parquet: {error!s:.200}") from None
    for name, cells in columns.items():
        odd = next((cell for cell in cells if isinstance(cell, list | dict | bytes)), None)
        if odd is not None:
            raise ConfigError(
                f'{file}: column "{name}": expected texts or numbers, got {shown(odd)}; a data set of images is given '
                f"as its folder, hf:{file.parent}"
            )
    return columns


def _as_text(cell: Any) -> str:
    """A cell as text; empty where it has no value."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return str(cell).strip()


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
