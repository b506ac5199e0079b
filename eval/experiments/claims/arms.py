"""Runs of a claim, in the file of its results; a statistic of them by arm and seed, and the differences of arms."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import msgspec
import numpy as np

from ecsuite.eval.experiments.claims.claim import Arm, Claim, Criterion, Statistic, Success
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.sources import Source, Status
from ecsuite.eval.statistics.bootstrap import statistic_interval
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.correlation import pearson
from ecsuite.eval.statistics.estimates import (
    Difference,
    average_ranks,
    mean_and_half_width,
    paired_difference,
    unpaired_difference,
    with_effect,
)
from ecsuite.files.format_numbers import without_format
from ecsuite.formats.strict_json import read_json
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import value_text
from ecsuite.version import __version__

CORPUS = "corpus"
"""The setting of a run that is a corpus: its name."""


class StoredRun(TypedDict):
    """A run in the file of the results of a claim, see `claim_run`."""

    settings: Mapping[str, Any]
    seed: int
    values: Mapping[str, float | None]
    status: Status
    failure: NotRequired[str | None]
    seconds: NotRequired[float | None]


def claim_run(
    claim: str,
    *,
    settings: Mapping[str, Any],
    seed: int,
    values: Mapping[str, float | None],
    status: Status,
    failure: str | None = None,
    seconds: float | None = None,
) -> Source:
    """A run of a claim, also one that failed.

    Args:
        claim: Name of the claim.
        settings: Values by setting: what varies in a sweep; model, grammar and channel of ICY; the row of CBM.
        seed: Its seed; of corpora a number from 1.
        values: Figures by name; None: undefined.
        status: How it ended.
        failure: Why it failed.
        seconds: Time of its training and its scores.
    """
    records = (
        Score(name=name, value=value, reason="" if value is None else None, is_measure=True)
        for name, value in values.items()
    )
    return Source(
        name=claim,
        file=Path(claim),
        is_run=True,
        settings=settings,
        seed=seed,
        status=status,
        failure=failure,
        seconds=seconds,
        records=tuple(records),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimOutcome:
    """The results of a claim, from which verdicts and pages are made."""

    name: str
    """Name of the claim."""
    digest: str
    """`Claim.digest` when it ran."""
    is_small: bool
    """Whether it was a check of minutes."""
    runs: tuple[Source, ...]
    """All runs that were started, also those that failed."""
    hours: float
    """Hours of computing, all jobs together."""
    version: str = __version__
    """Version of ecsuite."""
    commit: str | None = None
    """Commit of the checkout that ran it; its file of the claim has the criterion."""
    processor: str = ""
    """Processor or GPU of the jobs."""

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON-ready data."""
        return {
            "claim": self.name,
            "digest": self.digest,
            "is_small": self.is_small,
            "version": self.version,
            "commit": self.commit,
            "processor": self.processor,
            "hours": round(self.hours, 4),
            "runs": [
                {
                    "settings": dict(run.settings),
                    "seed": run.seed,
                    "values": run.values,
                    "status": run.status,
                    "failure": run.failure,
                    "seconds": run.seconds,
                }
                for run in self.runs
            ],
        }


def read_outcome(file: Path) -> ClaimOutcome:
    """Read the results of a claim that `ecsuite reproduce --out` wrote.

    Raises:
        ConfigError: If it is no such file, or can't be read.
    """
    try:
        tree: Mapping[str, Any] = without_format("result", read_json(file), file)
        keys = ("digest", "is_small", "version", "commit", "processor", "hours")
        runs = msgspec.convert(tree["runs"], list[StoredRun])
        return ClaimOutcome(
            name=tree["claim"],
            runs=tuple(claim_run(tree["claim"], **run) for run in runs),
            **{key: tree[key] for key in keys},
        )
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise ConfigError(f"{file}: not the results of a claim: {error}") from None


def seeds_of(runs: Iterable[Source]) -> list[int]:
    """The seeds of runs in ascending order, each once."""
    return sorted({run.seed for run in runs if run.seed is not None})


def has_settings(settings: Mapping[str, Any], arm: Arm) -> bool:
    """Whether settings have the values of an arm."""
    return all(key in settings and settings[key] == value for key, value in arm.items())


def is_successful(run: Source, success: Success | None) -> bool:
    """Whether the paper's own rule counts a run; without a rule, each run that did not fail counts."""
    if success is None:
        return run.failure is None
    value = run.values.get(success.measure)
    return value is not None and value >= success.at_least


def arm_name(arm: Arm | float) -> str:
    """An arm in a line."""
    if not isinstance(arm, Mapping):
        return f"{arm:g}"
    return ", ".join(f"{key}={value_text(value)}" for key, value in arm.items()) or "all runs"


def values_by_seed(
    runs: Sequence[Source], arm: Arm, statistic: Statistic, seeds: Sequence[int]
) -> dict[int, float | None]:
    """The statistic of an arm for each seed: the mean over its runs with that seed; None where none has a value.

    A seed whose run is missing has no value, also where the statistic has one for undefined figures.
    """
    values: dict[int | None, list[float]] = {seed: [] for seed in seeds}
    for run in runs:
        if run.seed in values and has_settings(run.settings, arm):
            value = _statistic_of(run, statistic)
            values[run.seed] += [] if value is None else [value]
    return {seed: math.fsum(own) / len(own) if (own := values[seed]) else None for seed in seeds}


def _statistic_of(run: Source, statistic: Statistic) -> float | None:
    figures = [run.values.get(name) if run.failure is None else None for name in statistic.figures]
    if any(figure is None for figure in figures):
        return statistic.undefined
    first, *others = map(float, figures)  # type: ignore[arg-type]
    value: float = first - sum(others)
    if statistic.log:
        return math.log(value) if value > 0 else statistic.undefined
    return value


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmDifference:
    """A difference of two arms, and how many seeds are in it."""

    difference: Difference | None
    """The difference; None if no seed has a value on both sides."""
    num_seeds: int
    """Seeds, of a correlation runs, that are in it."""
    num_missing: int
    """Seeds or runs that were wanted and are not in it: without a run, or without a defined value."""
    values: tuple[Floats, ...]
    """The values of each side, one of a number; of pairs in the same order."""

    def to_json(self) -> dict[str, Any]:
        """The difference as JSON-ready data."""
        return {
            "difference": None if self.difference is None else self.difference.to_json(),
            "num_seeds": self.num_seeds,
            "num_missing": self.num_missing,
        }


def compare_arms(
    runs: Sequence[Source],
    criterion: Criterion,
    arm: Arm,
    baseline: Arm | float,
    seeds: Sequence[int],
    *,
    statistic: Statistic | None = None,
) -> ArmDifference:
    """The difference of an arm and another one, or a number.

    Args:
        runs: All runs that count.
        criterion: Its statistic, and whether seeds are paired.
        arm: The runs whose mean is compared.
        baseline: The runs whose mean is subtracted, or a number.
        seeds: The seeds that were wanted.
        statistic: Another statistic than that of the criterion.
    """
    statistic = statistic or criterion.statistic
    if statistic.correlation:
        return _correlate(runs, arm, statistic)
    first, unit = values_by_seed(runs, arm, statistic, seeds), _unit_of(runs)
    difference = None
    if not isinstance(baseline, Mapping):
        one = other = np.array([each for each in first.values() if each is not None], float)
        difference = paired_difference(one - baseline) if len(one) else None
        basis = f"{len(one)} {unit}"
    else:
        second = values_by_seed(runs, baseline, statistic, seeds)
        if criterion.paired:
            both = [seed for seed in seeds if first[seed] is not None and second[seed] is not None]
            one, other = (np.array([side[seed] for seed in both], float) for side in (first, second))
            if both:
                difference = with_effect(paired_difference(one - other), one, other, is_paired=True)
            basis = f"paired by {len(both)} {unit}"
        else:
            one, other = (
                np.array([x for x in side.values() if x is not None], float) for side in (first, second)
            )
            if min(len(one), len(other)) > 1:
                difference = with_effect(unpaired_difference(one, other), one, other)
            basis = f"{len(one)} and {len(other)} {unit}, unpaired"
    number = min(len(one), len(other))
    if difference is not None:
        difference = replace(difference, source=arm_name(arm), baseline=arm_name(baseline), basis=basis)
    return ArmDifference(
        difference=difference,
        num_seeds=number,
        num_missing=len(seeds) - number,
        values=(one, other) if isinstance(baseline, Mapping) else (one,),
    )


def _unit_of(runs: Sequence[Source]) -> str:
    """Unit of replication of an arm: seeds, existing corpora, or groups of related ones."""
    settings = next((run.settings for run in runs if CORPUS in run.settings), None)
    if settings is None:
        return "seeds"
    return "corpora" if len(settings) == 1 else "groups of related corpora"


def _correlate(runs: Sequence[Source], arm: Arm, statistic: Statistic) -> ArmDifference:
    """A correlation over runs within cells: values, or their ranks, less their mean in the cell and in its units.

    The interval is that of a bootstrap over runs, which leaves each run the rank that it has among all.
    """
    cells: dict[str, list[tuple[float, float]]] = {}
    num_missing = 0
    for run in runs:
        if not has_settings(run.settings, arm):
            continue
        one, other = (run.values.get(name) if run.failure is None else None for name in statistic.correlation)
        if one is None or other is None:
            num_missing += 1
            continue
        key = repr([run.settings.get(name) for name in statistic.within])
        cells.setdefault(key, []).append((float(one), float(other)))
    columns = []
    for pairs in cells.values():
        if len(pairs) > 1:
            cell = np.array(pairs).T
            ranks = average_ranks(cell) if statistic.method == "Spearman" else cell
            centred = ranks - ranks.mean(-1, keepdims=True)
            spread = np.sqrt((centred**2).mean(-1, keepdims=True))
            columns.append(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 0))
    first, second = np.concatenate(columns, axis=1) if columns else np.empty((2, 0))
    difference = None
    if len(first) and min(np.ptp(first), np.ptp(second)) > 0:
        difference = Difference(
            mean=float(pearson(first, second)),
            ci95=statistic_interval(pearson, first, second),
            source=arm_name(arm),
            baseline=arm_name(0.0),
            basis=f"{len(first)} runs in {len(columns)} cells, bootstrap",
        )
    return ArmDifference(
        difference=difference, num_seeds=len(first), num_missing=num_missing, values=(first, second)
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmFigure:
    """A figure of an arm."""

    figure: str
    """Name of the figure."""
    arm: str
    """The settings of its runs."""
    by_seed: Mapping[int, float | None]
    """The value of each seed; None: undefined."""
    mean: float | None
    """The mean over seeds."""
    half_width: float | None
    """Half of its 95 % interval."""

    @property
    def defined(self) -> list[float]:
        """The values that are defined, in the order of the seeds."""
        return [value for value in self.by_seed.values() if value is not None]


def arm_figures(claim: Claim, outcome: ClaimOutcome) -> Iterator[ArmFigure]:
    """The statistic of the criterion for each arm, or the two figures of a correlation; then the controls."""
    criterion, seeds = claim.criterion, seeds_of(outcome.runs)
    further = (*criterion.statistic.correlation, *(criterion.controls or ()))
    statistics = [(name, Statistic(measure=name)) for name in further]
    if not criterion.statistic.correlation:
        statistics.insert(0, (criterion.statistic.name, criterion.statistic))
    for name, statistic in statistics:
        for arm in criterion.arms:
            values = values_by_seed(outcome.runs, arm, statistic, seeds)
            defined = [value for value in values.values() if value is not None]
            mean, half_width = mean_and_half_width(defined) if defined else (None, None)
            yield ArmFigure(figure=name, arm=arm_name(arm), by_seed=values, mean=mean, half_width=half_width)
