"""A table in Markdown (as GitHub and pandoc read it) and in HTML."""

import re
from collections.abc import Mapping
from html import escape

from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import UNDEFINED, Cell, Role
from ecsuite.tables.grid import Column, Grid

STARS: Mapping[Role, str] = {"best": "**", "heading": "**", "dim": "*"}
"""Marks around a cell in Markdown, by role."""
STYLES: Mapping[Role, str] = {
    "best": "font-weight:bold",
    "heading": "font-weight:bold",
    "dim": "opacity:.65",
    "good": "color:#11772d",
    "bad": "color:#b3261e",
    "warning": "color:#8a5a00",
}
"""Style of a cell in HTML, by role."""
NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
"""CSS classes that prevent notebooks from reading a dollar sign as the start of a formula."""
SPECIAL = re.compile(r"[\\`*\[\]<>|~$]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])")
"""Markdown's special characters. An underscore in a word is text, and so is `&` that begins no entity (`&lt;`)."""
BEGINNING = re.compile(r"^(\d*)([#+\-=.)])")
"""Pattern of the start of a paragraph that Markdown reads as a heading or a list."""


def markdown(table: Grid) -> str:
    """The table in Markdown; a title and notes are paragraphs."""
    columns, grid = table.shown()
    # Markdown has no table without headings: they are empty then.
    headings = [each.heading_text if table.has_headings else "" for each in columns]
    lines = [[escaped(heading) for heading in headings]]
    lines.append(["---:" if each.align == "right" else "---" for each in columns])
    for row, cells in zip(table.rows, grid, strict=True):
        lines.append([_starred(cell, STARS.get(row.role_of(cell), "")) for cell in cells])
    title = [f"**{escaped(table.title)}**", ""] if table.title else []
    notes = [part for note in table.notes for part in ("", paragraph(note))]
    return "\n".join([*title, *("| " + " | ".join(line) + " |" for line in lines), *notes, ""])


def _starred(cell: Cell, stars: str) -> str:
    shown = escaped(cell.text.strip())
    return f"{stars}{shown}{stars}" if shown and shown != UNDEFINED else shown


def escaped(text: str) -> str:
    """Escape a text for Markdown, within a line."""
    return SPECIAL.sub(lambda match: "\\" + match[0], printable(text))


def paragraph(text: str) -> str:
    """Escape a text for Markdown as a paragraph: no heading, list or block of code."""
    return BEGINNING.sub(r"\1\\\2", escaped(printable(text).strip()))


def html(table: Grid) -> str:
    """The displayed table in HTML, without scripts and style sheets."""
    columns, grid = table.shown()
    caption = [f'<caption style="text-align:left">{_text(table.title)}</caption>'] if table.title else []
    headings = "".join(
        f'<th style="text-align:{each.align}">{"<br>".join(map(_text, each.heading_lines))}</th>'
        for each in columns
    )
    head = [f"<thead><tr>{headings}</tr></thead>"] if table.has_headings else []
    body = [
        "<tr>"
        + "".join(_cell(cell, column, row.role_of(cell)) for column, cell in zip(columns, cells, strict=True))
        + "</tr>"
        for row, cells in zip(table.rows, grid, strict=True)
    ]
    notes = [f"<p>{_text(note)}</p>" for note in table.notes]
    lines = ["<table>", *caption, *head, "<tbody>", *body, "</tbody>", "</table>", *notes]
    return "\n".join([f'<div class="{NO_FORMULAS}">', *lines, "</div>", ""])


def _cell(cell: Cell, column: Column, role: Role) -> str:
    style = f"text-align:{column.align}" + (f";{STYLES[role]}" if role in STYLES else "")
    return f'<td style="{style}">{"<br>".join(map(_text, cell.lines))}</td>'


def _text(text: str) -> str:
    return escape(printable(text)).replace("  ", "&nbsp; ")
