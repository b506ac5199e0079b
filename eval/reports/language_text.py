"""A language as text for a terminal: the same parts as its page, without drawing."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from ecsuite.eval.reports.languages import Language, Message, Usage, sparkline, thinned
from ecsuite.eval.reports.samples import MOST_SYMBOLS
from ecsuite.eval.results.logs import first_measure, read_log
from ecsuite.eval.views.figures.canvas import ink_on
from ecsuite.eval.views.figures.tiles import PALE, symbol_colours
from ecsuite.runtime.printable import printable
from ecsuite.tables.cells import Cell, nothing, text
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

MAX_LINES = 10
"""Most messages in the table."""
NUM_USED = 5
"""Messages, and symbols, in the lists of the most used."""
CURVE_WIDTH = 40
"""Most characters of the learning curve."""
BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-=^"
"""Characters of the learning curve, from low to high; the second where the terminal has no others."""


def print_language(
    language: Language, title: str, lines: Sequence[str], run: Path | None, form: Form = Form.TEXT
) -> None:
    """Print a language; text has a heading and the learning curve. See `language_page.draw_language`."""
    if form is Form.TEXT:
        console = Console(highlight=False, force_jupyter=False)
        console.print(Text(title, "bold"))
        for line in (*lines, *([] if run is None else [learning_curve(run)]), ""):
            console.print(Text(line))
    tables = [grid_table(language) if language.grid is not None else sample_table(language)]
    for heading, used in (
        ("Most used messages", language.most_used_messages(NUM_USED)),
        ("Most used symbols, by place", language.most_used_symbols(NUM_USED)),
    ):
        tables += [used_table(language, heading, used)] if used else []
    publish(tables, form)


def learning_curve(run: Path) -> str:
    """The accuracy of validation as one line, or another measure of a run that has none."""
    measure = first_measure(run)
    values = read_log(run, measure)["valid"]
    ticks = BLOCKS if _can_print(BLOCKS) else ASCII
    is_share = measure == "accuracy"
    form = ".1%" if is_share else ".4g"
    shares = values if is_share else within_their_range(values)
    return (
        f"{measure} {values[0]:{form}} {sparkline(thinned(shares, CURVE_WIDTH), ticks)} {values[-1]:{form}}"
    )


def within_their_range(values: Sequence[float]) -> Sequence[float]:
    """Where each value lies between the least finite one, 0, and the greatest, 1; NaN stays."""
    array = np.array(values, dtype=np.float64)
    finite = array[np.isfinite(array)]
    if not len(finite):
        return values
    places: list[float] = ((array - finite.min()) / (np.ptp(finite) or 1.0)).clip(0.0, 1.0).tolist()
    return places


def grid_table(language: Language) -> Table:
    """Messages by two attributes."""
    grid = language.grid
    assert grid is not None
    first = name_column(grid.attributes[0], f"{grid.attributes[0]}, {grid.attributes[1]}{grid.speaker}")
    rows = [
        row_of(
            text(name, role="dim"),
            *(tiles(language, language.messages[index]) if index >= 0 else None for index in indices),
        )
        for name, indices in zip(grid.rows, grid.indices.tolist(), strict=True)
    ]
    return Table(columns=(first, *(Column(name, heading=name) for name in grid.columns)), rows=rows)


def sample_table(language: Language) -> Table:
    """Some messages with their meanings."""
    indices = language.sample(MAX_LINES)
    heading = f"{len(indices)} of {len(language):,} messages" if len(indices) < len(language) else "messages"
    has_meanings = bool(language.meaning(0))
    columns = [Column("message", heading=heading), Column("meaning", wraps=True, is_shown=has_meanings)]
    columns += [] if language.speakers is None else [Column("speaker")]
    rows = []
    for index in indices:
        speaker = [] if language.speakers is None else [str(language.speakers[index])]
        rows.append(row_of(tiles(language, language.messages[index]), language.meaning(index), *speaker))
    return Table(columns=columns, rows=rows)


def used_table(language: Language, heading: str, used: Sequence[Usage]) -> Table:
    """A list of the most used messages or symbols."""
    rows = [
        row_of(
            tiles(language, usage.symbols, "" if usage.place is None else f"{usage.place}. "),
            usage.count,
            usage.about_text or "no concept in particular",
        )
        for usage in used
    ]
    columns = (name_column("message", heading), number_column("uses"), Column("about", wraps=True))
    return Table(columns=columns, rows=rows)


def tiles(language: Language, message: Message, before: str = "") -> Cell:
    """A message after a text, each symbol on its colour where the terminal has colours; of a long one the beginning."""
    if not message:
        return nothing("(empty)")
    colours = symbol_colours(language)
    shown, spans = before, []
    for number, symbol in enumerate(message[:MOST_SYMBOLS]):
        colour = colours.get(symbol, PALE)
        shown += " " if number else ""
        begin, shown = len(shown), shown + printable(language.name(symbol))
        spans.append((begin, len(shown), f"{ink_on(colour)} on {colour}"))
    shown += " …" if len(message) > MOST_SYMBOLS else ""
    return Cell(value=shown, lines=(shown,), colours=tuple(spans))


def _can_print(text: str) -> bool:
    """Whether standard output has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
