"""Pictures of sweeps: curves with bands over seeds, a heat map of two settings, and all settings side by side."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.records.source import Source
from ecsuite.eval.reports.canvas import (
    COLOURS,
    FONT_SIZE,
    format_curves,
    label,
    new_figure,
    save,
    text_width,
)
from ecsuite.eval.reports.heat_map import draw_table
from ecsuite.eval.sweeps.curves import curve_of, layout_of
from ecsuite.eval.sweeps.tables import Table, make_table
from ecsuite.runtime.errors import ConfigError

MARKERS = ("o", "s", "^", "D", "X", "p", "P", "v")
"""Marks of the colours, for those who do not see these."""
PANEL = (3.4, 2.5)
"""Width and height of a panel of curves, in inches."""
MAX_PANELS = 12
"""Most panels of a picture."""
LOGARITHMIC = 30
"""An axis of settings is logarithmic if its largest value is so many times its smallest one."""


def draw_sweep_curves(
    records: Sequence[Source], measure: str, *paths: Path, by: Sequence[str] | None = None
) -> int:
    """Draw a measure against the step: a line for the mean of each combination of settings, a band over its seeds.

    Args:
        records: Runs, whose names are their folders.
        measure: A measure of the evaluations, such as accuracy.
        *paths: Output files, .svg or .png.
        by: Settings that are told apart; None: all that vary.

    Returns:
        The number of lines.

    Raises:
        ConfigError: If a setting is unknown, no log has the measure, there are too many panels, or matplotlib is
            missing.
    """
    table = make_table(records, by=by, figures=[])
    layout = layout_of(table.keys, [row.settings for row in table.rows])
    if len(layout.panel_names) > MAX_PANELS:
        raise ConfigError(f"{len(layout.panel_names)} panels are too many: name fewer settings with --by")
    curves = [
        curve_of([each.folder or Path(each.name) for each in group], measure)
        for group in _groups(table, records)
    ]
    if not any(curves):
        raise ConfigError(f"--measure {measure}: no log of these runs has it")
    num_columns = min(3, len(layout.panel_names))
    num_rows = math.ceil(len(layout.panel_names) / num_columns)
    width = max(4.6, PANEL[0] * num_columns)
    names_width = sum(text_width(label(name)) + 0.5 for name in layout.colour_names)
    num_lines = max(1, math.ceil(names_width / (width - 1.2)))
    figure = new_figure(width, PANEL[1] * num_rows + 0.4 + 0.16 * num_lines, layout="constrained")
    panels = figure.subplots(num_rows, num_columns, squeeze=False, sharex=True, sharey=True).ravel()
    is_told_apart = bool(layout.colour_names) or len(curves) == 1
    for place, curve in enumerate(curves):
        if curve is None:
            continue
        axes, index = panels[layout.panels[place]], layout.colours[place]
        colour = COLOURS[index % len(COLOURS)]
        marker = MARKERS[index % len(MARKERS)] if is_told_apart else None
        axes.plot(
            curve.steps,
            curve.mean,
            color=colour,
            marker=marker,
            ms=4,
            markevery=max(1, len(curve.steps) // 6),
            linewidth=1.5 if is_told_apart else 0.7,
        )
        if curve.num_seeds > 1 and is_told_apart:
            axes.fill_between(curve.steps, curve.low, curve.high, color=colour, alpha=0.16, linewidth=0)
    for place, axes in enumerate(panels):
        if place >= len(layout.panel_names):
            axes.set_visible(False)
            continue
        is_low = place + num_columns >= len(layout.panel_names)
        format_curves(axes, "step of training" if is_low else "", measure if place % num_columns == 0 else "")
        axes.tick_params(labelbottom=is_low)
        axes.set_xlim(left=0)
        if "accuracy" in measure:
            axes.set_ylim(top=1.02)
        axes.set_title(
            label(layout.panel_names[place]) if layout.panel_names[place] else "", fontsize=FONT_SIZE
        )
    if layout.colour_names:
        for index, name in enumerate(layout.colour_names):
            colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
            panels[0].plot([], [], color=colour, marker=marker, ms=4, label=label(name))
        figure.legend(
            loc="outside lower center",
            ncols=math.ceil(len(layout.colour_names) / num_lines),
            title=layout.colour_key or None,
            frameon=False,
            fontsize=FONT_SIZE,
            title_fontsize=FONT_SIZE,
        )
    save(figure, *paths)
    return sum(curve is not None for curve in curves)


def draw_heat_map(records: Sequence[Source], score: str, keys: Sequence[str], *paths: Path) -> None:
    """Draw the means of a score by two settings, the first downwards and the second across.

    Args:
        records: The runs.
        score: A measure or a score.
        keys: The two settings.
        *paths: Output files, .svg or .png.

    Raises:
        ConfigError: If a name is unknown, there are not two settings, or matplotlib is missing.
    """
    if len(keys) != 2:
        raise ConfigError(f"--by {','.join(keys)}: a heat map has two settings")
    table = make_table(records, by=keys, figures=[score])
    rows, columns = (_ordered([row.settings[side] for row in table.rows]) for side in range(2))
    values = np.full((len(rows), len(columns)), np.nan)
    for row in table.rows:
        mean = row.cells[0].mean
        values[rows.index(row.settings[0]), columns.index(row.settings[1])] = np.nan if mean is None else mean
    draw_table(
        values,
        [label(value) for value in rows],
        [label(value) for value in columns],
        *paths,
        title=f"{label(score)}, means over all runs",
        names=(label(keys[0]), label(keys[1])),
    )


def draw_parallel(records: Sequence[Source], score: str, *paths: Path, direction: str | None = None) -> None:
    """Draw all settings and a score as axes side by side, with a line for each combination; the best is thick.

    Args:
        records: The runs, such as the trials of a search.
        score: A measure or a score.
        *paths: Output files, .svg or .png.
        direction: higher or lower is better; None: higher.

    Raises:
        ConfigError: If the score is unknown, no setting varies, or matplotlib is missing.
    """
    table = make_table(records, figures=[score])
    rows = [row for row in table.rows if row.cells[0].mean is not None]
    if not table.keys or not rows:
        raise ConfigError(f"{score}: no settings vary between runs that have it")
    columns = [[row.settings[place] for row in rows] for place in range(len(table.keys))]
    means = [row.cells[0].mean for row in rows]
    scales = [*map(_shares, columns), _shares(means, is_setting=False)]
    names = [*map(label, table.keys), label(score)]
    step = max(1.3, *(text_width(name) + 0.25 for name in names))
    width, height = step * (len(names) - 1) + 2.0, 3.4
    figure = new_figure(width, height)
    axes = figure.add_axes((1.0 / width, 0.12, 1 - 2.0 / width, 0.7), xlim=(0, len(names) - 1), ylim=(0, 1))
    axes.axis("off")
    sign = -1 if direction == "lower" else 1
    best = max(range(len(rows)), key=lambda index: sign * float(means[index] or 0.0))
    for index in sorted(range(len(rows)), key=lambda index: index == best):
        share = scales[-1][0][index]
        alpha = 0.15 + 0.7 * (1 - share if direction == "lower" else share)
        look: dict[str, Any] = {"color": COLOURS[0], "alpha": alpha, "linewidth": 1.0}
        if index == best:
            look = {"color": COLOURS[1], "linewidth": 3.0}
        axes.plot(range(len(names)), [shares[index] for shares, _ in scales], clip_on=False, **look)
    halo = [_halo()]
    for place, (name, (_, marks)) in enumerate(zip(names, scales, strict=True)):
        axes.plot([place, place], [0, 1], color="#555555", linewidth=0.8, clip_on=False)
        axes.text(place, 1.1, name, ha="center", fontsize=FONT_SIZE, weight="bold")
        is_first = place == 0
        for text, share in marks.items():
            axes.annotate(
                text, (place, share), (-4 if is_first else 4, 0), textcoords="offset points", va="center",
                ha="right" if is_first else "left", fontsize=FONT_SIZE, path_effects=halo, annotation_clip=False,
            )  # fmt: skip
    save(figure, *paths)


def _groups(table: Table, records: Sequence[Source]) -> list[list[Source]]:
    """The runs of each row that did not fail."""
    return [
        [
            each
            for each in records
            if each.failure is None
            and all(
                each.settings.get(key) == value for key, value in zip(table.keys, row.settings, strict=True)
            )
        ]
        for row in table.rows
    ]


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Different values: numbers by size, others as they come."""
    unique = list(dict.fromkeys(values))
    return sorted(unique) if all(_is_number(value) for value in unique) else unique


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shares(values: Sequence[Any], *, is_setting: bool = True) -> tuple[list[float], Mapping[str, float]]:
    """Where values stand on an axis from 0 to 1, and the marks of the axis."""
    unique = _ordered(values)
    if len(unique) < 2:
        return [0.5] * len(values), {label(unique[0]): 0.5}
    if not all(map(_is_number, unique)):
        place = {repr(value): index / (len(unique) - 1) for index, value in enumerate(unique)}
        return [place[repr(value)] for value in values], {
            label(value): place[repr(value)] for value in unique
        }
    is_logarithmic = is_setting and unique[0] > 0 and unique[-1] / unique[0] >= LOGARITHMIC
    scaled = np.array([math.log(value) if is_logarithmic else float(value) for value in (*unique, *values)])
    shares = ((scaled - scaled[: len(unique)].min()) / np.ptp(scaled[: len(unique)])).tolist()
    marks = dict(zip(unique, shares, strict=False))
    if len(unique) > 6 or min(np.diff(shares[: len(unique)])) < 0.06:
        marks = {unique[0]: 0.0, unique[-1]: 1.0}
    return shares[len(unique) :], {f"{value:.3g}": share for value, share in marks.items()}


def _halo() -> Any:
    """A white outline, so that text is read on lines."""
    from matplotlib.patheffects import withStroke

    return withStroke(linewidth=2.5, foreground="white")
