"""What a study or a comparison found, for Python and notebooks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ecsuite.eval.reports.console import Report
from ecsuite.tables.forms import Form, rendered
from ecsuite.tables.table import Table, as_frame

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
        return "\n".join(map(str, self.report.tables)) + "".join(f"{line}\n" for line in self.report.notes)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        return rendered(self.report.tables, Form.HTML, self.report.notes)

    def table(self, number: int = 0) -> Table:
        """One of its tables, which has all forms.

        Args:
            number: Which one, from 0.
        """
        table: Table = self.report.tables[number]
        return table

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
