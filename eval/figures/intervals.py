"""Values with their intervals as dots and whiskers: a row a name, its series in it, and panels side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.figures.canvas import (
    ARROWS,
    COLOURS,
    MARKERS,
    MAX_LABEL,
    SOFT,
    finite,
    fit,
    label,
    labels,
    look,
    new_figure,
    plain,
    ticks,
    write_title,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP, GAP = 0.11, 0.09
"""Height of a series, and of the space between rows, in inches."""
LEAST_WIDTH = 1.5
"""Least width of a panel in inches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A value of a row."""

    row: str
    """The name of the row."""
    value: float | None
    """None: there is none, which is said."""
    low: float | None = None
    """The interval's ends; None: no interval."""
    high: float | None = None
    series: str = ""
    """What is told apart by colour and marker, and named in the legend; empty: the same for all."""
    group: str = ""
    """The heading that the row stands under."""
    direction: str | None = None
    """Which way is better: higher, lower or None."""
    text: str = ""
    """What stands at the end of the row."""
    single: Sequence[float] = ()
    """Values that the mean is over, such as seeds: drawn small."""
    is_faint: bool = False
    """Whether it is no more than chance: grey."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """A column of a figure, which has the rows of all panels."""

    points: Sequence[Point]
    axis: str = ""
    """What the values are."""
    lines: Mapping[str, float] = field(default_factory=dict)
    """Vertical lines by the name of what they stand for."""
    of_single: str = "one seed"
    """What the small marks are, in the legend."""


@look()
def intervals(*panels: Panel, title: str = "", notes: Sequence[str] = ()) -> "Figure":
    """Draw values with their intervals.

    Args:
        panels: From left to right; rows are in the order of the points.
        title: Above the figure.
        notes: Lines below the title.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    points = [point for panel in panels for point in panel.points]
    series = list(dict.fromkeys(point.series for point in points))
    rows, headings, height = _rows(panels)
    figure = new_figure(height=height)
    grid: Any = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    columns = grid[0]
    handles: dict[str, Any] = {}
    for axes, panel in zip(columns, panels, strict=True):
        for point in panel.points:
            beside = [each for each in panel.points if each.row == point.row]
            place = rows[point.row] + STEP * (beside.index(point) - (len(beside) - 1) / 2)
            colour = SOFT if point.is_faint else COLOURS[series.index(point.series) % len(COLOURS)]
            marker = MARKERS[series.index(point.series) % len(MARKERS)]
            _draw(axes, point, place, {"color": colour, "marker": marker}, handles, panel.of_single)
            is_alone = sum(bool(each.text) for each in beside) == 1
            _write(axes, 1, rows[point.row] if is_alone else place, plain(point.text), color=colour)
        for name, value in panel.lines.items():
            handles[name] = axes.axvline(value, color=SOFT, linestyle=":", linewidth=1)
        _format(axes, panel)
    directions = {point.row: point.direction for point in points if point.direction}
    names = dict.fromkeys(point.row for point in points)
    shown = labels(names, 2 * MAX_LABEL)
    columns[0].set_ylim(height, 0)
    arrows = [ARROWS[directions.get(name)] for name in names]
    columns[0].set_yticks([rows[name] for name in names], list(map("".join, zip(shown, arrows, strict=True))))
    for name, place in headings.items():
        _write(columns[0], 0, place, label(name, 2 * MAX_LABEL), weight="bold")
    write_title(figure, title, notes)
    fit(figure, grid, LEAST_WIDTH * len(panels), height, handles)
    return figure


def _rows(panels: Sequence[Panel]) -> tuple[dict[str, float], dict[str, float], float]:
    """The middle of each row, that of each heading, and the height of all, in inches from the top."""
    groups: dict[str, dict[str, int]] = {}
    for panel in panels:
        counts = Counter(point.row for point in panel.points)
        for point in panel.points:
            of_group = groups.setdefault(point.group, {})
            of_group[point.row] = max(of_group.get(point.row, 0), counts[point.row])
    rows: dict[str, float] = {}
    headings: dict[str, float] = {}
    height = GAP / 2
    for group, members in groups.items():
        if group:
            headings[group] = height + STEP / 2 + GAP / 4
            height += STEP + GAP
        for row, most in members.items():
            rows[row] = height + STEP * most / 2
            height += STEP * most + GAP
    return rows, headings, max(height - GAP / 2, STEP + GAP)


def _format(axes: Any, panel: Panel) -> None:
    """Lines along the values only."""
    from matplotlib.ticker import NullLocator

    has_values = any(point.value is not None for point in panel.points)
    axes.set_xlabel(plain(panel.axis))
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.06)
    axes.xaxis.set_major_locator(ticks(4) if has_values else NullLocator())


def _draw(
    axes: Any, point: Point, height: float, look_of: dict[str, Any], handles: dict[str, Any], of_single: str
) -> None:
    """Draw a value, its interval, and what the mean is over."""
    value, low, high = finite([point.value, point.low, point.high])
    if np.isnan(value):
        _write(axes, 0, height, "not defined", color=SOFT)
        return
    colour = look_of["color"]
    singles = finite(point.single)
    if len(singles) > 1:
        small = {"color": colour, "alpha": 0.6, "markersize": 5, "markeredgewidth": 0.7}
        handles.setdefault(of_single, axes.plot(singles, [height] * len(singles), "|", **small)[0])
    if not np.isnan(low + high):
        axes.plot([low, high], [height, height], color=colour, solid_capstyle="butt")
    [mark] = axes.plot([value], [height], linestyle="", **look_of)
    if point.series and (point.series not in handles or not point.is_faint):
        handles[point.series] = mark


def _write(axes: Any, x: float, height: float, text: str, **look_of: Any) -> None:
    """Write from the left (0) or after the right (1) end of a row on."""
    if text:
        place = {"xycoords": axes.get_yaxis_transform(), "xytext": (3, 0), "textcoords": "offset points"}
        axes.annotate(text, (x, height), **place, va="center_baseline", **look_of)
