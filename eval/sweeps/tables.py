"""A table over settings: a row for each combination, and for each figure the mean over seeds with its interval.

It is written as text, Markdown, LaTeX (booktabs) or CSV.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any, Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable

from ecsuite.config import ConfigError, unknown_name
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.eval.sweeps.records import Record

ALWAYS = ("accuracy",)
"""Figures that a table has besides the scores, where runs have them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A figure of a row: mean, half-width of its 95 % interval (None: one value), and the number of values."""

    mean: float | None
    half_width: float | None
    num_values: int

    def text(self) -> str:
        """`0.412 ± 0.031`, or - if it is not defined."""
        if self.mean is None:
            return "-"
        return f"{self.mean:.3f}" + ("" if self.half_width is None else f" ± {self.half_width:.3f}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A combination of settings."""

    settings: tuple[Any, ...]
    """The values of the table's keys."""
    num_runs: int
    """Runs that ended."""
    num_failed: int
    """Runs that failed."""
    cells: tuple[Cell, ...]
    """One per figure of the table."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Means over seeds, with Student's 95 % intervals."""

    keys: tuple[str, ...]
    """The settings of a row."""
    figures: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[Row, ...]
    """The rows, in the order of the runs."""

    def __str__(self) -> str:
        """The table as text of 100 columns."""
        console = Console(file=StringIO(), width=100)
        console.print(self.rich())
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    def rich(self) -> RichTable:
        """The table for a terminal."""
        table = RichTable(box=SIMPLE_HEAD, pad_edge=False)
        for heading in self.headings():
            side: Literal["left", "right"] = "left" if heading in self.keys else "right"
            # A setting's section stands above its name, so that columns are as narrow as their values.
            table.add_column(heading.replace(".", "\n", 1), justify=side, no_wrap=True)
        for row in self.rows:
            table.add_row(*self.cells_of(row))
        return table

    def headings(self) -> list[str]:
        """Headings of the columns."""
        return [*self.keys, "runs", *self.figures]

    def cells_of(self, row: Row) -> list[str]:
        """The cells of a row as text."""
        runs = str(row.num_runs) + (f" ({row.num_failed} failed)" if row.num_failed else "")
        return [*map(str, row.settings), runs, *(cell.text() for cell in row.cells)]

    def markdown(self) -> str:
        """The table in Markdown."""
        headings = self.headings()
        lines = [headings, ["---"] * len(self.keys) + ["---:"] * (len(headings) - len(self.keys))]
        lines += [self.cells_of(row) for row in self.rows]
        return "".join(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines
        )

    def latex(self) -> str:
        """The table in LaTeX, for the package booktabs."""
        columns = "l" * len(self.keys) + "r" * (1 + len(self.figures))
        lines = [" & ".join(map(_latex, self.headings())) + r" \\"]
        rows = [" & ".join(map(_latex, self.cells_of(row))) + r" \\" for row in self.rows]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                *lines,
                r"\midrule",
                *rows,
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )

    def csv(self) -> str:
        """The table as CSV: for each figure its mean, the bounds of its interval and the number of values."""
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        parts = [f"{name}{part}" for name in self.figures for part in ("", "_low", "_high", "_n")]
        writer.writerow([*self.keys, "runs", *parts])
        for row in self.rows:
            values: list[Any] = [*row.settings, row.num_runs]
            for cell in row.cells:
                known = cell.mean is not None and cell.half_width is not None
                bounds = [cell.mean - cell.half_width, cell.mean + cell.half_width] if known else ["", ""]  # type: ignore[operator]
                values += ["" if cell.mean is None else cell.mean, *bounds, cell.num_values]
            writer.writerow(values)
        return text.getvalue()

    def to_json(self) -> dict[str, Any]:
        """The table as JSON-ready data."""
        return {
            "rows": [
                {
                    "settings": dict(zip(self.keys, row.settings, strict=True)),
                    "num_runs": row.num_runs,
                    "num_failed": row.num_failed,
                    "figures": {
                        name: {
                            "mean": cell.mean,
                            "half_width": cell.half_width,
                            "num_values": cell.num_values,
                        }
                        for name, cell in zip(self.figures, row.cells, strict=True)
                    },
                }
                for row in self.rows
            ]
        }


FORMS: Mapping[str, Callable[[Table], str]] = {
    "markdown": Table.markdown,
    "latex": Table.latex,
    "csv": Table.csv,
}
"""Forms of a table besides text."""


def make_table(
    records: Sequence[Record], *, by: Sequence[str] | None = None, figures: Sequence[str] | None = None
) -> Table:
    """Means over the runs that agree in the settings `by`.

    Args:
        records: The runs.
        by: Settings; None: all that vary.
        figures: Names of measures and scores; None: accuracy, and all scores of the runs.

    Raises:
        ConfigError: If a setting or a figure is unknown.
    """
    known_settings = list(dict.fromkeys(key for record in records for key in record.settings))
    known_figures = list(dict.fromkeys(name for record in records for name in record.figures))
    scores = dict.fromkeys(name for record in records for name in record.scores)
    usual = [name for name in known_figures if name in ALWAYS or name in scores]
    keys = known_settings if by is None else list(by)
    for key in keys:
        if key not in known_settings:
            raise (
                unknown_name("setting", key, known_settings)
                if known_settings
                else ConfigError(f"--by {key}: no setting differs between these runs")
            )
    names = usual if figures is None else list(figures)
    for name in names:
        if name not in known_figures:
            raise unknown_name("figure", name, known_figures)
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(repr([record.settings.get(key) for key in keys]), []).append(record)
    rows = [
        Row(
            settings=tuple(group[0].settings.get(key) for key in keys),
            num_runs=sum(record.failure is None for record in group),
            num_failed=sum(record.failure is not None for record in group),
            cells=tuple(_cell(group, name) for name in names),
        )
        for group in groups.values()
    ]
    return Table(keys=tuple(keys), figures=tuple(names), rows=tuple(rows))


def _cell(group: Sequence[Record], name: str) -> Cell:
    values = [value for record in group if (value := record.figures.get(name)) is not None]
    if not values:
        return Cell(mean=None, half_width=None, num_values=0)
    mean, half_width = mean_and_half_width(values)
    return Cell(mean=mean, half_width=half_width, num_values=len(values))


def _latex(text: str) -> str:
    """Text with LaTeX's own characters escaped."""
    for plain, escaped in (
        ("\\", r"\textbackslash "),
        ("_", r"\_"),
        ("%", r"\%"),
        ("&", r"\&"),
        ("#", r"\#"),
        ("$", r"\$"),
    ):
        text = text.replace(plain, escaped)
    return text.replace(" ± ", r" $\pm$ ")
