"""Figures over settings: a row for each combination, and for each figure the mean over seeds with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.corrections import holm
from ecsuite.eval.statistics.differences import NO_SPREAD, unpaired_difference
from ecsuite.eval.statistics.distributions import student_tail
from ecsuite.eval.statistics.t_intervals import mean_and_half_width
from ecsuite.games.directions import DIRECTIONS
from ecsuite.runtime.errors import ConfigError, unknown_name

SIGNIFICANCE = 0.05
"""Corrected p-value from which a row is not told apart from the best one."""
MANY_SETTINGS = 4
"""As many settings have a column each, even if some follow from others."""
ALWAYS = ("accuracy", "reward")
"""Figures that a table has besides the scores, where runs have them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mean:
    """A figure of a row: mean, half-width of its 95 % interval (None: one value), and the number of values."""

    mean: float | None
    half_width: float | None
    num_values: int
    is_best: bool = False
    """Whether it is the best of its column, or not told apart from that (see `best_of`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Combination:
    """A combination of settings."""

    settings: tuple[Any, ...]
    """The values of the table's keys."""
    num_runs: int
    """Runs whose figures are in the means."""
    num_failed: int
    """Runs that failed."""
    num_incomplete: int
    """Runs that were ended by the clock, by a stop, or by pruning, or have not ended, and are not in the means."""
    cells: tuple[Mean, ...]
    """One per figure of the table."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """Means over seeds, with Student's 95 % intervals."""

    keys: tuple[str, ...]
    """The settings of a row."""
    figures: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[Combination, ...]
    """The rows, in the order of the runs."""

    def to_json(self) -> dict[str, Any]:
        """The means as JSON-ready data."""
        return {
            "rows": [
                {
                    "settings": dict(zip(self.keys, row.settings, strict=True)),
                    "num_runs": row.num_runs,
                    "num_failed": row.num_failed,
                    "num_incomplete": row.num_incomplete,
                    "figures": {
                        name: {
                            "is_best": cell.is_best,
                            "mean": cell.mean,
                            "half_width": cell.half_width,
                            "num_values": cell.num_values,
                        }
                        for name, cell in zip(self.figures, row.cells, strict=True)
                    },
                }
                for row in self.rows
            ]
        }


def means_of(
    records: Sequence[Source],
    *,
    by: Sequence[str] | None = None,
    figures: Sequence[str] | None = None,
    with_incomplete: bool = False,
) -> Means:
    """Means over the runs that agree in the settings `by`.

    Args:
        records: The runs.
        by: Settings; None: all that vary or, if these are many, those from which the others follow.
        figures: Names of measures and scores; None: accuracy or reward, and all scores of the runs.
        with_incomplete: Whether runs that were ended by the clock, by a stop or by pruning are in the means, too.

    Raises:
        ConfigError: If a setting or a figure is unknown.
    """
    known_settings = list(dict.fromkeys(key for record in records for key in record.settings))
    known_figures = list(dict.fromkeys(name for record in records for name in record.figures))
    scores = dict.fromkeys(name for record in records for name in record.scores)
    usual = [name for name in known_figures if name in ALWAYS or name in scores]
    keys = _telling(records, known_settings) if by is None else list(by)
    for key in keys:
        if key not in known_settings:
            raise (
                unknown_name("setting", key, known_settings)
                if known_settings
                else ConfigError(f"--by {key}: no setting differs between these runs")
            )
    names = usual if figures is None else list(figures)
    for name in names:
        if name not in known_figures:
            raise unknown_name("figure", name, known_figures)
    for option, named in (("--by", keys), ("--metrics", names)):
        if twice := [name for name in named if named.count(name) > 1]:
            raise ConfigError(f"{option}: {twice[0]} is named twice")
    groups: dict[str, list[Source]] = {}
    counted_once = set[tuple[str, object]]()
    for number, record in enumerate(records):
        row = repr([record.settings.get(key) for key in keys])
        # Of files of equal content a sweep has one run, whatever they are called: it counts once in a mean.
        run = row, record.folder if record.is_run and record.folder is not None else number
        if run not in counted_once:
            counted_once.add(run)
            groups.setdefault(row, []).append(record)
    counted = [
        [record for record in group if record.status != "diverged" and (record.is_whole or with_incomplete)]
        for group in groups.values()
    ]
    columns = [_column(counted, name) for name in names]
    rows = []
    for place, group in enumerate(groups.values()):
        failed = [record for record in group if record.failure is not None]
        rows.append(
            Combination(
                settings=tuple(group[0].settings.get(key) for key in keys),
                num_runs=sum(record.failure is None for record in counted[place]),
                num_failed=len(failed),
                num_incomplete=0
                if with_incomplete
                else sum(not record.is_whole for record in group if record.failure is None),
                cells=tuple(column[place] for column in columns),
            )
        )
    return Means(keys=tuple(keys), figures=tuple(names), rows=tuple(rows))


def _telling(records: Sequence[Source], keys: Sequence[str]) -> list[str]:
    """The settings; if they are many, as in runs of several games, without those that follow from the ones before."""
    if len(keys) <= MANY_SETTINGS:
        return list(keys)
    kept: list[str] = []
    num_groups = 1
    for key in keys:
        found = {repr([record.settings.get(each) for each in (*kept, key)]) for record in records}
        if len(found) > num_groups:
            kept, num_groups = [*kept, key], len(found)
    return kept


def _column(groups: Sequence[Sequence[Source]], name: str) -> list[Mean]:
    """The cells of a figure, one for each row."""
    values = [
        [value for record in group if (value := record.figures.get(name)) is not None] for group in groups
    ]
    best = best_of(values, traits_of(name).direction or DIRECTIONS.get(name))
    cells = []
    for found, is_best in zip(values, best, strict=True):
        mean, half_width = mean_and_half_width(found) if found else (None, None)
        cells.append(Mean(mean=mean, half_width=half_width, num_values=len(found), is_best=is_best))
    return cells


def best_of(values: Sequence[Sequence[float]], direction: str | None) -> list[bool]:
    """Which rows have the best mean, or are not told apart from it.

    A row is told apart by Welch's t-test at 5 %, corrected by Holm's procedure over the rows; a row of one value by
    Student's, with the spread of the other row. Where neither has a spread, another mean tells them apart. Where no row
    is told apart, none is marked.

    Args:
        values: The values of each row; some may be empty.
        direction: higher, lower, or None: no row is best.
    """
    defined = [place for place, found in enumerate(values) if found]
    if direction is None or len(defined) < 2:
        return [False] * len(values)
    sign = 1 if direction == "higher" else -1
    first = max(defined, key=lambda place: sign * np.mean(values[place]))
    others = [place for place in defined if place != first]
    p_values = holm([_p_value(values[first], values[place]) for place in others])
    ties = {place for place, p in zip(others, p_values, strict=True) if p is not None and p >= SIGNIFICANCE}
    if len(ties) == len(others):
        return [False] * len(values)
    return [place == first or place in ties for place in range(len(values))]


def _p_value(one: Sequence[float], other: Sequence[float]) -> float:
    fewer, more = sorted((np.asarray(one), np.asarray(other)), key=len)
    if max(np.ptp(fewer), np.ptp(more)) < NO_SPREAD:
        return float(abs(fewer.mean() - more.mean()) < NO_SPREAD)
    if len(fewer) > 1:
        p_value = unpaired_difference(fewer, more).p_value
        assert p_value is not None
        return p_value
    error = float(np.std(more, ddof=1)) * math.sqrt(1 + 1 / len(more))
    return 2 * student_tail(abs(float(fewer[0] - more.mean())) / error, len(more) - 1)
