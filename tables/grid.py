"""The content of a table: columns, rows of cells, a title and notes."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Literal

from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import Cell, Role, Value, count, nothing, text


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    """Name in CSV and frames."""
    _: KW_ONLY
    heading: str | tuple[str, ...] | None = None
    """Lines of the heading; None: the name, in words."""
    align: Literal["left", "right"] = "left"
    """Alignment of texts; numbers are aligned right."""
    is_key: bool = False
    """Whether it identifies rows. On a narrow terminal, its texts are folded, and it is repeated if the table continues
    below."""
    wraps: bool = False
    """Whether its texts are sentences, which are wrapped to fit."""
    merges: bool = False
    """Whether repeated values are shown once; CSV and frames have them in each row."""
    is_shown: bool = True
    """Whether it is displayed; otherwise it is only in CSV and frames."""
    parts: tuple[str, ...] = ()
    """Further columns of CSV and frames: `low` is NAME_low."""

    @property
    def heading_lines(self) -> tuple[str, ...]:
        """Lines of the heading."""
        heading = self.name.replace("_", " ") if self.heading is None else self.heading
        return tuple(map(printable, (heading,) if isinstance(heading, str) else heading))

    @property
    def heading_text(self) -> str:
        """The heading in one line; a name that was broken after a point is joined."""
        return "".join(line if line[-1:] == "." else f"{line} " for line in self.heading_lines).rstrip()


def name_column(name: str, heading: str | tuple[str, ...] | None = None, *, merges: bool = False) -> Column:
    """A column that identifies rows."""
    return Column(name, heading=heading, is_key=True, merges=merges)


def number_column(
    name: str,
    heading: str | tuple[str, ...] | None = None,
    *,
    parts: Iterable[str] = (),
    is_shown: bool = True,
) -> Column:
    """A column of numbers."""
    return Column(name, heading=heading, align="right", parts=tuple(parts), is_shown=is_shown)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row of a table."""

    cells: tuple[Cell, ...]
    """One cell for each column."""
    role: Role = ""
    """Default role of its cells."""
    ends_section: bool = False
    """Whether there is a line below it."""

    def role_of(self, cell: Cell) -> Role:
        """Role of a cell of the row."""
        return cell.role or self.role


def row_of(*cells: Cell | str | int | None, role: Role = "", ends_section: bool = False) -> Row:
    """A row; texts are names, integers are counts, None is nothing."""
    shown = (
        cell
        if isinstance(cell, Cell)
        else nothing()
        if cell is None
        else text(cell)
        if isinstance(cell, str | bool)
        else count(cell)
        for cell in cells
    )
    return Row(cells=tuple(shown), role=role, ends_section=ends_section)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """The content of a table."""

    columns: Sequence[Column]
    """The columns."""
    rows: Sequence[Row]
    """The rows."""
    title: str = ""
    """Title, a line above the table."""
    notes: Sequence[str] = ()
    """Notes, lines below the table."""
    has_headings: bool = True
    """Whether the headings of the columns are displayed."""

    def __post_init__(self) -> None:
        for each in self.rows:
            if len(each.cells) != len(self.columns):
                raise ValueError(f"expected {len(self.columns)} cells in a row, got {len(each.cells)}")

    def shown(self) -> tuple[list[Column], list[list[Cell]]]:
        """The displayed columns, and the cells of each row in them; merged repetitions are empty."""
        places = [place for place, column in enumerate(self.columns) if column.is_shown]
        grid = [[each.cells[place] for place in places] for each in self.rows]
        columns = [self.columns[place] for place in places]
        merged = [row[:] for row in grid]
        for (above, cells), below in zip(pairwise(grid), merged[1:], strict=True):
            for place, column in enumerate(columns):
                if not column.merges or above[place].lines != cells[place].lines:
                    break
                below[place] = nothing()
        return columns, merged

    def records(self) -> tuple[list[str], list[list[Value]]]:
        """The names of all values, and the values of each row, for CSV and frames."""
        names = [
            name
            for column in self.columns
            for name in (column.name, *(f"{column.name}_{part}" for part in column.parts))
        ]
        rows = [
            [
                value
                for column, cell in zip(self.columns, each.cells, strict=True)
                for value in (cell.value, *(cell.parts.get(part) for part in column.parts))
            ]
            for each in self.rows
        ]
        return names, rows
