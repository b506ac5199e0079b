"""Learning curves over seeds: the mean of each combination of settings, and the range of its seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.reports.canvas import COLOURS
from ecsuite.eval.reports.learning_curves import SECTIONS, read_log
from ecsuite.runtime.errors import ConfigError

MAX_POINTS = 200
"""Most points of a curve."""
SECTION_ORDER = ("valid", "metrics", "train")
"""Which section of a log a measure is taken from: the first that has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A measure against the step."""

    steps: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    """The least of the seeds."""
    high: tuple[float, ...]
    """The greatest of the seeds."""
    num_seeds: int
    section: str
    """valid, train or metrics."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How rows of a table are told apart in pictures: by colour, and by panel."""

    colour_key: str
    """The setting that colours stand for; empty: each row has a colour of its own, or all have one."""
    colours: tuple[int, ...]
    """For each row the index of its colour."""
    colour_names: tuple[str, ...]
    """By colour, the value of the setting, or the row; empty if all rows have one colour."""
    panels: tuple[int, ...]
    """For each row the index of its panel."""
    panel_names: tuple[str, ...]
    """By panel, the other settings."""


def curve_of(folders: Sequence[Path], measure: str) -> Curve | None:
    """The curve of several seeds, up to the end of the shortest run.

    Args:
        folders: Run folders.
        measure: A measure of the evaluations, or a score of `evaluation.metrics`.

    Returns:
        None if a log has no such measure, or they have no step in common.
    """
    logs = []
    for folder in folders:
        try:
            logs.append(read_log(folder, measure))
        except ConfigError:
            continue
    section = next((each for each in SECTION_ORDER if logs and all(each in log for log in logs)), None)
    if section is None:
        return None
    by_step = [dict(zip(log["step"], log[section], strict=True)) for log in logs]
    common = sorted(set.intersection(*map(set, by_step)))
    steps = [step for step in common if all(math.isfinite(values[step]) for values in by_step)]
    if not steps:
        return None
    if len(steps) > MAX_POINTS:
        places = np.unique(np.linspace(0, len(steps) - 1, MAX_POINTS).round().astype(int))
        steps = [steps[place] for place in places]
    values = np.array([[each[step] for step in steps] for each in by_step])
    return Curve(
        steps=tuple(steps),
        mean=tuple(values.mean(0).tolist()),
        low=tuple(values.min(0).tolist()),
        high=tuple(values.max(0).tolist()),
        num_seeds=len(by_step),
        section=SECTIONS[section],
    )


def layout_of(keys: Sequence[str], rows: Sequence[Sequence[Any]]) -> Layout:
    """Colours and panels of rows: the setting with most values, of those with few enough, gets the colours.

    Args:
        keys: The settings of a row.
        rows: Their values in each row.
    """
    values = [list(dict.fromkeys(repr(row[place]) for row in rows)) for place in range(len(keys))]
    usable = [place for place in range(len(keys)) if 2 <= len(values[place]) <= len(COLOURS)]
    if math.prod(map(len, values)) > 2 * len(rows):
        usable = []  # drawn at random, as in a search: most panels would have one line
    if (len(rows) <= len(COLOURS) and len(keys) < 2) or not usable:
        has_few = len(rows) <= len(COLOURS)
        names = tuple(", ".join(map(str, row)) for row in rows) if has_few and len(rows) > 1 else ()
        return Layout(
            colour_key=keys[0] if len(keys) == 1 and has_few else "",
            colours=tuple(range(len(rows))) if has_few else (0,) * len(rows),
            colour_names=names,
            panels=(0,) * len(rows),
            panel_names=("",),
        )
    chosen = max(usable, key=lambda place: len(values[place]))
    others = [place for place in range(len(keys)) if place != chosen]
    panels = [", ".join(f"{keys[place]}={row[place]}" for place in others) for row in rows]
    panel_names = list(dict.fromkeys(panels))
    named = {repr(row[chosen]): str(row[chosen]) for row in rows}
    return Layout(
        colour_key=keys[chosen],
        colours=tuple(values[chosen].index(repr(row[chosen])) for row in rows),
        colour_names=tuple(named[each] for each in values[chosen]),
        panels=tuple(panel_names.index(panel) for panel in panels),
        panel_names=tuple(panel_names),
    )
