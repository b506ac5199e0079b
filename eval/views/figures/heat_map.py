"""Tables of numbers as colours: heat map, and the colour chart of the World Color Survey."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.views.figures.canvas import (
    FONT_SIZE,
    INK,
    LINE,
    WIDTHS,
    axis_label,
    fit,
    ink_on,
    label,
    labels,
    look,
    new_figure,
    plain,
    set_caption,
    ticks,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR_MAP = "cividis"
"""Perceptually uniform colour map, also for colour-blind readers and in grey."""
MAX_VECTOR_CELLS = 10_000
"""Maximum number of cells that an SVG has as shapes; more are an embedded image."""
MAX_NUMBERS = 600
"""Maximum number of cells with numbers."""
ROWS = "ABCDEFGHIJ"
"""Names of the rows of the colour chart, from light to dark."""
NO_WORD = (0.93, 0.93, 0.93)
"""Colour of a chip without a word."""
TICK_EVERY = 5
"""Columns between two ticks of the colour chart."""

Block = tuple[int, int, int, int]
"""First row, first column, number of rows and of columns."""


@look()
def heat_map(
    values: Floats | Sequence[Sequence[float | None]],
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    texts: Sequence[Sequence[str]] | None = None,
    has_texts: bool = True,
    form: str = ".3g",
    limits: tuple[float, float] | None = None,
    names: tuple[str, str] = ("", ""),
    scale: str = "",
    ends: tuple[str, str] | None = None,
    outlined: Sequence[Block] = (),
    title: str = "",
    notes: Sequence[str] = (),
) -> "Figure":
    """Draw a table of numbers.

    Args:
        values: Shape (num_rows, num_columns); None, NaN and infinities are grey, with a dash.
        rows: Names of the rows.
        columns: Names of the columns.
        texts: Texts of the cells; None: the numbers.
        has_texts: Whether cells have texts; more than `MAX_NUMBERS` have none.
        form: Format of a number.
        limits: Numbers of the darkest and the lightest colour; None: the lowest and the highest.
        names: Headings of the rows and of the columns.
        scale: Name of the colour scale; empty: no scale, as cells have numbers.
        ends: Names of both ends of the scale; None: its numbers.
        outlined: Blocks of cells with a line around them.
        title: Title of the figure.
        notes: Lines below the title.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    table = np.array(
        [[np.nan if value is None else value for value in row] for row in values], dtype=np.float64
    )
    table = np.where(np.isfinite(table), table, np.nan).reshape(len(rows), len(columns))
    figure = new_figure()
    grid: Any = figure.subplots(squeeze=False)
    axes = grid[0, 0]
    axes.grid(False)
    axes.set_facecolor(LINE)
    low, high = limits or (np.nanmin(table, initial=np.inf), np.nanmax(table, initial=-np.inf))
    low, high = (low, high) if low < high else (low - 1, low + 1) if np.isfinite(low) else (0, 1)
    mesh = axes.pcolormesh(
        np.ma.masked_invalid(table),
        cmap=COLOUR_MAP,
        vmin=low,
        vmax=high,
        rasterized=table.size > MAX_VECTOR_CELLS,
    )
    if not has_texts or table.size > MAX_NUMBERS:
        texts = None
    elif texts is None:
        texts = [["-" if np.isnan(value) else format(value, form) for value in row] for row in table]
    longest = max((text for line in texts or () for text in line), key=len, default="")
    if texts is not None:
        mesh.set(edgecolor="white", linewidth=0.5)
    axes.set_xticks(np.arange(len(columns)) + 0.5, labels(columns))
    axes.set_yticks(np.arange(len(rows)) + 0.5, labels(rows))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel(label(axis_label(names[1])) if names[1] else "")
    if names[0]:  # vertical text next to the rows might be longer than these
        corner: dict[str, Any] = {
            "xycoords": "axes fraction",
            "xytext": (-3, 3),
            "textcoords": "offset points",
        }
        axes.annotate(label(axis_label(names[0])), (0, 1), ha="right", **corner)
    axes.set_ylim(len(rows), 0)
    for first, column, num_rows, num_columns in outlined:
        right, bottom = column + num_columns, first + num_rows
        box = ([column, right, right, column, column], [first, first, bottom, bottom, first])
        for colour, width in (("white", 2.4), ("black", 1.2)):
            axes.plot(*box, color=colour, linewidth=width, clip_on=False)
    if scale:
        bar = figure.colorbar(
            mesh, ax=axes, label=scale, fraction=0.04, pad=0.02, anchor=(0, 1), panchor=False, ticks=ticks(5)
        )
        bar.outline.set_visible(False)
        if ends is not None:
            bar.set_ticks([low, high], labels=list(ends))
    set_caption(figure, title, notes)
    height = max((0.13 if texts is None else 0.17) * len(rows), 0.8 * bool(scale))
    fit(figure, grid, max(0.12, _text_width(axes, longest) + FONT_SIZE / 72) * len(columns), height, {})
    if texts is not None:
        _write_cells(axes, table, texts, mesh)  # last, as each change of the layout measures all texts
    return figure


def _text_width(axes: Any, text: str) -> float:
    written = axes.text(0, 0, text)
    width = written.get_window_extent().width / axes.figure.dpi
    written.remove()
    return float(width)


def _write_cells(axes: Any, table: Floats, texts: Sequence[Sequence[str]], mesh: Any) -> None:
    from matplotlib.colors import to_hex

    for (row, column), value in np.ndenumerate(table):
        if texts[row][column]:
            ink = INK if np.isnan(value) else ink_on(to_hex(mesh.to_rgba(value)))
            axes.text(
                column + 0.5,
                row + 0.5,
                plain(texts[row][column]),
                ha="center",
                va="center_baseline",
                color=ink,
            )


@look()
def colour_chart(
    chart: Ints,
    colours: Floats,
    words: NDArray[np.integer[Any]],
    weights: Floats,
    *,
    title: str = "",
    notes: tuple[str, ...] = (),
) -> "Figure":
    """Draw a mode map as in figure 4 of Zaslavsky et al. (2018), with lines between chips of different words.

    Args:
        chart: Row and column of each chip, (num_chips, 2).
        colours: sRGB of each chip, from 0 to 1, (num_chips, 3).
        words: Most used word of each chip, -1 without one, (num_chips,).
        weights: Weight of each chip in the mean colour of its word, (num_chips,).
        title: Title of the figure.
        notes: Lines below the title.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    num_rows, num_columns = chart.max(0) + 1
    picture = np.ones((num_rows, num_columns, 3))
    names = np.full((num_rows, num_columns), -2)
    for word in np.unique(words):
        of_word = words == word
        mean = NO_WORD if word < 0 else np.average(colours[of_word], axis=0, weights=weights[of_word] + 1e-12)
        picture[chart[of_word, 0], chart[of_word, 1]] = mean
        names[chart[of_word, 0], chart[of_word, 1]] = word
    figure = new_figure(WIDTHS[1], WIDTHS[1] * num_rows / num_columns + 0.6)
    axes: Any = figure.subplots()
    axes.imshow(picture, aspect="auto", interpolation="nearest")
    _draw_borders(axes, names)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_yticks(range(num_rows), list(ROWS[:num_rows]))
    axes.set_xticks(range(0, num_columns, TICK_EVERY))
    set_caption(figure, title, notes)
    return figure


def _draw_borders(axes: Any, names: Ints) -> None:
    down, across = np.nonzero(names[1:] != names[:-1])
    axes.hlines(down + 0.5, across - 0.5, across + 0.5, color=INK, linewidth=0.7)
    down, across = np.nonzero(names[:, 1:] != names[:, :-1])
    axes.vlines(across + 0.5, down - 0.5, down + 0.5, color=INK, linewidth=0.7)
