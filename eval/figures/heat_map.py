"""A table of numbers as colours, with the numbers in it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.figures.canvas import (
    FONT_SIZE,
    INK,
    LINE,
    fit,
    ink_on,
    label,
    labels,
    look,
    new_figure,
    plain,
    ticks,
    write_title,
)
from ecsuite.eval.statistics.contingency import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = "cividis"
"""Perceptually uniform, the same for readers who tell few colours apart, and ordered in grey."""
MANY = 10_000
"""Cells from which on the colours are an image within an SVG."""
MAX_NUMBERS = 600
"""Most cells that have numbers."""

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
        rows: The names of the rows.
        columns: The names of the columns.
        texts: What stands in the cells; None: the numbers.
        has_texts: Whether anything stands in the cells; nothing does in more than `MAX_NUMBERS`.
        form: Format of a number.
        limits: Numbers of the darkest and the lightest colour; None: the lowest and the highest.
        names: What rows and columns are.
        scale: What the colours stand for; empty: the numbers in the cells, and there is no scale.
        ends: Names of both ends of the scale; None: its numbers.
        outlined: Blocks of cells with a line around.
        title: Above the figure.
        notes: Lines below the title.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    table = np.array([[np.nan if each is None else each for each in row] for row in values], dtype=np.float64)
    table = np.where(np.isfinite(table), table, np.nan).reshape(len(rows), len(columns))
    figure = new_figure()
    grid: Any = figure.subplots(squeeze=False)
    axes = grid[0, 0]
    axes.grid(False)
    axes.set_facecolor(LINE)
    low, high = limits or (np.nanmin(table, initial=np.inf), np.nanmax(table, initial=-np.inf))
    low, high = (low, high) if low < high else (low - 1, low + 1) if np.isfinite(low) else (0, 1)
    mesh = axes.pcolormesh(
        np.ma.masked_invalid(table), cmap=COLOURS, vmin=low, vmax=high, rasterized=table.size > MANY
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
    axes.set_xlabel(label(names[1]) if names[1] else "")
    if names[0]:  # upright beside the rows, it might be longer than these
        corner: dict[str, Any] = {
            "xycoords": "axes fraction",
            "xytext": (-3, 3),
            "textcoords": "offset points",
        }
        axes.annotate(label(names[0]), (0, 1), ha="right", **corner)
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
    write_title(figure, title, notes)
    height = max((0.13 if texts is None else 0.17) * len(rows), 0.8 * bool(scale))
    fit(figure, grid, max(0.12, _width(axes, longest) + FONT_SIZE / 72) * len(columns), height, {})
    if texts is not None:
        _write_cells(axes, table, texts, mesh)  # last, as each change of the layout measures all texts
    return figure


def _width(axes: Any, text: str) -> float:
    """Width of a text in inches."""
    written = axes.text(0, 0, text)
    width = written.get_window_extent().width / axes.figure.dpi
    written.remove()
    return float(width)


def _write_cells(axes: Any, table: Floats, texts: Sequence[Sequence[str]], mesh: Any) -> None:
    """Write into the cells, black or white."""
    from matplotlib.colors import to_hex

    for (row, column), value in np.ndenumerate(table):
        if texts[row][column]:
            ink = INK if np.isnan(value) else ink_on(to_hex(mesh.to_rgba(value)))
            place = (column + 0.5, row + 0.5, plain(texts[row][column]))
            axes.text(*place, ha="center", va="center_baseline", color=ink)
