"""A table of results, and its forms as methods."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.forms import WIDTH, csv_text, renderables, text
from ecsuite.tables.grid import Column, Grid, Row, name_column, number_column, row_of
from ecsuite.tables.latex import latex
from ecsuite.tables.markup import html, markdown

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

__all__ = ["Column", "Row", "Table", "as_frame", "name_column", "number_column", "row_of"]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Table(Grid):
    """A table of results."""

    def __str__(self) -> str:
        """The table as text; sentences are wrapped after 100 characters, and nothing is cut."""
        return text(self, WIDTH)

    __repr__ = __str__

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        """The table on a console of rich, with the width of the console."""
        yield from renderables(self, options.max_width)

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return self.html()

    def markdown(self) -> str:
        """The table in Markdown."""
        return markdown(self)

    def latex(self) -> str:
        """The table in LaTeX, for the package booktabs."""
        return latex(self)

    def html(self) -> str:
        """The table in HTML."""
        return html(self)

    def csv(self) -> str:
        """The table as CSV: numbers in full precision, the bounds of intervals in columns of their own."""
        return csv_text(self)

    def to_frame(self) -> Any:
        """The table as a `pandas.DataFrame`, with the columns of the CSV.

        Raises:
            ConfigError: If pandas is not installed.
        """
        names, rows = self.records()
        return as_frame(rows, names)


def as_frame(rows: Sequence[Any], columns: Sequence[str] | None = None) -> Any:
    """Rows of values by name as a `pandas.DataFrame`; pandas is an optional dependency.

    Raises:
        ConfigError: If pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise ConfigError("a frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(list(rows), columns=None if columns is None else list(columns))
