"""Learning curves over seeds, and how the combinations of settings are told apart in a figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.results.logs import read_log
from ecsuite.eval.views.figures.canvas import COLOURS
from ecsuite.eval.views.figures.curves import Curve
from ecsuite.runtime.errors import ConfigError

MAX_POINTS = 200
"""Most points of a curve."""
SECTION_ORDER = ("valid", "metrics", "train")
"""Which section of a log a measure is taken from: the first that has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """How rows of a table are told apart in figures: by name, and by panel."""

    heading: str
    """The setting that names are values of; empty: each row has a name of its own, or all have none."""
    names: tuple[str, ...]
    """For each row its name."""
    panels: tuple[str, ...]
    """For each row its panel: the other settings."""


def curve_of(folders: Sequence[Path], measure: str, name: str = "", panel: str = "") -> Curve | None:
    """The mean of several seeds and their range, up to the end of the shortest run.

    Args:
        folders: Run folders.
        measure: A measure of the evaluations, or a score of `evaluation.metrics`.
        name: The curve's name.
        panel: Its panel.

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
    has_band = len(by_step) > 1
    return Curve(
        x=steps,
        y=values.mean(0).tolist(),
        low=values.min(0).tolist() if has_band else None,
        high=values.max(0).tolist() if has_band else None,
        name=name,
        panel=panel,
    )


def layout_of(keys: Sequence[str], rows: Sequence[Sequence[Any]]) -> Layout:
    """Names and panels of rows: names are the setting with most values, of those with few enough for the colours.

    Args:
        keys: The settings of a row.
        rows: Their values in each row.
    """
    num_values = [len({repr(row[place]) for row in rows}) for place in range(len(keys))]
    usable = [place for place in range(len(keys)) if 2 <= num_values[place] <= len(COLOURS)]
    is_random = math.prod(num_values) > 2 * len(rows)  # as in a search: most panels would have one line
    if not usable or is_random or len(keys) < 2:
        names = [", ".join(map(str, row)) for row in rows] if len(rows) > 1 else [""] * len(rows)
        return Layout(heading=keys[0] if len(keys) == 1 else "", names=tuple(names), panels=("",) * len(rows))
    chosen = max(usable, key=lambda place: num_values[place])
    others = [place for place in range(len(keys)) if place != chosen]
    return Layout(
        heading=keys[chosen],
        names=tuple(str(row[chosen]) for row in rows),
        panels=tuple(", ".join(f"{keys[place]}={row[place]}" for place in others) for row in rows),
    )
