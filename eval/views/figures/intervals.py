"""Values with intervals as dots and whiskers, in rows and panels; scores of a corpus."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.metrics.conclusions import Conclusion
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.metrics.traits import QUESTIONS
from ecsuite.eval.views.figures.canvas import (
    ARROWS,
    COLOURS,
    MARKERS,
    MAX_LABEL,
    SOFT,
    axis_label,
    finite,
    fit,
    label,
    labels,
    look,
    new_figure,
    plain,
    save,
    set_caption,
    ticks,
)
from ecsuite.tables.cells import MARKS, OF_MARKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPLIT = "without a mean: seeds, some of which formed a protocol and others did not"
"""Note on values without a mean."""
STEP, GAP = 0.11, 0.09
"""Height of a series, and of the space between rows, in inches."""
LEAST_WIDTH = 1.5
"""Minimum width of a panel in inches."""
SHARE_RANGE = (-1.0, 2.0)
"""Range of an axis of shares; scores outside have another unit, and are listed in a note."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """A value of a row."""

    row: str
    """Name of the row."""
    value: float | None
    """Value; None: none; the figure then has `single`, or shows that it is missing."""
    low: float | None = None
    """Ends of the interval; None: no interval."""
    high: float | None = None
    series: str = ""
    """Name in the legend; each name has its own colour and marker; empty: one style for all."""
    group: str = ""
    """Heading above the row."""
    direction: str | None = None
    """Better direction: higher, lower or None."""
    text: str = ""
    """Text at the end of the row."""
    single: Sequence[float] = ()
    """Single values, such as seeds, whose mean is `value`; they have small marks."""
    is_faint: bool = False
    """Whether it does not differ from chance, and is grey."""
    bound: str | None = None
    """Whether the value is a bound of the true value, which has a mark (`MARKS`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """Column of a figure; all panels share their rows."""

    points: Sequence[Point]
    axis: str = ""
    """Name of the axis."""
    lines: Mapping[str, float] = field(default_factory=dict)
    """Vertical lines by name in the legend."""
    single_name: str = "one seed"
    """Name of the small marks in the legend."""


@look()
def intervals(*panels: Panel, title: str = "", notes: Sequence[str] = ()) -> "Figure":
    """Draw values with their intervals.

    Args:
        panels: Panels from left to right; rows are in the order of the points.
        title: Title of the figure.
        notes: Lines below the title.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    points = [point for panel in panels for point in panel.points]
    series = list(dict.fromkeys(point.series for point in points))
    rows, headings, height = _lay_out(panels)
    figure = new_figure(height=height)
    grid: Any = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    columns = grid[0]
    handles: dict[str, Any] = {}
    for axes, panel in zip(columns, panels, strict=True):
        for point in panel.points:
            in_row = [other for other in panel.points if other.row == point.row]
            height_of_point = rows[point.row] + STEP * (in_row.index(point) - (len(in_row) - 1) / 2)
            colour = SOFT if point.is_faint else COLOURS[series.index(point.series) % len(COLOURS)]
            marker = MARKERS[series.index(point.series) % len(MARKERS)]
            _draw(
                axes, point, height_of_point, {"color": colour, "marker": marker}, handles, panel.single_name
            )
            has_one_text = sum(bool(other.text) for other in in_row) == 1
            text_height = rows[point.row] if has_one_text else height_of_point
            _write(axes, 1, text_height, plain(point.text), color=colour)
        for name, value in panel.lines.items():
            handles[name] = axes.axvline(value, color=SOFT, linestyle=":", linewidth=1)
        _format(axes, panel)
    directions = {point.row: point.direction for point in points if point.direction}
    names = dict.fromkeys(point.row for point in points)
    row_labels = labels(names, 2 * MAX_LABEL)
    columns[0].set_ylim(height, 0)
    arrows = [ARROWS[directions.get(name)] for name in names]
    columns[0].set_yticks(
        [rows[name] for name in names], list(map("".join, zip(row_labels, arrows, strict=True)))
    )
    for name, heading_height in headings.items():
        _write(columns[0], 0, heading_height, label(name, 2 * MAX_LABEL), weight="bold")
    has_bounds = any(point.bound for point in points)
    is_split = any(point.value is None and point.single for point in points)
    set_caption(figure, title, [*notes, *[SPLIT] * is_split, *([OF_MARKS] if has_bounds else [])])
    fit(figure, grid, LEAST_WIDTH * len(panels), height, handles)
    return figure


def _lay_out(panels: Sequence[Panel]) -> tuple[dict[str, float], dict[str, float], float]:
    """Lay out rows: the middle of each row and heading in inches from the top, and the total height."""
    groups: dict[str, dict[str, int]] = {}
    for panel in panels:
        counts = Counter(point.row for point in panel.points)
        for point in panel.points:
            members = groups.setdefault(point.group, {})
            members[point.row] = max(members.get(point.row, 0), counts[point.row])
    rows: dict[str, float] = {}
    headings: dict[str, float] = {}
    height = GAP / 2
    for group, members in groups.items():
        if group:
            headings[group] = height + STEP / 2 + GAP / 4
            height += STEP + GAP
        for row, num_series in members.items():
            rows[row] = height + STEP * num_series / 2
            height += STEP * num_series + GAP
    return rows, headings, max(height - GAP / 2, STEP + GAP)


def _format(axes: Any, panel: Panel) -> None:
    from matplotlib.ticker import NullLocator

    has_values = any(point.value is not None for point in panel.points)
    axes.set_xlabel(plain(axis_label(panel.axis)))
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.06)
    axes.xaxis.set_major_locator(ticks(4) if has_values else NullLocator())


def _draw(
    axes: Any, point: Point, height: float, style: dict[str, Any], handles: dict[str, Any], single_name: str
) -> None:
    value, low, high = finite([point.value, point.low, point.high])
    if np.isnan(value):
        if point.single:
            [mark] = axes.plot(finite(point.single), [height] * len(point.single), linestyle="", **style)
            handles.setdefault(point.series or single_name, mark)
        else:
            _write(axes, 0, height, "not defined", color=SOFT)
        return
    colour = style["color"]
    singles = finite(point.single)
    if len(singles) > 1:
        small = {"color": colour, "alpha": 0.6, "markersize": 5, "markeredgewidth": 0.7}
        handles.setdefault(single_name, axes.plot(singles, [height] * len(singles), "|", **small)[0])
    if not np.isnan(low + high):
        axes.plot([low, high], [height, height], color=colour, solid_capstyle="butt")
    [mark] = axes.plot([value], [height], linestyle="", **style)
    if point.bound:
        above = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "fontsize": "small"}
        axes.annotate(MARKS[point.bound], (value, height), color=colour, **above)
    if point.series and (point.series not in handles or not point.is_faint):
        handles[point.series] = mark


def _write(axes: Any, x: float, height: float, text: str, **style: Any) -> None:
    """Write a text at the left end (x = 0) of a row or after its right end (x = 1)."""
    if text:
        position = {"xycoords": axes.get_yaxis_transform(), "xytext": (3, 0), "textcoords": "offset points"}
        axes.annotate(text, (x, height), **position, va="center_baseline", **style)


def draw_scores(scores: Sequence[Score], conclusions: Sequence[Conclusion], title: str, *paths: Path) -> None:
    """Draw the scores that have an interval or a chance level, by question; grey if they do not differ from chance.

    Args:
        scores: All scores of a corpus.
        conclusions: Conclusion on each score.
        title: Title of the figure.
        *paths: Output files, .svg, .pdf or .png.

    Raises:
        ConfigError: If matplotlib is missing, or a file is not .svg, .pdf or .png.
    """
    lines = {
        score.name: list(_score_points(score, conclusion))
        for score, conclusion in sorted(
            zip(scores, conclusions, strict=True), key=lambda pair: list(QUESTIONS).index(pair[1].question)
        )
        if score.value is not None and (score.ci95 is not None or score.chance is not None)
    }
    shown = [point for points in lines.values() if all(map(is_share, points)) for point in points]
    left_out = [name for name, points in lines.items() if not all(map(is_share, points))]
    save(intervals(Panel(points=shown, axis="score"), title=title, notes=unit_notes(left_out)), *paths)


def is_share(point: Point) -> bool:
    """Return whether a value and its interval lie in the plotted range of shares."""
    least, most = SHARE_RANGE
    return all(least <= value <= most for value in (point.value, point.low, point.high) if value is not None)


def unit_notes(left_out: Sequence[str]) -> list[str]:
    """Return the note on scores that are left out, if any."""
    return [f"in other units, not drawn: {', '.join(left_out)}"] if left_out else []


def _score_points(score: Score, conclusion: Conclusion) -> Iterator[Point]:
    low, high = score.ci95 or (None, None)
    group = QUESTIONS[conclusion.question]
    yield Point(
        row=score.name,
        group=group,
        value=score.value,
        low=low,
        high=high,
        series="score, 95 % interval",
        direction=conclusion.direction,
        text=f"{score.value:.3f}  {conclusion.word}",
        is_faint=conclusion.relation == "equal",
    )
    if (chance := score.chance) is not None:
        series = "chance: shuffled meanings, 95 % of them"
        yield Point(
            row=score.name, group=group, value=chance.level, low=chance.low, high=chance.high, series=series
        )
