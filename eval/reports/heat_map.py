"""A table of numbers as a picture, coloured by their size."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.reports.canvas import FONT_SIZE, TITLE_SIZE, new_figure, save, text_width

ROW = 0.34
"""Height of a row in inches."""


def draw_table(
    values: NDArray[np.float64],
    rows: Sequence[str],
    columns: Sequence[str],
    *paths: Path,
    title: str,
    names: tuple[str, str],
    form: str = ".3g",
    limits: tuple[float, float] | None = None,
) -> None:
    """Draw a table of numbers, NaN as a dash.

    Args:
        values: Shape (num_rows, num_columns).
        rows: The names of the rows.
        columns: The names of the columns.
        *paths: Output files, .svg or .png.
        title: Of the picture.
        names: What rows and columns are.
        form: Format of a number.
        limits: Numbers of the darkest and the lightest colour; None: the lowest and the highest.

    Raises:
        ConfigError: If matplotlib is missing.
    """
    widest = max(0.5, *(text_width(name) + 0.15 for name in columns))
    left = max(text_width(name) for name in rows) + 0.6
    width, height = left + widest * len(columns) + 0.2, ROW * len(rows) + 1.0
    width = max(width, text_width(title, TITLE_SIZE) + 0.3)
    figure = new_figure(width, height)
    axes = figure.add_axes(
        (left / width, 0.6 / height, widest * len(columns) / width, ROW * len(rows) / height)
    )
    low, high = limits or (np.nanmin(values, initial=np.inf), np.nanmax(values, initial=-np.inf))
    axes.imshow(values, cmap="cividis", aspect="auto", vmin=low, vmax=high)
    for place, value in np.ndenumerate(values):
        share = (value - low) / (high - low) if high > low else 0.5
        text = "-" if np.isnan(value) else format(value, form)
        ink = "black" if np.isnan(value) or share > 0.55 else "white"
        axes.text(place[1], place[0], text, ha="center", va="center", fontsize=FONT_SIZE, color=ink)
    axes.set_xticks(range(len(columns)), list(columns), fontsize=FONT_SIZE)
    axes.set_yticks(range(len(rows)), list(rows), fontsize=FONT_SIZE)
    axes.set_ylabel(names[0], fontsize=FONT_SIZE)
    axes.set_xlabel(names[1], fontsize=FONT_SIZE)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    figure.text(0.1 / width, 1 - 0.2 / height, title, fontsize=TITLE_SIZE, va="center")
    save(figure, *paths)
