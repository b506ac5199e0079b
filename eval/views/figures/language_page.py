"""Figure of a language: messages with their meanings, the most used messages, and the learning curve.

The layout consists of nested boxes (`matplotlib.offsetbox`), which measure and place their contents.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.eval.results.logs import first_measure
from ecsuite.eval.views.figures.canvas import FONT_SIZE, SOFT, label, look, new_figure, plain, save
from ecsuite.eval.views.figures.curves import STEP, axis_limits, draw_on, learning_curves
from ecsuite.eval.views.figures.tiles import Tiles, can_draw, image, shape, text
from ecsuite.eval.views.language import LanguageView, Usage
from ecsuite.games.pictures.corpora import Pictures, corpus_pictures
from ecsuite.runtime.errors import ConfigError

ROW, GRID_ROW = 19, 26
"""Heights in points of a row of a list and of a row of a grid."""
CURVE = (250, 120)
"""Width and height of the learning curve with its labels, in points."""
MAX_ROWS = 24
"""Maximum number of messages in a table."""
NUM_USED = 6
"""Number of messages, and of symbols, in the lists of the most used."""
SHORT = 8
"""Maximum number of rows of a table with the symbols below it."""
HEADING = {"fontsize": FONT_SIZE + 1, "weight": "bold"}
"""Style of the headings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageColumn:
    """A column of the table."""

    heading: str
    texts: Sequence[str]


@look()
def draw_language(
    language: LanguageView, title: str, lines: Sequence[str], run: Path | None, *paths: Path
) -> None:
    """Draw the page.

    Args:
        language: The language.
        title: Title of the page.
        lines: At most three lines below the title, such as measures and sizes.
        run: Run folder whose learning curve is drawn; None: no curve.
        *paths: Output files, .svg, .pdf or .png.

    Raises:
        ConfigError: If matplotlib is missing, a file has another suffix, or the log of the run can't be read.
    """
    from matplotlib.offsetbox import AnchoredOffsetbox, DrawingArea

    page = LanguagePage(language, run)
    place = DrawingArea(*CURVE)
    curve = [_down([text("Learning curve", **HEADING), place], sep=4)] if run else []
    table, lists = page.table(), page.lists()
    grid = language.grid
    is_short = len(grid.rows if grid else page.rows) <= SHORT
    left, right = ([table, *lists[1:]], [*curve, *lists[:1]]) if is_short else ([table], [*curve, *lists])
    parts = [_down(each, sep=16) for each in (left, right) if each]
    heads = [
        text(plain(title), fontsize=12, weight="bold"),
        *(text(plain(line), color=SOFT) for line in lines),
    ]
    figure = new_figure()
    whole = _down([*heads, _across(parts, sep=26, align="top")], sep=5)
    look_of: dict[str, Any] = {"pad": 1, "borderpad": 0, "frameon": False, "bbox_to_anchor": figure.bbox}
    anchored = AnchoredOffsetbox("upper left", child=whole, **look_of)
    figure.add_artist(anchored)
    extent = anchored.get_window_extent()
    figure.set_size_inches(extent.width / figure.dpi, extent.height / figure.dpi)
    if run is not None:
        figure.draw_without_rendering()  # places the boxes
        box = place.get_window_extent().transformed(figure.transFigure.inverted())
        outer = (box.x0, box.y0, box.width, box.height)
        measure = first_measure(run)
        lines_of_run, levels = learning_curves([run], measure)
        axes = figure.add_axes(outer)
        draw_on(axes, lines_of_run, x=STEP, y=measure, levels=levels, limits=axis_limits(measure))
        axes.set_position(_inner(axes, outer))
    figure.set_layout_engine("none")
    save(figure, *paths)


def _inner(axes: Any, outer: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Position of axes in the figure at which the axes with their labels fill a box."""
    figure = axes.figure
    box = axes.get_tightbbox().transformed(figure.transFigure.inverted())
    left, bottom, width, height = outer
    low, down = left - box.x0, bottom - box.y0
    right, up = box.x1 - left - width, box.y1 - bottom - height
    return left + low, bottom + down, width - low - right, height - down - up


class LanguagePage:
    """Parts of a page about a language."""

    def __init__(self, language: LanguageView, run: Path | None = None) -> None:
        self.language = language
        self.pictures: Pictures = {}
        self.tiles = Tiles(language)
        self.rows = language.examples(MAX_ROWS)
        grid = language.grid
        shown = (
            self.rows if grid is None else [index for index in grid.indices.ravel().tolist() if index >= 0]
        )
        if run is not None and shown and "file" in language.corpus.columns:
            with suppress(ConfigError):  # images are missing or changed
                self.pictures = corpus_pictures(run, language.corpus, shown)
        self.has_objects = bool(shown) and all(
            index in self.pictures or can_draw(language.concepts(index)) for index in shown
        )

    def table(self) -> Any:
        """Table, or grid, of the language."""
        language, grid = self.language, self.language.grid
        if grid is None:
            is_part = len(self.rows) < len(language)
            heading = f"{len(self.rows)} of {len(language):,} messages" if is_part else "Messages"
            columns = [
                [text(plain(column.heading), color=SOFT), *map(text, column.texts)]
                for column in self.columns()
            ]
            messages = [text("", color=SOFT), *map(self.message, self.rows)]
            return _down([text(heading, **HEADING), _table([*columns, messages], ROW)], sep=4)
        heading = f"Messages by {grid.attributes[0]} (rows) and {grid.attributes[1]} (columns){grid.speaker}"
        names = [text(""), *(text(label(name), color=SOFT) for name in grid.rows)]
        columns = [
            [
                text(label(name), color=SOFT),
                *(self.message(index) if index >= 0 else text("") for index in indices),
            ]
            for name, indices in zip(grid.columns, grid.indices.T.tolist(), strict=True)
        ]
        return _down([text(plain(heading), **HEADING), _table([names, *columns], GRID_ROW)], sep=4)

    def columns(self) -> list[PageColumn]:
        """Columns of the table before the messages: one per attribute, or the meaning as one text."""
        language = self.language
        if language.attributes:
            values = [language.values(index) for index in self.rows]
            texts = [[label(row[place]) for row in values] for place in range(len(language.attributes))]
            headings = [label(name) for name in language.attributes]
            if len("".join(headings)) > 50:  # attribute0, attribute1 ... of many attributes
                headings = [name.removeprefix("attribute") for name in headings]
            if "file" in language.corpus.columns:
                texts.insert(0, [label(str(language.corpus.columns["file"][index])) for index in self.rows])
                headings.insert(0, "file")
        else:
            texts = [[label(language.meaning(index) or f"message {index}") for index in self.rows]]
            headings = ["meaning" if language.meaning(0) else "position in the corpus"] if self.rows else [""]
        if language.speakers is not None:
            texts.append([label(language.speakers[index]) for index in self.rows])
            headings.append("speaker")
        return [
            PageColumn(heading=heading, texts=column) for heading, column in zip(headings, texts, strict=True)
        ]

    def message(self, index: int) -> Any:
        """Message, next to its object if this can be drawn."""
        tiles = self.tiles.message(self.language.messages[index])
        if not self.has_objects:
            return tiles
        has_image = index in self.pictures
        thing = image(self.pictures[index][0]) if has_image else shape(self.language.concepts(index))
        return _across([thing, tiles], sep=6)

    def lists(self) -> list[Any]:
        """Lists of the most used messages, and symbols, with headings."""
        used = {
            "Most used messages": self.language.most_used_messages(NUM_USED),
            "Most used symbols, by place": self.language.most_used_symbols(NUM_USED),
        }
        return [
            _down([text(heading, **HEADING), self._usages(each)], sep=4)
            for heading, each in used.items()
            if each
        ]

    def _usages(self, used: Sequence[Usage]) -> Any:
        columns = [
            [self.tiles.message(usage.symbols) for usage in used],
            [text(f"{usage.count:,} x", color=SOFT) for usage in used],
            [text(plain(usage.about_text or "no concept in particular")) for usage in used],
        ]
        if used[0].place is not None:
            columns.insert(0, [text(f"{usage.place}.", color=SOFT) for usage in used])
        return _table(columns, ROW)


def _table(columns: Sequence[Sequence[Any]], height: float) -> Any:
    """Arrange columns with rows of this height in points."""
    return _across(
        [_down([_cell(each, height) for each in column], sep=0) for column in columns], align="top"
    )


def _cell(content: Any, height: float) -> Any:
    from matplotlib.offsetbox import DrawingArea

    return _across([DrawingArea(0, height), content], sep=0)


def _across(boxes: Sequence[Any], *, sep: float = 9, align: Any = "center") -> Any:
    from matplotlib.offsetbox import HPacker

    return HPacker(children=list(boxes), pad=0, sep=sep, align=align)


def _down(boxes: Sequence[Any], *, sep: float) -> Any:
    from matplotlib.offsetbox import VPacker

    return VPacker(children=list(boxes), pad=0, sep=sep, align="left")
