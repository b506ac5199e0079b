"""Lines over a numeric axis with bands of intervals, in one or several panels; learning curves of runs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.results.logs import SECTIONS, read_log
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import Bound
from ecsuite.eval.views.figures.canvas import (
    COLOURS,
    INK,
    MARKERS,
    MAX_LABEL,
    MAX_LISTED,
    SOFT,
    STYLES,
    axis_label,
    finite,
    fit,
    label,
    look,
    new_figure,
    plain,
    require_values,
    save,
    set_caption,
    ticks,
)
from ecsuite.formats.strict_json import read_json
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.games.tasks.directions import time_bound
from ecsuite.parts.config import parse_yaml
from ecsuite.tables.cells import MARKS, OF_MARKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 1.6
"""Height of a panel in inches."""
MAX_COLUMNS = 3
"""Maximum number of panels in a row."""
FEW_POINTS = 30
"""Maximum number of points of a line on which each point has a marker."""
FEW_VALUES = 6
"""Maximum number of values of the horizontal axis that all get ticks."""
LEVEL: dict[str, Any] = {"color": SOFT, "linestyle": (0, (1, 1)), "linewidth": 1}
"""Style of horizontal lines."""
BOUNDARY: dict[str, Any] = {"color": SOFT, "linestyle": (0, (5, 2)), "linewidth": 0.6}
"""Style of vertical lines."""
MOST_BOUNDARIES = 40
"""Most generations whose beginnings are marked."""
LOGARITHMIC = 30
"""Ratio of the largest to the smallest value from which an axis is logarithmic."""
STEP = "step of training"
"""Name of the horizontal axis of learning curves."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """One line."""

    x: Sequence[float]
    y: Sequence[float | None]
    """Values, (num_points,); None is a gap."""
    low: Sequence[float | None] | None = None
    """Ends of the interval at each point; None: no intervals."""
    high: Sequence[float | None] | None = None
    name: str = ""
    """Name in the legend; each name has its own colour and marker."""
    kind: str = ""
    """Group with its own line style, such as training and validation; empty: line styles also vary by name."""
    panel: str = ""
    """Panel of the line."""
    is_points: bool = False
    """Whether points are not connected."""
    has_marks: bool = True
    """Whether points have markers, if there are few."""
    has_arrows: bool = False
    """Whether thin arrows lead from each point to the next."""
    bounds: Sequence[Bound | None] = ()
    """Whether each value is a bound of the true value, marked (`MARKS`) above it; empty: none is."""


@look()
def curves(
    lines: Sequence[Curve],
    *,
    x: str | Mapping[str, str],
    y: str | Mapping[str, str],
    is_logarithmic: bool = False,
    levels: Mapping[str, float] | None = None,
    boundaries: Sequence[float] = (),
    limits: tuple[float | None, float | None] = (None, None),
    heading: str = "",
    title: str = "",
    notes: Sequence[str] = (),
) -> "Figure":
    """Draw lines over a numeric axis.

    Args:
        lines: Lines of all panels.
        x: Name of the horizontal axis; a mapping by panel if panels have separate axes.
        y: Name of the vertical axis; a mapping by panel if panels have separate axes.
        is_logarithmic: Whether the horizontal axis is logarithmic.
        levels: Horizontal lines by name, such as the chance level.
        boundaries: Positions of vertical lines: steps at which a generation begins.
        limits: Ends of the vertical axis; None: fit to the values.
        heading: Heading of the legend.
        title: Title of the figure.
        notes: Lines below the title.

    Raises:
        ConfigError: If there are no values, or matplotlib is not installed.
    """
    require_values(value for line in lines for value in line.x)
    x, y = (
        axis_label(each) if isinstance(each, str) else {panel: axis_label(of) for panel, of in each.items()}
        for each in (x, y)
    )
    panels, names, kinds = (
        list(dict.fromkeys(getattr(line, key) for line in lines)) or [""] for key in ("panel", "name", "kind")
    )
    figure = new_figure()
    columns = 2 if len(panels) == 4 else min(MAX_COLUMNS, len(panels))
    rows = math.ceil(len(panels) / columns)
    grid: Any = figure.subplots(
        rows, columns, squeeze=False, sharex=isinstance(x, str), sharey=isinstance(y, str)
    )
    styles = _line_styles(names, kinds)
    for index, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        scaled = lines if isinstance(x, str) else [line for line in lines if line.panel == panel]
        _draw_panel(axes, scaled, styles, panel, levels or {}, is_logarithmic=is_logarithmic)
        is_lowest, is_first = index + columns >= len(panels), index % columns == 0
        if isinstance(x, str):
            axes.tick_params(labelbottom=is_lowest)
            axes.set_xlabel(plain(x) if is_lowest else "")
        else:
            axes.set_xlabel(label(x[panel]))
        if isinstance(y, str):
            title_of = panel if isinstance(x, str) else ""
            axes.set_title(
                label(title_of, MAX_LABEL * (2 if columns < MAX_COLUMNS else 1)) if title_of else ""
            )
            axes.set_ylabel(label(y) if is_first else "")
        else:
            axes.set_ylabel(label(y[panel]))
        axes.set_ylim(*limits)
        for boundary in boundaries:
            axes.axvline(boundary, **BOUNDARY)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    has_bounds = any(bound for line in lines for bound in line.bounds)
    set_caption(figure, title, [*notes, *([OF_MARKS] if has_bounds else [])])
    are_listed = len(names) <= MAX_LISTED
    connected = {(line.name, line.kind) for line in lines if not line.is_points}
    points = {(line.name, line.kind) for line in lines} - connected
    bare = {(line.name, line.kind) for line in lines if not line.has_marks}
    styles = {
        key: style | ({"linestyle": ""} if key in points else {}) | ({"marker": ""} if key in bare else {})
        for key, style in styles.items()
    }
    handles = _handles(styles, names if are_listed else [], kinds, levels or {})
    if boundaries:
        from matplotlib.lines import Line2D

        handles["new generation"] = Line2D([], [], **BOUNDARY)
    fit(figure, grid, 1.7 * columns, HEIGHT, handles, axis_label(heading) if are_listed else "")
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
    """Draw lines on axes of another figure, with a legend inside; for the arguments see `curves`."""
    names, kinds = (
        list(dict.fromkeys(getattr(line, key) for line in lines)) or [""] for key in ("name", "kind")
    )
    styles = _line_styles(names, kinds)
    _draw_panel(axes, lines, styles, "", levels, is_logarithmic=False)
    axes.set(xlabel=plain(x), ylabel=plain(y), ylim=limits)
    handles = _handles(styles, names, kinds, levels)
    axes.legend(list(handles.values()), list(map(label, handles)), loc="best")


LineStyles = Mapping[tuple[str, str], dict[str, Any]]
"""Keyword arguments of matplotlib's `plot` by the name and the kind of a line."""


def _draw_panel(
    axes: Any,
    lines: Sequence[Curve],
    styles: LineStyles,
    panel: str,
    levels: Mapping[str, float],
    *,
    is_logarithmic: bool,
) -> None:
    for line in lines:
        if line.panel == panel:
            _draw(axes, line, styles[line.name, line.kind])
    for level in levels.values():
        axes.axhline(level, **LEVEL)
    _set_scale(axes, finite([value for line in lines for value in line.x]), is_logarithmic)


def _line_styles(names: Sequence[str], kinds: Sequence[str]) -> LineStyles:
    """Choose line styles; if lines are too many for a legend, all are the same and thin."""
    if len(names) > MAX_LISTED:
        thin = {"color": COLOURS[0], "linewidth": 0.6, "alpha": 0.6}
        return {(name, kind): thin for name in names for kind in kinds}
    return {
        (name, kind): _line_style(index, number if len(kinds) > 1 else index)
        for index, name in enumerate(names)
        for number, kind in enumerate(kinds)
    }


def _line_style(index: int, style: int) -> dict[str, Any]:
    colour = COLOURS[index % len(COLOURS)]
    return {
        "color": INK if colour == "#000000" else colour,
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": STYLES[(style + index // len(COLOURS)) % len(STYLES)],
        "markersize": 3.5,
    }


def _draw(axes: Any, line: Curve, style: dict[str, Any]) -> None:
    """Draw a line and its band; a single point has a whisker."""
    x, y = finite(line.x), finite(line.y)
    if line.has_arrows:
        arrow = {
            "arrowstyle": "->",
            "color": style["color"],
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
    axes.plot(x, y, **style | points, markevery=1 if line.is_points else max(1, len(x) // FEW_POINTS))
    above = {"xytext": (0, 3), "textcoords": "offset points", "ha": "center", "fontsize": "small"}
    for across, height, mark in zip(x, y, _marks(line), strict=False):
        if mark and np.isfinite(height):
            axes.annotate(mark, (across, height), color=style["color"], **above)
    if line.low is None or line.high is None or "alpha" in style:
        return
    low, high, colour = finite(line.low), finite(line.high), style["color"]
    if np.isfinite(low + high).sum() == 1 or line.is_points:
        axes.vlines(x, low, high, color=colour, linewidth=1)
    if not line.is_points:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def _marks(line: Curve) -> Sequence[str]:
    """Marks of bounds; lines with many points have them only at the ends of each run of equal marks."""
    marks = [MARKS[bound] for bound in line.bounds]
    if len(marks) <= FEW_POINTS:
        return marks
    return [
        "" if before == mark == after else mark
        for before, mark, after in zip(["", *marks], marks, [*marks[1:], ""], strict=False)
    ]


def _set_scale(axes: Any, values: Floats, is_logarithmic: bool) -> None:
    """Set few ticks: at the values themselves, if they are few and far enough apart."""
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
    styles: LineStyles,
    names: Sequence[str],
    kinds: Sequence[str],
    levels: Mapping[str, float],
) -> dict[str, Any]:
    """Return the entries of the legend: names, kinds (line styles) and levels."""
    from matplotlib.lines import Line2D

    handles = {name: Line2D([], [], **styles[name, kinds[0]]) for name in names if name}
    for number, kind in enumerate(kinds):
        if kind:
            line_style: Any = STYLES[number % len(STYLES)]
            handles[kind] = Line2D([], [], color=COLOURS[0] if len(names) == 1 else INK, linestyle=line_style)
    return handles | {name: Line2D([], [], **LEVEL) for name in levels}


def draw_learning_curves(folders: Sequence[Path], *paths: Path, measure: str = "accuracy") -> None:
    """Draw a measure in training and validation against the step; a language score has a single curve.

    A dotted line shows the chance level of the measure, if the metadata of a run have it.

    Args:
        folders: Run folders.
        *paths: Output files, .svg, .pdf or .png.
        measure: Measure of the evaluations, or score of `evaluation.metrics`; for several, separated by commas, one
            panel each.

    Raises:
        ConfigError: If a folder is not a run folder, its log cannot be read or has no such measure, or matplotlib is
            missing.
    """
    title = _folder_names(folders)[0] if len(folders) == 1 else "learning curves"
    measures = [name.strip() for name in measure.split(",")]
    curves_of = {name: learning_curves(folders, name) for name in measures}
    if len(measures) == 1:
        lines, levels = curves_of[measures[0]]
        save(
            curves(
                lines,
                x=STEP,
                y=measure,
                levels=levels,
                boundaries=generation_boundaries(folders, lines),
                limits=axis_limits(measure),
                title=title,
            ),
            *paths,
        )
        return
    panels = [replace(line, panel=name) for name in measures for line in curves_of[name][0]]
    save(curves(panels, x=STEP, y=dict(zip(measures, measures, strict=True)), title=title), *paths)


def learning_curves(
    folders: Sequence[Path], measure: str = "accuracy"
) -> tuple[list[Curve], dict[str, float]]:
    """Read the curves of runs in each section of their logs, and chance levels by their names."""
    names = _folder_names(folders)
    logs = [read_log(folder, measure) for folder in folders]
    lines = [
        Curve(
            x=log.steps,
            y=log.values[section],
            name=name if len(names) > 1 else "",
            kind=kind,
            bounds=log.bounds[section],
        )
        for name, log in zip(names, logs, strict=True)
        for section, kind in SECTIONS.items()
        if section in log.values
    ]
    return lines, chance_levels(folders, measure)


def chance_levels(folders: Sequence[Path], measure: str) -> dict[str, float]:
    """Read the chance levels of a measure from the metadata of runs, by their names in a legend."""
    levels = {level for folder in folders if (level := _chance_level(folder, measure)) is not None}
    return {f"chance {mark}{level:.3g}": level for level, mark in sorted(levels)}


def generation_boundaries(folders: Sequence[Path], lines: Sequence[Curve]) -> list[int]:
    """Steps at which a generation begins, if that is the same in all runs and there are few; otherwise none."""
    every = {_generation_steps(folder) for folder in folders}
    steps = every.pop() if len(every) == 1 else None
    last = max((step for line in lines for step in line.x), default=0)
    boundaries = [] if steps is None else list(range(steps, int(last), steps))
    return boundaries if len(boundaries) <= MOST_BOUNDARIES else []


def _generation_steps(folder: Path) -> int | None:
    file = RunFolder(folder).config
    tree = parse_yaml(file.read_text("utf-8"), str(file)) if file.is_file() else {}
    every = (tree.get("generations") or {}).get("every")
    return every if isinstance(every, int) and every > 0 else None


def axis_limits(measure: str) -> tuple[float | None, float | None]:
    """Limits of the axis of a measure: 0 and 1 with a margin for an accuracy, otherwise fit to the values."""
    return (0, 1.02) if "accuracy" in measure else (None, None)


def _folder_names(folders: Sequence[Path]) -> list[str]:
    """Names of run folders, with the names of their parents if some are equal."""
    names = [folder.resolve().name for folder in folders]
    if len(set(names)) == len(names):
        return names
    return ["/".join(folder.resolve().parts[-2:]) for folder in folders]


def _chance_level(folder: Path, measure: str) -> tuple[float, str] | None:
    """The chance level of a measure, and the mark of a bound."""
    try:
        levels = read_json(RunFolder(folder).metadata)["chance"]
        return float(levels[measure]), MARKS[time_bound(measure, levels)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
