"""Bars from 0, with intervals: a group of bars a name, a bar a series, and another figure's value beside each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.figures.canvas import (
    COLOURS,
    HATCHES,
    INK,
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

LEAST_BAR = 0.13
"""Least width of a bar in inches, that of a line of letters."""
SHARE = 0.8
"""Of the width of a group that is bars."""
WHISKER: Mapping[str, Any] = {"color": INK, "linewidth": 0.9, "marker": "_", "markersize": 3.5}
"""Look of intervals."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One bar."""

    group: str
    """The name below the group of bars."""
    value: float | None
    """None: there is none, which is said."""
    low: float | None = None
    """The interval's ends; None: no interval."""
    high: float | None = None
    series: str = ""
    """What is told apart by colour and hatch, and named in the legend."""
    text: str = ""
    """What stands at the end of the bar."""
    beside: float | None = None
    """Another figure's value, such as a paper's; None: there is none."""
    beside_low: float | None = None
    beside_high: float | None = None
    is_beyond: bool = False
    """Whether that value is only known to be at least so much."""
    panel: str = ""
    """What the values are: bars of other units have panels of their own, below one another."""


@look()
def bars(
    all_bars: Sequence[Bar],
    *,
    of_beside: str = "beside",
    lines: Mapping[str, float] | None = None,
    limits: tuple[float | None, float | None] = (None, None),
    title: str = "",
    notes: Sequence[str] = (),
) -> "Figure":
    """Draw bars.

    Args:
        all_bars: In their order.
        of_beside: What the values beside are, in the legend.
        lines: Horizontal lines by name.
        limits: Ends of the axis of the first panel; None: as the values need.
        title: Above the figure.
        notes: Lines below the title.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    groups, series, names = (
        list(dict.fromkeys(getattr(bar, key) for bar in all_bars)) for key in ("group", "series", "panel")
    )
    figure = new_figure()
    grid: Any = figure.subplots(max(1, len(names)), 1, squeeze=False, sharex=True)
    panels = grid[:, 0]
    handles: dict[str, Any] = {}
    of_panel = {panel: [name for name in series if _has(all_bars, panel, name)] for panel in names}
    most = max((len(each) for each in of_panel.values()), default=1)
    width = SHARE / most
    for axes, panel in zip(panels, names, strict=False):
        for bar in all_bars:
            if bar.panel == panel:
                place = of_panel[panel].index(bar.series) - (len(of_panel[panel]) - 1) / 2
                centre = groups.index(bar.group) + width * place
                _draw(axes, bar, centre, width * 0.9, series.index(bar.series), handles, of_beside, most > 1)
        axes.set_ylabel(label(panel) if panel else "")
        axes.yaxis.set_major_locator(ticks(5))
        axes.grid(axis="x", visible=False)
        axes.tick_params(axis="x", length=0)
        if axes.get_ylim()[0] < 0:
            axes.axhline(0, color=INK, linewidth=0.6)
    for name, height in (lines or {}).items():
        handles[name] = panels[0].axhline(height, color=INK, linestyle=":", linewidth=1)
    if groups:
        panels[-1].set_xticks(range(len(groups)), labels(groups))
        panels[-1].set_xlim(-0.55, len(groups) - 0.45)
    panels[0].set_ylim(*limits)
    write_title(figure, title, notes)
    fit(figure, grid, LEAST_BAR / width * max(1, len(groups)), 1.5 if len(names) < 2 else 1.1, handles)
    return figure


def _has(all_bars: Sequence[Bar], panel: str, series: str) -> bool:
    return any((bar.panel, bar.series) == (panel, series) for bar in all_bars)


def _draw(
    axes: Any,
    bar: Bar,
    centre: float,
    width: float,
    index: int,
    handles: dict[str, Any],
    of_beside: str,
    is_one_of: bool,
) -> None:
    """Draw a bar, its interval, what stands at its end, and the value beside it."""
    value, low, high, beside, beside_low, beside_high = finite(
        [bar.value, bar.low, bar.high, bar.beside, bar.beside_low, bar.beside_high]
    )
    text = bar.text
    if np.isnan(value):
        text, value = text or "none", 0.0
    else:
        colour, hatch = COLOURS[index % len(COLOURS)], HATCHES[index % len(HATCHES)]
        [drawn] = axes.bar(
            [centre], [value], width, color=colour, hatch=hatch, edgecolor="white", linewidth=0
        )
        if bar.series:
            handles.setdefault(bar.series, drawn)
    aside = 0.22 * width if not np.isnan(beside) else 0.0
    if not np.isnan(low + high):
        axes.plot([centre - aside] * 2, [low, high], **WHISKER)
    if not np.isnan(beside):
        if not np.isnan(beside_low + beside_high):
            axes.plot([centre + aside] * 2, [beside_low, beside_high], **WHISKER)
        mark = "^" if bar.is_beyond else "D"
        look_of = {"color": INK, "markerfacecolor": "white", "markersize": 3.5, "zorder": 4}
        [drawn] = axes.plot([centre + aside], [beside], mark, **look_of)
        handles.setdefault(of_beside, drawn)
    if text:
        top = np.nanmax([value, high, beside, beside_high, 0.0])
        turn = 90 if is_one_of or len(text) > 3 else 0
        axes.annotate(
            plain(text),
            (centre, top),
            (0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            rotation=turn,
        )
