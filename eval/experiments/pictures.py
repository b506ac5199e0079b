"""Pictures of many runs: learning curves over seeds, and scores over settings."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.results.comparison import Combination, Means
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.logs import SECTIONS, MeasureLog, read_log
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import (
    Estimate,
    FormedProtocols,
    estimate_of,
    is_over_blocks,
    limits_of_values,
)
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.estimates import joint_bound
from ecsuite.eval.views.figures.canvas import (
    ARROWS,
    COLOURS,
    axis_label,
    axis_labels,
    prepare_picture,
    save,
)
from ecsuite.eval.views.figures.curves import LOGARITHMIC, STEP, Curve, axis_limits, chance_levels, curves
from ecsuite.eval.views.figures.efficiency_plane import draw_plane
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.eval.views.figures.intervals import SPLIT, Panel, Point, intervals
from ecsuite.games.tasks.directions import DIRECTIONS
from ecsuite.runtime.errors import ConfigError, unknown_name
from ecsuite.tables.cells import MARKS, UNDEFINED, value_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_POINTS = 200
"""Maximum number of points of a curve."""
SECTION_ORDER = ("valid", "metrics", "train")
"""Sections of a log in which a measure is searched, in this order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CurveLayout:
    """Names and panels of the rows of a table in figures."""

    heading: str
    """Setting whose values are the names; empty: names combine all settings, or are empty."""
    names: tuple[str, ...]
    """Name of each row."""
    panels: tuple[str, ...]
    """Panel of each row: the other settings."""


def curve_of(
    folders: Sequence[Path], measure: str, name: str = "", panel: str = "", blocks: Sequence[str] = ()
) -> Curve | None:
    """Compute the mean of several seeds and its 95 % interval, up to the end of the shortest run.

    Args:
        folders: Run folders.
        measure: A measure of the evaluations, or a score of `evaluation.metrics`.
        name: Name of the curve.
        panel: Panel of the curve.
        blocks: Combination of other settings of each run, see `estimate_of`.

    Returns:
        The curve; None if a log lacks the measure, or the logs have no step in common.
    """
    logs, of_logs = list[MeasureLog](), list[str]()
    for folder, block in zip(folders, blocks or [""] * len(folders), strict=True):
        with suppress(ConfigError):
            logs.append(read_log(folder, measure))
            of_logs.append(block)
    section = next((each for each in SECTION_ORDER if logs and all(each in log.values for log in logs)), None)
    if section is None:
        return None
    by_step = [dict(zip(log.steps, log.values[section], strict=True)) for log in logs]
    bounds = [dict(zip(log.steps, log.bounds[section], strict=True)) for log in logs]
    common = sorted(set.intersection(*map(set, by_step)))
    steps = [step for step in common if all(math.isfinite(values[step]) for values in by_step)]
    if not steps:
        return None
    if len(steps) > MAX_POINTS:
        places = np.unique(np.linspace(0, len(steps) - 1, MAX_POINTS).round().astype(int))
        steps = [steps[place] for place in places]
    values = np.array([[each[step] for step in steps] for each in by_step])
    section, _, rest = measure.partition(".")
    limits = limits_of_values(rest if section in SECTIONS else measure, values)
    means = [estimate_of(each, limits, of_logs) for each in values.T.tolist()]
    intervals = [mean.ci95 or (None, None) for mean in means]
    has_band = len(by_step) > 1
    return Curve(
        x=steps,
        y=[mean.mean for mean in means],
        low=[low for low, _ in intervals] if has_band else None,
        high=[high for _, high in intervals] if has_band else None,
        name=name,
        panel=panel,
        bounds=[joint_bound(each[step] for each in bounds) for step in steps],
    )


def layout_of(keys: Sequence[str], rows: Sequence[Sequence[Any]]) -> CurveLayout:
    """Choose names and panels of rows: names are the setting with the most values for which there are enough colours.

    Args:
        keys: Names of the settings.
        rows: Values of the settings in each row.
    """
    num_values = [len({repr(row[place]) for row in rows}) for place in range(len(keys))]
    usable = [place for place in range(len(keys)) if 2 <= num_values[place] <= len(COLOURS)]
    is_random = math.prod(num_values) > 2 * len(rows)  # as in a search: most panels would have one line
    if not usable or is_random or len(keys) < 2:
        names = [", ".join(map(str, row)) for row in rows] if len(rows) > 1 else [""] * len(rows)
        return CurveLayout(
            heading=keys[0] if len(keys) == 1 else "", names=tuple(names), panels=("",) * len(rows)
        )
    chosen = max(usable, key=lambda place: num_values[place])
    others = [place for place in range(len(keys)) if place != chosen]
    return CurveLayout(
        heading=keys[chosen],
        names=tuple(str(row[chosen]) for row in rows),
        panels=tuple(
            ", ".join(f"{axis_label(keys[place])}: {row[place]}" for place in others) for row in rows
        ),
    )


MAX_PANELS = 12
"""Maximum number of panels of a figure."""
MAX_ROWS = 60
"""Maximum number of combinations of settings in a figure with one row each."""
OVER_SEEDS = "lines: means over seeds; bands: Student's 95 % intervals of the means"
OVER_BLOCKS = "intervals are over combinations of the other settings where one has a single run"
SHORTEST = "a line ends with its shortest seed"


def sweep_curves(
    records: Sequence[Source], measure: str, by: Sequence[str] | None = None
) -> tuple["Figure", list[Curve]]:
    """Plot a measure over steps, with a line for the mean of each combination of settings and a band over its seeds.

    Args:
        records: Runs, whose names are their folders.
        measure: A measure of the evaluations, such as accuracy.
        by: Settings that are distinguished; None: all settings that vary.

    Returns:
        The figure and its lines.

    Raises:
        ConfigError: If a setting is unknown, no log has the measure, there are too many panels, or matplotlib is
            missing.
    """
    table = Results(records).means(by=by, figures=[])
    layout = layout_of(table.keys, [row.settings for row in table.rows])
    _require_few(layout.panels)
    found = [
        curve_of(
            [each.folder for each in part if each.folder is not None],
            measure,
            name,
            panel,
            [each.block for each in part if each.folder is not None],
        )
        for row, name, panel in zip(table.rows, layout.names, layout.panels, strict=True)
        for part in ([[run] for run in row.runs] if FormedProtocols.is_split(row.runs) else [row.runs])
    ]
    lines = [line for line in found if line is not None]
    if not lines:
        raise ConfigError(f"--measure {measure}: not in the logs of these runs")
    notes = [OVER_SEEDS, SHORTEST] if any(line.low is not None for line in lines) else []
    notes += [OVER_BLOCKS] * any(is_over_blocks([run.block for run in row.runs]) for row in table.rows)
    figure = curves(
        lines, x=STEP, y=measure, limits=axis_limits(measure), heading=layout.heading, notes=notes
    )
    return figure, lines


def over_setting(
    records: Sequence[Source],
    score: str,
    over: str | None = None,
    by: Sequence[str] | None = None,
    direction: str | None = None,
    sizes: EqualSizes | None = None,
) -> tuple["Figure", list[Curve]]:
    """Plot a score over a numeric setting: means over seeds with 95 % intervals, a line for each other setting.

    The axis is logarithmic if all values are positive and the largest is many times the smallest. A dotted line is the
    chance level, if all runs have the same chance level.

    Args:
        records: The runs.
        score: A measure or a score.
        over: The numeric setting; None: the only numeric setting that varies.
        by: Other settings that are distinguished; None: all settings that vary.
        direction: Whether higher or lower is better; None: unknown.
        sizes: See `Results.means`.

    Returns:
        The figure and its lines.

    Raises:
        ConfigError: If a name is unknown, the setting is not numeric, several numeric settings vary and `over` is None,
            or matplotlib is missing.
    """
    everything = Results(records).means(figures=[score])
    known = list(dict.fromkeys(key for record in records for key in record.settings))
    numeric = numeric_keys(known, [[record.settings.get(key) for key in known] for record in records])
    over = over or _only(numeric)
    if over not in known:
        raise unknown_name("setting", over, known)
    if over not in numeric:
        raise ConfigError(f"--over {over}: expected a setting with several numbers as values")
    keys = [key for key in (everything.keys if by is None else by) if key != over]
    table = Results(records).means(by=[*keys, over], figures=[score], sizes=sizes)
    lines_of: dict[str, list[Combination]] = {}
    for row in table.rows:
        lines_of.setdefault(repr(row.settings[:-1]), []).append(row)  # a setting may be a list
    layout = layout_of(keys, [rows[0].settings[:-1] for rows in lines_of.values()])
    _require_few(layout.panels)
    lines = [
        line
        for rows, name, panel in zip(lines_of.values(), layout.names, layout.panels, strict=True)
        for line in _lines_of(rows, name, panel)
    ]
    values = [value for line in lines for value in line.x]
    levels = chance_levels([each.folder for each in records if each.folder is not None], score)
    figure = curves(
        lines,
        x=over,
        y=score + ARROWS[direction],
        is_logarithmic=min(values) > 0 and max(values) / min(values) >= LOGARITHMIC,
        levels=levels if len(levels) == 1 else {},
        limits=(None, axis_limits(score)[1]),
        heading=layout.heading,
        notes=[
            *[OVER_SEEDS] * any(row.cells[0].half_width is not None for row in table.rows),
            *[OVER_BLOCKS] * any(row.cells[0].num_blocks for row in table.rows),
            *_split_notes(table.rows),
        ],
    )
    return figure, lines


def _shown_mean(row: Combination, place: int = 0) -> Estimate:
    """The mean of a figure in a picture; none if some runs formed a protocol and others did not."""
    return Estimate(mean=None) if FormedProtocols.is_split(row.runs) else row.cells[place]


def _mean_text(row: Combination) -> str:
    """The mean of the first figure as a text, or the number of runs that formed a protocol, if not all did."""
    mean = _shown_mean(row)
    if mean.mean is not None:
        return f"{MARKS[mean.bound]}{mean.mean:.3g}"
    formed = FormedProtocols.of_runs(row.runs) if row.cells[0].mean is not None else None
    return UNDEFINED if formed is None else f"{formed.number} of {formed.of}"


def _split_notes(rows: Sequence[Combination]) -> list[str]:
    return [SPLIT] * any(FormedProtocols.is_split(row.runs) for row in rows)


def _lines_of(rows: Sequence[Combination], name: str, panel: str) -> list[Curve]:
    """Make a line over the last setting; rows that are split into protocols are gaps with one point per seed."""
    ordered = sorted(((float(row.settings[-1]), row) for row in rows), key=lambda each: each[0])
    cells = [_shown_mean(row) for _, row in ordered]
    bounds = [cell.ci95 or (None, None) for cell in cells]
    singles = [
        (x, value)
        for x, row in ordered
        if FormedProtocols.is_split(row.runs)
        for value in row.cells[0].values
    ]
    line = Curve(
        x=[x for x, _ in ordered],
        y=[cell.mean for cell in cells],
        low=[low for low, _ in bounds],
        high=[high for _, high in bounds],
        name=name,
        panel=panel,
        bounds=[cell.bound for cell in cells],
    )
    points = replace(line, x=[x for x, _ in singles], y=[y for _, y in singles], bounds=(), is_points=True)
    return [line, replace(points, low=None, high=None)] if singles else [line]


def numeric_keys(keys: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """The settings that have several values, all of them numbers."""
    columns = {key: [row[place] for row in rows] for place, key in enumerate(keys)}
    return [key for key, values in columns.items() if all(map(_is_number, values)) and len(set(values)) > 1]


def _only(numeric: Sequence[str]) -> str:
    if len(numeric) != 1:
        varying = f"several vary: {', '.join(numeric)}" if numeric else "none varies"
        raise ConfigError(f"--over: expected one numeric setting for the horizontal axis; {varying}")
    return numeric[0]


def score_heat_map(
    records: Sequence[Source], score: str, keys: Sequence[str], sizes: EqualSizes | None = None
) -> "Figure":
    """Plot the means of a score by two settings, the first on the vertical and the second on the horizontal axis.

    Raises:
        ConfigError: If a name is unknown, there are not two settings, or matplotlib is missing.
    """
    if len(keys) != 2:
        raise ConfigError(f"--by {','.join(keys)}: expected two settings for a heat map")
    table = Results(records).means(by=keys, figures=[score], sizes=sizes)
    rows, columns = (_ordered([row.settings[side] for row in table.rows]) for side in range(2))
    values = np.full((len(rows), len(columns)), np.nan)
    texts = np.full(values.shape, UNDEFINED, object)
    for row in table.rows:
        mean, place = _shown_mean(row).mean, (rows.index(row.settings[0]), columns.index(row.settings[1]))
        values[place] = np.nan if mean is None else mean
        texts[place] = _mean_text(row)
    return heat_map(
        values,
        rows,
        columns,
        texts=texts.tolist(),
        title=f"{score}, means over all runs",
        names=(keys[0], keys[1]),
        notes=_split_notes(table.rows),
    )


def settings_side_by_side(
    records: Sequence[Source], score: str, direction: str | None = None, sizes: EqualSizes | None = None
) -> "Figure":
    """Plot a row for each combination of settings, the best first, coloured by the rank of each value in its column.

    Args:
        records: The runs, such as the trials of a search.
        score: A measure or a score.
        direction: Whether higher or lower is better; None: higher.
        sizes: See `Results.means`.

    Raises:
        ConfigError: If the score is unknown, no setting varies, or matplotlib is missing.
    """
    table = Results(records).means(figures=[score], sizes=sizes)
    sign = 1 if direction == "lower" else -1
    rows = [row for row in table.rows if row.cells[0].mean is not None]
    rows.sort(key=lambda row: math.inf if (mean := _shown_mean(row).mean) is None else sign * mean)
    if not table.keys or not rows:
        raise ConfigError(f"{score}: no settings vary between runs that have it")
    left_out, rows = len(rows[MAX_ROWS:]), rows[:MAX_ROWS]
    columns = [[row.settings[place] for row in rows] for place in range(len(table.keys))]
    means = [mean for row in rows if (mean := _shown_mean(row).mean) is not None]  # the first rows
    ranks = [*_shares(means), *[math.nan] * (len(rows) - len(means))]
    texts = [*(map(_text, column) for column in columns), map(_mean_text, rows)]
    return heat_map(
        np.array([*map(_shares, columns), ranks]).T,
        [f"{place + 1}." for place in range(len(rows))],
        list(map(axis_label, [*table.keys, score + ARROWS[direction]])),
        texts=list(zip(*texts, strict=True)),
        limits=(0, 1),
        scale="rank in the column",
        ends=("least", "greatest"),
        title=f"All settings and {score}, best first",
        notes=[*[f"and {left_out} more combinations"] * bool(left_out), *_split_notes(rows)],
    )


def score_intervals(table: Means, score: str, direction: str | None) -> "Figure":
    """Plot a row for each combination of settings: the mean of a score, its 95 % interval, and the seeds."""
    place = table.figures.index(score)
    points = []
    for row in table.rows:
        cell, singles = _shown_mean(row, place), row.cells[place].values
        low, high = cell.ci95 or (None, None)
        name = ", ".join(map(str, row.settings)) or "all runs"
        points.append(Point(row=name, value=cell.mean, low=low, high=high, single=singles, bound=cell.bound))
    notes = [OVER_BLOCKS] * any(row.cells[place].num_blocks for row in table.rows)
    panel = Panel(points=points, axis=score + ARROWS[direction])
    return intervals(panel, title=", ".join(table.keys), notes=notes)


def score_against_score(table: Means, across: str, up: str, note: str = "") -> "Figure":
    """Plot each run that has two scores as a mark, whose colour and panel show its settings."""
    layout = layout_of(table.keys, [row.settings for row in table.rows])
    points: dict[str, list[tuple[float, float]]] = {}
    for name, row in zip(layout.names, table.rows, strict=True):
        for run in row.runs:
            x, y = run.figures.get(across), run.figures.get(up)
            if x is not None and y is not None:
                points.setdefault(name, []).append((x, y))
    lines = [
        Curve(x=[x for x, _ in pairs], y=[y for _, y in pairs], name=name, is_points=True)
        for name, pairs in points.items()
    ]
    return curves(lines, x=across, y=up, heading=layout.heading, notes=[note])


def _require_few(panels: Sequence[str]) -> None:
    if (number := len(set(panels))) > MAX_PANELS:
        raise ConfigError(
            f"expected at most {MAX_PANELS} panels, got {number}: name fewer settings with --by"
        )


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Distinct values: numbers in ascending order, other values in the given order."""
    unique = list({repr(value): value for value in values}.values())  # a setting may be a list
    return sorted(unique) if all(map(_is_number, unique)) else unique


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shares(values: Sequence[Any]) -> list[float]:
    """Rank of each value among the distinct values, from 0 to 1."""
    unique = _ordered(values)
    place: Mapping[str, int] = {repr(value): index for index, value in enumerate(unique)}
    return [place[repr(value)] / (len(unique) - 1) if len(unique) > 1 else 0.5 for value in values]


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else value_text(value)


KINDS = ("curves", "over", "heat", "parallel", "plane")
"""Kinds of pictures: learning curves, a score over a numeric setting, a heat map of two settings, all settings side by
side, and the efficiency plane."""


def draw(
    sources: Sequence[Source],
    file: Path,
    *,
    kind: str = "curves",
    measure: str = "accuracy",
    over: str | None = None,
    by: Sequence[str] | None = None,
    labels: Mapping[str, str] | None = None,
    sizes: EqualSizes | None = None,
) -> str:
    """Draw runs into a file, and describe the picture in a line.

    Args:
        sources: The runs; other sources are only in the plane.
        file: The picture, .svg, .pdf or .png.
        kind: One of `KINDS`.
        measure: A measure of the evaluations; for all kinds but curves, also a score.
        over: The numeric setting of kind over; None: the only numeric setting that varies.
        by: Settings that are distinguished, two for heat; None: all settings that vary.
        labels: Labels of axes by setting or score; other axes have the default labels.
        sizes: Subsamples of larger corpora for scores that depend on size; None: values at the corpora's own sizes.

    Raises:
        ConfigError: If a name is unknown, too little varies, or matplotlib is missing.
    """
    known = {name for source in sources for name in (*source.settings, *source.figures)}
    for name in labels or ():
        if name not in known:
            raise unknown_name("setting or score", name, sorted(known))
    with axis_labels(labels or {}):
        figure, about = _drawn(sources, kind, measure, over, by, sizes)
        prepare_picture(file)
        save(figure, file)
    return f"{about} in {file}"


def _drawn(
    sources: Sequence[Source],
    kind: str,
    measure: str,
    over: str | None,
    by: Sequence[str] | None,
    sizes: EqualSizes | None,
) -> tuple["Figure", str]:
    """Make a figure of a kind, and its description; see `draw`."""
    runs = [source for source in sources if source.is_run]
    direction = traits_of(measure).direction or DIRECTIONS.get(measure)
    whole = [run for run in runs if run.counts()]  # others are not drawn
    number = sum(run.figures.get(measure) is not None for run in whole) or len(whole)
    about = f"{measure} of {number} runs"
    if kind == "plane":
        figure, about = draw_plane(sources), f"{len(sources)} languages and the bound"
    elif kind == "curves":
        figure, lines = sweep_curves(runs, measure, by)
        about = f"{about}, {_lines(len(lines))} with bands,"
    elif kind == "over":
        figure, lines = over_setting(runs, measure, over, by, direction, sizes)
        about = f"{about}, {_lines(len(lines))} with intervals,"
    elif kind == "heat":
        varying = list(dict.fromkeys(key for run in runs for key in run.settings))
        if by is None and len(varying) < 2:
            raise ConfigError("--kind heat: fewer than two settings vary between these runs")
        keys = by or varying[:2]
        figure = score_heat_map(runs, measure, keys, sizes)
        about = f"{about} by {' and '.join(keys)}"
    else:
        figure = settings_side_by_side(runs, measure, direction, sizes)
        about = f"{measure} and the settings of {number} runs"
    return figure, about


def _lines(number: int) -> str:
    return "1 line" if number == 1 else f"{number} lines"
