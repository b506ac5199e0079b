"""A table as text: on a terminal as wide as that is, in a file or a pipe as wide as it needs, so that nothing is cut.

On a terminal that is too narrow, sentences are wrapped first, then long names are folded, and then further columns go
on below, with the names again. Figures are never cut.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import Cell, Role
from ecsuite.tables.grid import Column, Grid

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

STYLES: Mapping[Role, str] = {
    "best": "bold",
    "heading": "bold",
    "dim": "dim",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
}
"""The style of a cell on a terminal, by its role."""
WIDTH = 100
"""Columns that a table takes at most in Python, if nothing is cut so."""
UNBOUNDED = 100_000
"""Columns of a file."""
GAP = 2
"""Spaces between columns."""
FOLDED = 16
"""Least columns of a name, or of the heading of a figure, that is folded."""


def text(table: Grid, room: int = UNBOUNDED) -> str:
    """The table as text.

    Args:
        table: The table.
        room: Columns in which sentences go on below, unless something else needs more; nothing is cut or folded.
    """
    return as_text(*renderables(table, None, room))


def as_text(*parts: "RenderableType", width: int | None = None) -> str:
    """Text as a console of this width shows it, without colours; in a notebook the notebook's output is untouched.

    Args:
        parts: What is shown, below each other.
        width: Columns; None: as many as are needed.
    """
    from rich.console import Console

    file = StringIO()
    console = Console(file=file, width=width or UNBOUNDED, force_jupyter=False, force_terminal=False)
    for part in parts:
        console.print(part, highlight=False)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def print_on_terminal(console: "Console", tables: Sequence[Grid], notes: Sequence[str] = ()) -> None:
    """Print tables with an empty line between them, and notes, in colours and as wide as the terminal is."""
    from rich.text import Text

    for number, table in enumerate(tables):
        if number:
            console.print()
        for part in renderables(table, console.width):
            # Lines are not broken here: who copies a signature gets it in one piece.
            console.print(part, soft_wrap=isinstance(part, Text))
    for line in notes:
        console.print(Text(printable(line)), soft_wrap=True)


def renderables(table: Grid, width: int | None, room: int = UNBOUNDED) -> "Iterator[RenderableType]":
    """Title, blocks of columns and notes for rich.

    Args:
        table: The table.
        width: Columns of the terminal; None: of a file, as many as are needed.
        room: See `text`.
    """
    from rich.text import Text

    columns, grid = table.shown()
    if table.title:
        yield Text(printable(table.title))
    wanted = [_most(place, columns, grid) for place in range(len(columns))]
    least = [_least(place, columns, grid, is_cut=width is not None) for place in range(len(columns))]
    gaps = len(columns) - 1
    room = max(room, sum(least) + GAP * gaps) if width is None else width
    gap = 1 if sum(least) + gaps <= room < sum(least) + GAP * gaps else GAP
    for number, places in enumerate(_blocks(columns, least, room, gap)):
        if number:
            yield Text()
        widths = _widths([wanted[each] for each in places], [least[each] for each in places], room, gap)
        yield _block(table, columns, grid, dict(zip(places, widths, strict=True)), gap)
    for note in table.notes:
        yield Text(printable(note))


def _block(
    table: Grid,
    columns: Sequence[Column],
    grid: Sequence[Sequence[Cell]],
    widths: Mapping[int, int],
    gap: int,
) -> "RenderableType":
    """The columns of a table at some places, for rich."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(
        box=SIMPLE_HEAD if table.has_headings else None,
        show_header=table.has_headings,
        show_edge=False,
        pad_edge=False,
        padding=(0, gap - 1 if table.has_headings else gap, 0, 0),
    )
    for place, width in widths.items():
        column = columns[place]
        heading = Text("\n".join(column.heading_lines))
        shown.add_column(heading, justify=column.align, width=width, overflow="fold", vertical="top")
    for row, cells in zip(table.rows, grid, strict=True):
        style = STYLES.get(row.role)
        texts = [_styled(cells[place]) for place in widths]
        shown.add_row(*texts, style=style, end_section=row.ends_section)
    return shown


def _styled(cell: Cell) -> "RenderableType":
    from rich.text import Text

    styled = Text("\n".join(cell.lines), STYLES.get(cell.role, ""))
    for begin, end, style in cell.colours:
        styled.stylize(style, begin, end)
    return styled


def _most(place: int, columns: Sequence[Column], grid: Sequence[Sequence[Cell]]) -> int:
    """The width of a column in which nothing is broken."""
    from rich.cells import cell_len

    texts = [line for cells in grid for line in cells[place].lines]
    return max((cell_len(each) for each in (*columns[place].heading_lines, *texts)), default=1) or 1


def _least(place: int, columns: Sequence[Column], grid: Sequence[Sequence[Cell]], *, is_cut: bool) -> int:
    """The least width of a column: of its longest figure or word; on a terminal, long names are folded."""
    from rich.cells import cell_len

    column = columns[place]
    texts = [line for cells in grid for line in cells[place].lines]
    heading = max((cell_len(word) for line in column.heading_lines for word in line.split()), default=1)
    if column.wraps:
        words = max((cell_len(word) for line in texts for word in line.split()), default=1)
        return max(min(heading, FOLDED), min(words, 3 * FOLDED) if is_cut else words, 1)
    inner = max(map(cell_len, texts), default=1)
    if is_cut:
        return max(min(inner, FOLDED) if column.is_key else inner, min(heading, FOLDED), 1)
    return max(inner, heading, 1)


def _blocks(columns: Sequence[Column], least: Sequence[int], room: int, gap: int) -> Iterator[list[int]]:
    """The places of the columns that stand beside each other: those of keys in each block."""
    keys = [place for place, column in enumerate(columns) if column.is_key]
    others = [place for place in range(len(columns)) if place not in keys]
    block: list[int] = []
    for place in others:
        beside = sum(least[each] + gap for each in (*keys, *block))
        if block and beside + least[place] > room:
            yield sorted((*keys, *block))
            block = []
        block.append(place)
    yield sorted((*keys, *block))


def _widths(wanted: Sequence[int], least: Sequence[int], room: int, gap: int) -> list[int]:
    """The widths of columns: what they want, or their least ones and a share of what is left, the narrowest first."""
    widths = list(least)
    left = room - sum(least) - gap * (len(least) - 1)
    open_places = sorted(range(len(least)), key=lambda place: wanted[place] - least[place])
    for number, place in enumerate(open_places):
        share = max(0, left) // (len(open_places) - number)
        more = min(wanted[place] - least[place], share)
        widths[place] += more
        left -= more
    return widths
