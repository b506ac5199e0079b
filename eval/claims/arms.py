"""A statistic of the runs of arms, and the differences of arms."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ecsuite.eval.claims.criterion import Arm, Criterion, Statistic
from ecsuite.eval.claims.runs import Run, unit_of
from ecsuite.eval.statistics.bootstrap import statistic_interval
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.correlation import pearson
from ecsuite.eval.statistics.differences import (
    Difference,
    paired_difference,
    unpaired_difference,
    with_effect,
)
from ecsuite.eval.statistics.estimates import average_ranks
from ecsuite.tables.cells import value_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """A difference of two arms, and how many seeds are in it."""

    difference: Difference | None
    """The difference; None if no seed has a value on both sides."""
    num_seeds: int
    """Seeds, of a correlation runs, that are in it."""
    num_missing: int
    """Those that are not, though their runs were wanted: without a run, or without a defined value."""
    values: tuple[Floats, ...]
    """The values of each side, one of a number; of pairs in the same order."""

    def to_json(self) -> dict[str, Any]:
        """The difference as JSON-ready data."""
        return {
            "difference": None if self.difference is None else self.difference.to_json(),
            "num_seeds": self.num_seeds,
            "num_missing": self.num_missing,
        }


def arm_name(arm: Arm | float) -> str:
    """An arm in a line."""
    if not isinstance(arm, Mapping):
        return f"{arm:g}"
    return ", ".join(f"{key}={value_text(value)}" for key, value in arm.items()) or "all runs"


def value_of(run: Run, statistic: Statistic) -> float | None:
    """The statistic of a run; None where it is undefined."""
    figures = [run.values.get(name) if run.failure is None else None for name in statistic.figures]
    if any(figure is None for figure in figures):
        return statistic.undefined
    first, *others = map(float, figures)  # type: ignore[arg-type]
    value: float = first - sum(others)
    if statistic.log:
        return math.log(value) if value > 0 else statistic.undefined
    return value


def by_seed(
    runs: Sequence[Run], arm: Arm, statistic: Statistic, seeds: Sequence[int]
) -> dict[int, float | None]:
    """The statistic of an arm for each seed: the mean over its runs with that seed; None where none has a value.

    A seed whose run is missing has no value, whatever counts where one is undefined.
    """
    values: dict[int, list[float]] = {seed: [] for seed in seeds}
    for run in runs:
        if run.seed in values and run.is_of(arm) and (value := value_of(run, statistic)) is not None:
            values[run.seed].append(value)
    return {seed: math.fsum(own) / len(own) if own else None for seed, own in values.items()}


def compare(
    runs: Sequence[Run],
    criterion: Criterion,
    arm: Arm,
    baseline: Arm | float,
    seeds: Sequence[int],
    *,
    statistic: Statistic | None = None,
) -> Compared:
    """The difference of an arm and another one, or a number.

    Args:
        runs: All runs that count.
        criterion: Its statistic, and whether seeds are paired.
        arm: Which runs.
        baseline: Which runs, or the number that is subtracted.
        seeds: The seeds that were wanted.
        statistic: Another statistic than that of the criterion.
    """
    statistic = statistic or criterion.statistic
    if statistic.correlation:
        return _correlated(runs, arm, statistic, num_wanted=len(seeds))
    first, unit = by_seed(runs, arm, statistic, seeds), unit_of(runs)
    if not isinstance(baseline, Mapping):
        values = np.array([each for each in first.values() if each is not None])
        difference = None if len(values) == 0 else paired_difference(values - baseline)
        return _compared(difference, arm, baseline, len(seeds), f"{len(values)} {unit}", (values,))
    second = by_seed(runs, baseline, statistic, seeds)
    if criterion.paired:
        both = [seed for seed in seeds if first[seed] is not None and second[seed] is not None]
        one, other = (np.array([side[seed] for seed in both], float) for side in (first, second))
        difference = with_effect(paired_difference(one - other), one, other, is_paired=True) if both else None
        return _compared(difference, arm, baseline, len(seeds), f"paired by {len(both)} {unit}", (one, other))
    one, other = (np.array([x for x in side.values() if x is not None], float) for side in (first, second))
    difference = None
    if min(len(one), len(other)) > 1:
        difference = with_effect(unpaired_difference(one, other), one, other)
    basis = f"{len(one)} and {len(other)} {unit}, unpaired"
    return _compared(difference, arm, baseline, len(seeds), basis, (one, other))


def _compared(
    difference: Difference | None,
    arm: Arm,
    baseline: Arm | float,
    num_wanted: int,
    basis: str,
    values: tuple[Floats, ...],
) -> Compared:
    number = min(map(len, values))
    if difference is not None:
        difference = replace(difference, source=arm_name(arm), baseline=arm_name(baseline), basis=basis)
    return Compared(difference=difference, num_seeds=number, num_missing=num_wanted - number, values=values)


def _correlated(runs: Sequence[Run], arm: Arm, statistic: Statistic, num_wanted: int) -> Compared:
    """A correlation over runs within cells: values, or their ranks, less their mean in the cell and in its units.

    The interval is that of a bootstrap over runs, which leaves each run the rank that it has among all.
    """
    cells: dict[str, list[tuple[float, float]]] = {}
    num_missing, num_runs = 0, 0
    for run in runs:
        if not run.is_of(arm):
            continue
        pair = [run.values.get(name) if run.failure is None else None for name in statistic.correlation]
        if pair[0] is None or pair[1] is None:
            num_missing += 1
            continue
        num_runs += 1
        key = repr([run.settings.get(name) for name in statistic.within])
        cells.setdefault(key, []).append((float(pair[0]), float(pair[1])))
    columns = [_standard(np.array(cell).T, statistic.method) for cell in cells.values() if len(cell) > 1]
    first, second = np.concatenate(columns, axis=1) if columns else np.empty((2, 0))
    difference = None
    if len(first) and min(np.ptp(first), np.ptp(second)) > 0:
        interval = statistic_interval(pearson, first, second)
        difference = Difference(mean=float(pearson(first, second)), ci95=interval)
    basis = f"{len(first)} runs in {len(columns)} cells, bootstrap"
    compared = _compared(difference, arm, 0.0, num_runs + num_missing, basis, (first, second))
    return replace(compared, num_missing=num_missing)


def _standard(cell: Floats, method: str) -> Floats:
    """The values of a cell, shape (2, runs), as standard scores; of Spearman's coefficient those of their ranks."""
    ranks = average_ranks(cell) if method == "Spearman" else cell
    centred = ranks - ranks.mean(-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(-1, keepdims=True))
    standard: Floats = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0)
    return standard
