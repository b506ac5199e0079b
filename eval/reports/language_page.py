"""One page about a language: what is said of what, what the most used messages are about, and the learning curve."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ecsuite.eval.reports.canvas import FONT_SIZE, label, new_figure, save, text_width
from ecsuite.eval.reports.languages import Language, Usage
from ecsuite.eval.reports.learning_curves import plot_curves
from ecsuite.eval.reports.tiles import GREY, OBJECT, Tiles, can_draw
from ecsuite.games.corpus_pictures import Pictures, corpus_pictures
from ecsuite.runtime.errors import ConfigError

ROW = 0.27
"""Height of a line, in inches."""
GRID_ROW = 0.36
"""Height of a row of a grid, in inches."""
MARGIN, SPACE = 0.25, 0.35
"""Page margin, and space between the parts, in inches."""
TITLE = 1.05
"""Height of the title lines, in inches."""
CURVE = (3.6, 1.75)
"""Width and height of the learning curve with its labels, in inches."""
MAX_ROWS = 24
"""Most messages in a table."""
NUM_USED = 6
"""Messages, and symbols, in the lists of the most used."""
MIN_TABLE = 3.0
"""Least width of the table, in inches."""
HEADING = {"fontsize": FONT_SIZE + 1, "weight": "bold"}
"""Look of the headings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of the table."""

    heading: str
    texts: Sequence[str]
    width: float
    """Width in inches, without the space to the next one."""


def draw_language(
    language: Language, title: str, lines: Sequence[str], run: Path | None, *paths: Path
) -> None:
    """Draw the page.

    Args:
        language: What is drawn.
        title: Names the language.
        lines: At most three lines below it, such as measures and sizes.
        run: The run folder, whose learning curve is drawn; None: there is none.
        *paths: Output files, .svg or .png.

    Raises:
        ConfigError: If matplotlib is missing, a file has another suffix, or the log of the run can't be read.
    """
    page = Page(language, run)
    lists = [
        (heading, used)
        for heading, used in (
            ("Most used messages", language.most_used_messages(NUM_USED)),
            ("Most used symbols, by place", language.most_used_symbols(NUM_USED)),
        )
        if used
    ]
    table_width, left_height = page.measure_table()
    right_height = CURVE[1] + SPACE if run else 0.0
    columns: list[list[tuple[str, list[Usage]]]] = [
        [],
        [],
    ]  # what stands below the table, and below the curve
    for each in lists:
        side = int(left_height > right_height)
        columns[side].append(each)
        height = page.list_height(each[1]) + SPACE
        left_height, right_height = left_height + (0 if side else height), right_height + side * height
    widths = [max((page.list_width(used) for _, used in column), default=0.0) for column in columns]
    left_width = max(table_width, widths[0])
    right_width = max(CURVE[0] if run else 0.0, widths[1])
    width = 2 * MARGIN + left_width + (SPACE + right_width if right_width else 0)
    width = max(width, 2 * MARGIN + max(text_width(title, 12) * 1.1, *map(text_width, lines)))
    height = TITLE + max(left_height, right_height) + MARGIN / 2
    figure = new_figure(width, height)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    page.tiles.axes = axes
    write = page.tiles.write
    write(MARGIN, 0.25, title, fontsize=12, weight="bold")
    for number, line in enumerate(lines):
        write(MARGIN, 0.46 + 0.16 * number, line, color=GREY)
    page.draw_table(MARGIN, TITLE)
    left, tops = MARGIN + left_width + SPACE, [TITLE + page.measure_table()[1] + SPACE, TITLE]
    if run is not None:
        write(left, TITLE + 0.1, "Learning curve", **HEADING)
        inner = (left + 0.45, TITLE + 0.25, right_width - 0.5, CURVE[1] - 0.65)
        box = (inner[0] / width, 1 - (inner[1] + inner[3]) / height, inner[2] / width, inner[3] / height)
        plot_curves(figure.add_axes(box), [run])
        tops[1] += CURVE[1] + SPACE
    for side, x in enumerate((MARGIN, left)):
        for heading, used in columns[side]:
            page.draw_list(heading, used, x, tops[side])
            tops[side] += page.list_height(used) + SPACE
    save(figure, *paths)


class Page:
    """The parts of a page about a language."""

    def __init__(self, language: Language, run: Path | None = None) -> None:
        self.language = language
        self.pictures: Pictures = {}
        self.tiles = Tiles(None, language)
        self.rows = language.sample(MAX_ROWS)
        grid = language.grid
        shown = (
            self.rows if grid is None else [index for index in grid.indices.ravel().tolist() if index >= 0]
        )
        if run is not None and shown and "file" in language.corpus.columns:
            with suppress(ConfigError):  # images that are not there any more, or others
                self.pictures = corpus_pictures(run, language.corpus, shown)
        self.has_objects = bool(shown) and all(
            index in self.pictures or can_draw(language.concepts(index)) for index in shown
        )
        widths = [self.tiles.width(language.messages[index]) for index in shown]
        self.message_width = max(widths, default=0.0) + (OBJECT + 0.12 if self.has_objects else 0)

    def measure_table(self) -> tuple[float, float]:
        """Width and height of the table, or grid, of the language."""
        grid = self.language.grid
        if grid is None:
            columns = self.columns()
            width = sum(column.width + 0.15 for column in columns) + self.message_width
            return max(width, MIN_TABLE), 0.2 + ROW * (len(self.rows) + 1)
        return max(self.grid_left() + len(grid.columns) * self.cell(), MIN_TABLE), 0.5 + GRID_ROW * len(
            grid.rows
        )

    def cell(self) -> float:
        """Width of a cell of the grid."""
        grid = self.language.grid
        assert grid is not None
        return max(self.message_width, *(text_width(label(name)) for name in grid.columns)) + 0.25

    def grid_left(self) -> float:
        """Width of the names of the rows of the grid."""
        grid = self.language.grid
        assert grid is not None
        return max(text_width(label(name)) for name in (*grid.rows, grid.attributes[0])) + 0.2

    def columns(self) -> list[Column]:
        """The columns of the table before the messages: a column an attribute, or the meaning as one text."""
        language = self.language
        if language.attributes:
            values = [language.values(index) for index in self.rows]
            texts = [[label(row[place]) for row in values] for place in range(len(language.attributes))]
            headings = [label(name) for name in language.attributes]
            if sum(map(text_width, headings)) > 3.2:  # attribute0, attribute1 ... of many attributes
                headings = [name.removeprefix("attribute") for name in headings]
            if "file" in language.corpus.columns:
                texts.insert(0, [label(str(language.corpus.columns["file"][index])) for index in self.rows])
                headings.insert(0, "file")
        else:
            texts = [[label(language.meaning(index) or f"message {index}") for index in self.rows]]
            headings = ["meaning" if language.meaning(0) else "place in the corpus"] if self.rows else [""]
        if language.speakers is not None:
            texts.append([label(language.speakers[index]) for index in self.rows])
            headings.append("speaker")
        return [
            Column(heading=heading, texts=each, width=max(map(text_width, (heading, *each))))
            for heading, each in zip(headings, texts, strict=True)
        ]

    def draw_table(self, left: float, top: float) -> None:
        """Draw the table, or the grid of two attributes."""
        language, tiles = self.language, self.tiles
        grid = language.grid
        if grid is None:
            is_part = len(self.rows) < len(language)
            heading = f"{len(self.rows)} of {len(language):,} messages" if is_part else "Messages"
            tiles.write(left, top + 0.1, heading, **HEADING)
            top += 0.2
            x = left
            for column in self.columns():
                tiles.write(x, top + ROW / 2, column.heading, color=GREY)
                for row, text in enumerate(column.texts, start=1):
                    tiles.write(x, top + (row + 0.5) * ROW, text)
                x += column.width + 0.15
            for row, index in enumerate(self.rows, start=1):
                self.draw_message(index, x, top + (row + 0.5) * ROW)
            return
        heading = f"Messages by {grid.attributes[0]} (rows) and {grid.attributes[1]} (columns){grid.speaker}"
        tiles.write(left, top + 0.1, heading, **HEADING)
        first, cell = left + self.grid_left(), self.cell()
        for place, name in enumerate(grid.columns):
            tiles.write(first + place * cell, top + 0.37, label(name), color=GREY)
        for row, name in enumerate(grid.rows):
            middle = top + 0.5 + (row + 0.5) * GRID_ROW
            tiles.write(left, middle, label(name), color=GREY)
            for place, index in enumerate(grid.indices[row].tolist()):
                if index >= 0:
                    self.draw_message(index, first + place * cell, middle)

    def draw_message(self, index: int, left: float, middle: float) -> None:
        """Draw a message, beside its object where that can be drawn."""
        if self.has_objects:
            if index in self.pictures:
                self.tiles.image(self.pictures[index][0], left + OBJECT / 2, middle)
            else:
                self.tiles.object(self.language.concepts(index), left + OBJECT / 2, middle)
            left += OBJECT + 0.12
        self.tiles.draw(self.language.messages[index], left, middle)

    def list_height(self, used: Sequence[Usage]) -> float:
        """Height of a list with its heading."""
        return 0.2 + ROW * len(used)

    def list_width(self, used: Sequence[Usage]) -> float:
        """Width of a list of the most used messages or symbols."""
        texts = max((text_width(_about(usage)) for usage in used), default=0.0)
        return self._texts_left(used) + texts

    def draw_list(self, heading: str, used: Sequence[Usage], left: float, top: float) -> None:
        """Draw a list of the most used messages or symbols."""
        write = self.tiles.write
        write(left, top + 0.1, heading, **HEADING)
        top += 0.2
        texts = left + self._texts_left(used)
        for row, usage in enumerate(used):
            middle = top + (row + 0.5) * ROW
            x = left
            if usage.place is not None:
                write(x, middle, f"{usage.place}.", color=GREY)
                x += 0.25
            self.tiles.draw(usage.symbols, x, middle)
            write(texts - 0.15, middle, f"{usage.count:,} x", ha="right", color=GREY)
            write(texts, middle, _about(usage))

    def _texts_left(self, used: Sequence[Usage]) -> float:
        """Where the texts of a list begin."""
        tiles = max((self.tiles.width(usage.symbols) for usage in used), default=0.0)
        counts = max((text_width(f"{usage.count:,} x") for usage in used), default=0.0)
        places = 0.25 if used and used[0].place is not None else 0.0
        return places + tiles + 0.2 + counts + 0.15


def _about(usage: Usage) -> str:
    return usage.about_text or "no concept in particular"
