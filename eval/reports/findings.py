"""What a study or a comparison found, for Python and notebooks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

from rich.console import Console

from ecsuite.eval.reports.console import Report
from ecsuite.tables.table import as_frame

ROWS = ("rows", "differences", "scores", "sources")
"""Keys of the lists in the results of the commands, of which the first that has something is the frame."""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Findings(Mapping[str, Any]):
    """A mapping with the keys of the command's `--json`; it prints as the command's tables and notes."""

    report: Report
    """The tables, notes and data."""

    def __getitem__(self, key: str) -> Any:
        """What is behind a key of the JSON, such as `rows`."""
        return self.report.data[key]

    def __iter__(self) -> Iterator[str]:
        """The keys of the JSON."""
        return iter(self.report.data)

    def __len__(self) -> int:
        """Number of keys."""
        return len(self.report.data)

    def __str__(self) -> str:
        """The tables and notes as text."""
        console = Console(file=StringIO(), width=100)
        for table in self.report.tables:
            console.print(table)
        lines = [console.file.getvalue(), *self.report.notes]  # type: ignore[attr-defined]
        return "\n".join(line.rstrip() for line in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def to_frame(self) -> Any:
        """A `pandas.DataFrame` with a row for each model and grammar, or each difference.

        Raises:
            ConfigError: If pandas is not installed.
        """
        rows: list[Any] = next((self[key] for key in ROWS if self.get(key)), [])
        return as_frame([each for row in rows for each in _flat(row)])


def _flat(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The single values of a row, once for each of its cells or differences if it has some."""
    own = {key: value for key, value in row.items() if isinstance(value, str | int | float | None)}
    if isinstance(interval := row.get("ci95"), list | tuple):
        own |= {"low": interval[0], "high": interval[1]}
    cells = row.get("cells") or row.get("differences")
    return [own | each for cell in cells for each in _flat(cell)] if cells else [own]
