"""The forms of tables that commands print."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from ecsuite.runtime.printable import printable
from ecsuite.tables.csv_text import csv_text
from ecsuite.tables.grid import Grid
from ecsuite.tables.latex import latex
from ecsuite.tables.markup import html, markdown
from ecsuite.tables.text import print_on_terminal, text


class Form(StrEnum):
    """How tables are shown."""

    TEXT = "text"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    HTML = "html"


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
"""The form that is written into a file of this name."""


def rendered(tables: Sequence[Grid], form: Form, notes: Sequence[str] = ()) -> str:
    """Tables below each other with an empty line between them; notes on all of them stand with the last, not in CSV."""
    whole = [*tables]
    if whole and notes and form is not Form.TEXT:
        last = whole[-1]
        whole[-1] = replace(last, notes=(*last.notes, *notes))
    lines = "".join(f"{printable(line)}\n" for line in notes) if form is Form.TEXT else ""
    return "\n".join(FORMS[form](table) for table in whole) + lines


def publish(tables: Sequence[Grid], form: Form, notes: Sequence[str] = ()) -> None:
    """Print tables and notes in a form; text on a terminal has colours and is as wide as that."""
    if form is Form.TEXT:
        from rich.console import Console

        console = Console(force_jupyter=False, highlight=False)
        if console.is_terminal:
            print_on_terminal(console, tables, notes)
            return
    print(rendered(tables, form, notes), end="")
