"""Lines over a numeric axis with bands of intervals, in one or several panels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.figures.canvas import (
    COLOURS,
    INK,
    MARKERS,
    MAX_LABEL,
    MAX_LISTED,
    SOFT,
    STYLES,
    finite,
    fit,
    label,
    look,
    new_figure,
    plain,
    require_values,
    ticks,
    write_title,
)
from ecsuite.eval.statistics.contingency import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 1.6
"""Height of a panel in inches."""
MOST_IN_A_ROW = 3
"""Most panels side by side."""
FEW_POINTS = 30
"""Most points of a line that all have a mark."""
FEW_VALUES = 6
"""Most values across that have ticks of their own."""
LEVEL: dict[str, Any] = {"color": SOFT, "linestyle": (0, (1, 1)), "linewidth": 1}
"""Look of horizontal lines."""
LOGARITHMIC = 30
"""A numeric axis is logarithmic if its largest value is so many times its smallest one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """One line."""

    x: Sequence[float]
    y: Sequence[float | None]
    """As many; None is a gap."""
    low: Sequence[float | None] | None = None
    """The ends of the interval at each point; None: there are none."""
    high: Sequence[float | None] | None = None
    name: str = ""
    """What is told apart by colour and marker."""
    kind: str = ""
    """What is told apart by line style, such as training and validation; empty: names have styles, too."""
    panel: str = ""
    """The panel that it is in."""
    is_points: bool = False
    """Whether its points are not connected."""
    has_marks: bool = True
    """Whether its points are marked, where they are few."""
    has_arrows: bool = False
    """Whether thin arrows lead from each point to the next."""


@look()
def curves(
    lines: Sequence[Curve],
    *,
    x: str | Mapping[str, str],
    y: str | Mapping[str, str],
    is_logarithmic: bool = False,
    levels: Mapping[str, float] | None = None,
    limits: tuple[float | None, float | None] = (None, None),
    heading: str = "",
    title: str = "",
    notes: Sequence[str] = (),
) -> "Figure":
    """Draw lines over a numeric axis.

    Args:
        lines: The lines.
        x: What the axis across is; by panel, if panels have axes of their own.
        y: What the axis upwards is; by panel, if panels have axes of their own.
        is_logarithmic: Whether the axis across is logarithmic.
        levels: Horizontal lines by name, such as chance.
        limits: Ends of the axis upwards; None: as the values need.
        heading: What the names are, before these in the legend.
        title: Above the figure.
        notes: Lines below the title.

    Raises:
        ConfigError: If there are no values, or matplotlib is not installed.
    """
    require_values(value for line in lines for value in line.x)
    panels, names, kinds = (
        list(dict.fromkeys(getattr(line, key) for line in lines)) or [""] for key in ("panel", "name", "kind")
    )
    figure = new_figure()
    across = 2 if len(panels) == 4 else min(MOST_IN_A_ROW, len(panels))
    down = math.ceil(len(panels) / across)
    grid: Any = figure.subplots(
        down, across, squeeze=False, sharex=isinstance(x, str), sharey=isinstance(y, str)
    )
    looks = _looks(names, kinds)
    for place, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        scaled = lines if isinstance(x, str) else [line for line in lines if line.panel == panel]
        _draw_panel(axes, scaled, looks, panel, levels or {}, is_logarithmic=is_logarithmic)
        is_lowest, is_first = place + across >= len(panels), place % across == 0
        if isinstance(x, str):
            axes.tick_params(labelbottom=is_lowest)
            axes.set_xlabel(plain(x) if is_lowest else "")
        else:
            axes.set_xlabel(label(x[panel]))
        if isinstance(y, str):
            title_of = panel if isinstance(x, str) else ""
            axes.set_title(
                label(title_of, MAX_LABEL * (2 if across < MOST_IN_A_ROW else 1)) if title_of else ""
            )
            axes.set_ylabel(label(y) if is_first else "")
        else:
            axes.set_ylabel(label(y[panel]))
        axes.set_ylim(*limits)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    write_title(figure, title, notes)
    are_listed = len(names) <= MAX_LISTED
    points = {(line.name, line.kind) for line in lines if line.is_points}
    bare = {(line.name, line.kind) for line in lines if not line.has_marks}
    looks = {
        key: look_of | ({"linestyle": ""} if key in points else {}) | ({"marker": ""} if key in bare else {})
        for key, look_of in looks.items()
    }
    handles = _handles(looks, names if are_listed else [], kinds, levels or {})
    fit(figure, grid, 1.7 * across, HEIGHT, handles, heading if are_listed else "")
    return figure


def draw_on(
    axes: Any,
    lines: Sequence[Curve],
    *,
    x: str,
    y: str,
    levels: Mapping[str, float],
    limits: tuple[float | None, float | None],
) -> None:
    """Draw lines on axes of another page, with a legend where there is room; for the arguments see `curves`."""
    names, kinds = (
        list(dict.fromkeys(getattr(line, key) for line in lines)) or [""] for key in ("name", "kind")
    )
    looks = _looks(names, kinds)
    _draw_panel(axes, lines, looks, "", levels, is_logarithmic=False)
    axes.set(xlabel=plain(x), ylabel=plain(y), ylim=limits)
    handles = _handles(looks, names, kinds, levels)
    axes.legend(list(handles.values()), list(map(label, handles)), loc="best")


Looks = Mapping[tuple[str, str], dict[str, Any]]


def _draw_panel(
    axes: Any,
    lines: Sequence[Curve],
    looks: Looks,
    panel: str,
    levels: Mapping[str, float],
    *,
    is_logarithmic: bool,
) -> None:
    """Draw the lines of a panel, and levels."""
    for line in lines:
        if line.panel == panel:
            _draw(axes, line, looks[line.name, line.kind])
    for level in levels.values():
        axes.axhline(level, **LEVEL)
    _scale(axes, finite([value for line in lines for value in line.x]), is_logarithmic)


def _looks(names: Sequence[str], kinds: Sequence[str]) -> Looks:
    """How lines are drawn, by name and kind; too many to be listed are alike and thin."""
    if len(names) > MAX_LISTED:
        thin = {"color": COLOURS[0], "linewidth": 0.6, "alpha": 0.6}
        return {(name, kind): thin for name in names for kind in kinds}
    return {
        (name, kind): _look(place, number if len(kinds) > 1 else place)
        for place, name in enumerate(names)
        for number, kind in enumerate(kinds)
    }


def _look(place: int, style: int) -> dict[str, Any]:
    colour = COLOURS[place % len(COLOURS)]
    return {
        "color": INK if colour == "#000000" else colour,
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": STYLES[(style + place // len(COLOURS)) % len(STYLES)],
        "markersize": 3.5,
    }


def _draw(axes: Any, line: Curve, look_of: dict[str, Any]) -> None:
    """Draw a line and its band; of a single point, a whisker."""
    x, y = finite(line.x), finite(line.y)
    if line.has_arrows:
        arrow = {
            "arrowstyle": "->",
            "color": look_of["color"],
            "linewidth": 0.7,
            "alpha": 0.7,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        axes.plot(x, y, linestyle="")  # sets the limits
        for start, end in pairwise(zip(x.tolist(), y.tolist(), strict=True)):
            axes.annotate("", end, start, arrowprops=arrow)
        return
    points: dict[str, Any] = {"linestyle": ""} if line.is_points else {}
    points |= {} if line.has_marks else {"marker": ""}
    axes.plot(x, y, **look_of | points, markevery=1 if line.is_points else max(1, len(x) // FEW_POINTS))
    if line.low is None or line.high is None or "alpha" in look_of:
        return
    low, high, colour = finite(line.low), finite(line.high), look_of["color"]
    if np.isfinite(low + high).sum() == 1 or line.is_points:
        axes.vlines(x, low, high, color=colour, linewidth=1)
    if not line.is_points:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def _scale(axes: Any, values: Floats, is_logarithmic: bool) -> None:
    """Few ticks across: where the values are, if these are few and not close to each other."""
    from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

    different = np.unique(values[np.isfinite(values)])
    scaled = np.log(different) if is_logarithmic else different
    if len(different) <= FEW_VALUES and (np.diff(scaled) > 0.1 * np.ptp(scaled)).all():
        locator: Any = FixedLocator(different.tolist())
    else:
        locator = LogLocator(numticks=6) if is_logarithmic else ticks(4)
    axes.set_xscale("log" if is_logarithmic else "linear")
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.6g}")
    axes.yaxis.set_major_locator(ticks(5))


def _handles(
    looks: Looks,
    names: Sequence[str],
    kinds: Sequence[str],
    levels: Mapping[str, float],
) -> dict[str, Any]:
    """What the legend shows: names, what the line styles are, and levels."""
    from matplotlib.lines import Line2D

    handles = {name: Line2D([], [], **looks[name, kinds[0]]) for name in names if name}
    for number, kind in enumerate(kinds):
        if kind:
            style: Any = STYLES[number % len(STYLES)]
            handles[kind] = Line2D([], [], color=COLOURS[0] if len(names) == 1 else INK, linestyle=style)
    return handles | {name: Line2D([], [], **LEVEL) for name in levels}
