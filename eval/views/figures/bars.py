"""Bars with intervals: a group of bars per name, a bar per series, and reference values next to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.views.figures.canvas import (
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
    set_caption,
    ticks,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAST_BAR = 0.13
"""Minimum width of a bar in inches, the height of a line of text."""
BARS_SHARE = 0.8
"""Share of the width of a group that is filled with bars."""
WHISKER: Mapping[str, Any] = {"color": INK, "linewidth": 0.9, "marker": "_", "markersize": 3.5}
"""Style of intervals."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One bar."""

    group: str
    """The name below the group of bars."""
    value: float | None
    """Value; None: missing, which the figure shows."""
    low: float | None = None
    """Ends of the interval; None: no interval."""
    high: float | None = None
    series: str = ""
    """Name in the legend; each name has its own colour and hatch."""
    text: str = ""
    """Text at the end of the bar."""
    reference: float | None = None
    """Value to compare with, such as a paper's; None: no reference."""
    reference_low: float | None = None
    reference_high: float | None = None
    is_lower_bound: bool = False
    """Whether the true reference value may be higher."""
    panel: str = ""
    """Name of the measure; each measure has its own panel."""


@look()
def bars(
    all_bars: Sequence[Bar],
    *,
    reference_name: str = "reference",
    lines: Mapping[str, float] | None = None,
    limits: tuple[float | None, float | None] = (None, None),
    title: str = "",
    notes: Sequence[str] = (),
) -> "Figure":
    """Draw bars.

    Args:
        all_bars: Bars in order.
        reference_name: Name of the reference values in the legend.
        lines: Horizontal lines by name.
        limits: Ends of the axis of the first panel; None: fit to the values.
        title: Title of the figure.
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
    series_of = {
        panel: [name for name in series if any((bar.panel, bar.series) == (panel, name) for bar in all_bars)]
        for panel in names
    }
    most = max((len(each) for each in series_of.values()), default=1)
    width = BARS_SHARE / most
    for axes, panel in zip(panels, names, strict=False):
        for bar in all_bars:
            if bar.panel == panel:
                offset = series_of[panel].index(bar.series) - (len(series_of[panel]) - 1) / 2
                centre = groups.index(bar.group) + width * offset
                _draw(
                    axes,
                    bar,
                    centre,
                    width * 0.9,
                    series.index(bar.series),
                    handles,
                    reference_name,
                    most > 1,
                )
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
    set_caption(figure, title, notes)
    fit(figure, grid, LEAST_BAR / width * max(1, len(groups)), 1.5 if len(names) < 2 else 1.1, handles)
    return figure


def _draw(
    axes: Any,
    bar: Bar,
    centre: float,
    width: float,
    index: int,
    handles: dict[str, Any],
    reference_name: str,
    has_neighbours: bool,
) -> None:
    value, low, high, reference, reference_low, reference_high = finite(
        [bar.value, bar.low, bar.high, bar.reference, bar.reference_low, bar.reference_high]
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
    aside = 0.22 * width if not np.isnan(reference) else 0.0
    if not np.isnan(low + high):
        axes.plot([centre - aside] * 2, [low, high], **WHISKER)
    if not np.isnan(reference):
        if not np.isnan(reference_low + reference_high):
            axes.plot([centre + aside] * 2, [reference_low, reference_high], **WHISKER)
        mark = "^" if bar.is_lower_bound else "D"
        style = {"color": INK, "markerfacecolor": "white", "markersize": 3.5, "zorder": 4}
        [drawn] = axes.plot([centre + aside], [reference], mark, **style)
        handles.setdefault(reference_name, drawn)
    if text:
        top = np.nanmax([value, high, reference, reference_high, 0.0])
        turn = 90 if has_neighbours or len(text) > 3 else 0
        axes.annotate(
            plain(text),
            (centre, top),
            (0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            rotation=turn,
        )
