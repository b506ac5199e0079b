"""What came out of a study as the record table: a row for each value, the same columns for all benchmarks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.results.sources import Source
from ecsuite.files.atomic_files import write_atomically
from ecsuite.tables.cells import Cell
from ecsuite.tables.table import Column, Row, Table

CSV = ".csv"
"""The ending of a file that holds the record table instead of JSON."""


def record_table(sources: Sequence[Source]) -> Table:
    """The rows of `Source.rows` of all sources; a column that one of them lacks is empty there."""
    rows = [row for source in sources for row in source.rows()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table(
        columns=[Column(name) for name in names],
        rows=[Row(cells=tuple(_cell(row.get(name)) for name in names)) for row in rows],
    )


def write_records(file: Path, sources: Sequence[Source]) -> None:
    """Write the record table as CSV."""
    write_atomically(file, record_table(sources).csv().encode())


def _cell(value: Any) -> Cell:
    kept = value if isinstance(value, str | int | float | None) else str(value)
    return Cell(value=kept, lines=("" if kept is None else str(kept),))
