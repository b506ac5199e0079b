"""The forms of tables: output of commands, and a table as text and as CSV.

On a terminal, text is as wide as the terminal; in a file or a pipe it is as wide as needed, so that nothing is cut. If
a terminal is too narrow, sentences are wrapped first, then long names are folded, and then further columns continue
below, with the names repeated. Figures are never cut.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from io import StringIO
from typing import TYPE_CHECKING

from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import Cell, Role, Value
from ecsuite.tables.grid import Column, Grid
from ecsuite.tables.latex import latex
from ecsuite.tables.markup import html, markdown

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Form(StrEnum):
    """Output form of tables."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    HTML = "html"


STYLES: Mapping[Role, str] = {
    "best": "bold",
    "heading": "bold",
    "dim": "dim",
    "good": "green",
    "bad": "red",
    "warning": "yellow",
}
"""Style of a cell on a terminal, by role."""
WIDTH = 100
"""Maximum width of a table in Python, if nothing is cut."""
UNBOUNDED = 100_000
"""Width of a file."""
GAP = 2
"""Spaces between columns."""
FOLDED = 16
"""Minimum width of a folded name or heading of figures."""
FORMULA = re.compile(r"^\s*[=+\-@]")
"""First characters of texts that a spreadsheet reads as a formula."""


def text(table: Grid, room: int = UNBOUNDED) -> str:
    """The table as text.

    Args:
        table: The table.
        room: Width at which sentences are wrapped, unless other columns need more; nothing is cut or folded.
    """
    return as_text(*renderables(table, None, room))


def as_text(*parts: "RenderableType", width: int | None = None) -> str:
    """Text as on a console of this width, without colours; the output of a notebook is not affected.

    Args:
        parts: Texts and tables, from top to bottom.
        width: Width in characters; None: as wide as needed.
    """
    from rich.console import Console

    file = StringIO()
    console = Console(file=file, width=width or UNBOUNDED, force_jupyter=False, force_terminal=False)
    for part in parts:
        console.print(part, highlight=False)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def print_on_terminal(console: "Console", tables: Sequence[Grid], notes: Sequence[str] = ()) -> None:
    """Print tables with an empty line between them, and notes, in colours and with the width of the terminal."""
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
        width: Width of the terminal; None: as wide as needed, for a file.
        room: See `text`.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    columns, grid = table.shown()
    if table.title:
        yield Text(printable(table.title))
    blocks, gap = _layout(columns, grid, width, room)
    for number, widths in enumerate(blocks):
        if number:
            yield Text()
        shown = RichTable(
            box=SIMPLE_HEAD if table.has_headings else None,
            show_header=table.has_headings,
            show_edge=False,
            pad_edge=False,
            padding=(0, gap - 1 if table.has_headings else gap, 0, 0),
        )
        for place, chosen in widths.items():
            column = columns[place]
            heading = Text("\n".join(column.heading_lines))
            shown.add_column(heading, justify=column.align, width=chosen, overflow="fold", vertical="top")
        for row, cells in zip(table.rows, grid, strict=True):
            texts = []
            for cell in (cells[place] for place in widths):
                styled = Text("\n".join(cell.lines), STYLES.get(cell.role, ""))
                for begin, end, style in cell.colours:
                    styled.stylize(style, begin, end)
                texts.append(styled)
            shown.add_row(*texts, style=STYLES.get(row.role), end_section=row.ends_section)
        yield shown
    for note in table.notes:
        yield Text(printable(note))


def _layout(
    columns: Sequence[Column], grid: Sequence[Sequence[Cell]], width: int | None, room: int
) -> tuple[list[dict[int, int]], int]:
    """Columns side by side, by index with their widths, for each block; and the spaces between them."""
    from rich.cells import cell_len

    wanted, least = [], []  # where nothing is broken; of the longest figure or word, or of folded names
    for place, column in enumerate(columns):
        texts = [line for cells in grid for line in cells[place].lines]
        wanted.append(max((cell_len(each) for each in (*column.heading_lines, *texts)), default=1) or 1)
        heading = max((cell_len(word) for line in column.heading_lines for word in line.split()), default=1)
        if column.wraps:
            words = max((cell_len(word) for line in texts for word in line.split()), default=1)
            folded = words if width is None else min(words, 3 * FOLDED)
            least.append(max(min(heading, FOLDED), folded, 1))
            continue
        inner = max(map(cell_len, texts), default=1)
        if width is not None:  # of a terminal, where long names are folded
            inner, heading = min(inner, FOLDED) if column.is_key else inner, min(heading, FOLDED)
        least.append(max(inner, heading, 1))
    gaps = len(columns) - 1
    room = max(room, sum(least) + GAP * gaps) if width is None else width
    gap = 1 if sum(least) + gaps <= room < sum(least) + GAP * gaps else GAP
    keys = [place for place, column in enumerate(columns) if column.is_key]
    blocks: list[list[int]] = [[]]
    for place in (place for place in range(len(columns)) if place not in keys):
        beside = sum(least[each] + gap for each in (*keys, *blocks[-1]))
        if blocks[-1] and beside + least[place] > room:
            blocks.append([])
        blocks[-1].append(place)
    found = []
    for block in blocks:
        places = sorted((*keys, *block))
        widths = {place: least[place] for place in places}
        left = room - sum(widths.values()) - gap * (len(places) - 1)
        # What they want, or their least widths and a share of what is left, the narrowest first.
        for number, place in enumerate(sorted(places, key=lambda place: wanted[place] - least[place])):
            more = min(wanted[place] - least[place], max(0, left) // (len(places) - number))
            widths[place] += more
            left -= more
        found.append(widths)
    return found, gap


def csv_text(table: Grid) -> str:
    """The table as CSV: numbers in full precision; an undefined number is an empty cell."""
    names, rows = table.records()
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_field, names))
    for row in rows:
        writer.writerow(map(_field, row))
    return file.getvalue()


def _field(value: Value) -> Value:
    """A value; texts that a spreadsheet would read as a formula are prefixed with an apostrophe."""
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if FORMULA.match(shown) else shown


FORMS: Mapping[Form, Callable[[Grid], str]] = {
    Form.TEXT: text,
    Form.MARKDOWN: markdown,
    Form.LATEX: latex,
    Form.CSV: csv_text,
    Form.HTML: html,
}
"""Writer of each form."""


SUFFIXES: Mapping[str, Form] = {
    ".csv": Form.CSV,
    ".tex": Form.LATEX,
    ".md": Form.MARKDOWN,
    ".html": Form.HTML,
}
"""The form for a file of this name."""


def rendered(tables: Sequence[Grid], form: Form, notes: Sequence[str] = ()) -> str:
    """Tables with an empty line between them; common notes follow the last table, except in CSV."""
    whole = [*tables]
    if whole and notes and form is not Form.TEXT:
        last = whole[-1]
        whole[-1] = replace(last, notes=(*last.notes, *notes))
    lines = "".join(f"{printable(line)}\n" for line in notes) if form is Form.TEXT else ""
    return "\n".join(FORMS[form](table) for table in whole) + lines


def publish(tables: Sequence[Grid], form: Form, notes: Sequence[str] = ()) -> None:
    """Print tables and notes in a form; text on a terminal has colours and the width of the terminal."""
    if form is Form.TEXT:
        from rich.console import Console

        console = Console(force_jupyter=False, highlight=False)
        if console.is_terminal:
            print_on_terminal(console, tables, notes)
            return
    print(rendered(tables, form, notes), end="")
