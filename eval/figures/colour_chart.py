"""The colour chart of the World Color Survey, each chip in the mean colour of what its most used word names."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.figures.canvas import INK, WIDTHS, look, new_figure, write_title
from ecsuite.eval.statistics.contingency import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = "ABCDEFGHIJ"
"""Names of the rows, from light to dark."""
NO_WORD = (0.93, 0.93, 0.93)
"""The colour of a chip that has no word."""
EVERY = 5
"""Columns between two ticks."""


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
    """Draw a mode map, as figure 4 of Zaslavsky et al. (2018), with lines between words.

    Args:
        chart: Row and column of each chip, (num_chips, 2).
        colours: sRGB of each, from 0 to 1, (num_chips, 3).
        words: The most used word of each, -1 without one, (num_chips,).
        weights: How much each counts in the colour of its word, (num_chips,).
        title: Above the figure.
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
    axes.set_xticks(range(0, num_columns, EVERY))
    write_title(figure, title, notes)
    return figure


def _draw_borders(axes: Any, names: Ints) -> None:
    """Draw lines between chips of different words."""
    down, across = np.nonzero(names[1:] != names[:-1])
    axes.hlines(down + 0.5, across - 0.5, across + 0.5, color=INK, linewidth=0.7)
    down, across = np.nonzero(names[:, 1:] != names[:, :-1])
    axes.vlines(across + 0.5, down - 0.5, down + 0.5, color=INK, linewidth=0.7)
