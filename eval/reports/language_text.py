"""A language as text for a terminal: the same parts as its page, without drawing."""

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ecsuite.eval.figures.canvas import ink_on
from ecsuite.eval.reports.languages import Language, Message, Usage, sparkline, thinned
from ecsuite.eval.reports.learning_curves import read_log
from ecsuite.eval.reports.tiles import PALE, symbol_colours

MAX_LINES = 10
"""Most messages in the table."""
NUM_USED = 5
"""Messages, and symbols, in the lists of the most used."""
CURVE_WIDTH = 40
"""Most characters of the learning curve."""
BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-=^"
"""Characters of the learning curve, from low to high; the second where the terminal has no others."""


def print_language(language: Language, title: str, lines: Sequence[str], run: Path | None) -> None:
    """Print a language; for the arguments see `language_page.draw_language`."""
    console = Console(highlight=False)
    console.print(Text(title, "bold"))
    for line in lines:
        console.print(Text(line))
    if run is not None:
        console.print(Text(learning_curve(run)))
    console.print()
    console.print(grid_table(language) if language.grid is not None else sample_table(language))
    for heading, used in (
        ("Most used messages", language.most_used_messages(NUM_USED)),
        ("Most used symbols, by place", language.most_used_symbols(NUM_USED)),
    ):
        if used:
            console.print()
            console.print(used_table(language, heading, used))


def learning_curve(run: Path) -> str:
    """The accuracy of validation as one line."""
    values = read_log(run)["valid"]
    ticks = BLOCKS if _can_print(BLOCKS) else ASCII
    return f"accuracy {values[0]:.1%} {sparkline(thinned(values, CURVE_WIDTH), ticks)} {values[-1]:.1%}"


def grid_table(language: Language) -> Table:
    """Messages by two attributes."""
    grid = language.grid
    assert grid is not None
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(Text(f"{grid.attributes[0]}, {grid.attributes[1]}{grid.speaker}"), style="dim")
    for name in grid.columns:
        table.add_column(Text(name))
    for name, indices in zip(grid.rows, grid.indices.tolist(), strict=True):
        cells = (tiles(language, language.messages[index]) if index >= 0 else Text() for index in indices)
        table.add_row(Text(name), *cells)
    return table


def sample_table(language: Language) -> Table:
    """Some messages with their meanings."""
    rows = language.sample(MAX_LINES)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(
        Text(f"{len(rows)} of {len(language):,} messages" if len(rows) < len(language) else "messages")
    )
    table.add_column(Text("meaning" if language.meaning(0) else ""), overflow="ellipsis", no_wrap=True)
    if language.speakers is not None:
        table.add_column("speaker")
    for index in rows:
        speaker = [] if language.speakers is None else [Text(language.speakers[index])]
        table.add_row(tiles(language, language.messages[index]), Text(language.meaning(index)), *speaker)
    return table


def used_table(language: Language, heading: str, used: Sequence[Usage]) -> Table:
    """A list of the most used messages or symbols."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(Text(heading))
    table.add_column(Text("uses"), justify="right")
    table.add_column(Text("about"))
    for usage in used:
        place = Text("" if usage.place is None else f"{usage.place}. ", "dim")
        shown = Text.assemble(place, tiles(language, usage.symbols))
        table.add_row(shown, f"{usage.count:,}", Text(usage.about_text or "no concept in particular"))
    return table


def tiles(language: Language, message: Message) -> Text:
    """A message, each symbol on its colour where the terminal has colours."""
    if not message:
        return Text("(empty)", "dim")
    colours = symbol_colours(language)
    text = Text()
    for number, symbol in enumerate(message):
        colour = colours.get(symbol, PALE)
        text.append(" " if number else "")
        text.append(language.name(symbol), f"{ink_on(colour)} on {colour}")
    return text


def _can_print(text: str) -> bool:
    """Whether standard output has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
