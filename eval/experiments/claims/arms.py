"""Runs of a claim in the file of its results, their statistics by arm and seed, and differences between arms."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

import msgspec
import numpy as np

from ecsuite.eval.experiments.claims.claim import Arm, Claim, Criterion, Statistic, Success
from ecsuite.eval.metrics import bound_of
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.samples import Estimate, estimate_of, limits_of_values
from ecsuite.eval.results.sources import Source, Status
from ecsuite.eval.statistics.bootstrap import statistic_interval
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.correlation import pearson
from ecsuite.eval.statistics.estimates import (
    OPPOSITE,
    Bound,
    Difference,
    average_ranks,
    difference_bound,
    joint_bound,
    paired_difference,
    unpaired_difference,
    with_effect,
)
from ecsuite.files.format_numbers import without_format
from ecsuite.formats.strict_json import read_json
from ecsuite.games.tasks.directions import measure_bound
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import value_text
from ecsuite.version import __version__

CORPUS = "corpus"
"""Setting with the name of the corpus, for runs that are corpora."""


class StoredRun(TypedDict):
    """A run in the file of the results of a claim, see `claim_run`."""

    settings: Mapping[str, Any]
    seed: int
    values: Mapping[str, int | float | None]
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
    """A run of a claim, successful or failed.

    Args:
        claim: Name of the claim.
        settings: Values by setting: the varied settings of a sweep; model, grammar and channel of ICY; the row of CBM.
        seed: Seed; for corpora a number from 1.
        values: Figures by name; None: undefined.
        status: Final status.
        failure: Reason of a failure.
        seconds: Time of training and scoring.
    """
    records = (
        Score(
            name=name,
            value=value,
            reason="" if value is None else None,
            is_measure=True,
            bound=measure_bound(name, values),
        )
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
    """The results of a claim, the input of verdicts and pages."""

    name: str
    """Name of the claim."""
    digest: str
    """`Claim.digest` when it ran."""
    is_small: bool
    """Whether it was a small check (`--small`)."""
    runs: tuple[Source, ...]
    """All started runs, including failed runs."""
    hours: float
    """Computing hours of all jobs."""
    version: str = __version__
    """Version of ecsuite."""
    commit: str | None = None
    """Commit of the checkout that ran it, with the claim's file and criterion."""
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
        ConfigError: If the file has no results of a claim, or can't be read.
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
        raise ConfigError(f"{file}: expected the results of a claim: {error}") from None


def seeds_of(runs: Iterable[Source]) -> list[int]:
    """The distinct seeds of runs in ascending order."""
    return sorted({run.seed for run in runs if run.seed is not None})


def has_settings(settings: Mapping[str, Any], arm: Arm) -> bool:
    """Whether settings have the values of an arm."""
    return all(key in settings and settings[key] == value for key, value in arm.items())


def is_successful(run: Source, success: Success | None) -> bool:
    """Whether the paper's own rule counts a run; without a rule, all runs that did not fail count."""
    if success is None:
        return run.failure is None
    value = run.values.get(success.measure)
    return value is not None and value >= success.at_least


def arm_name(arm: Arm | float) -> str:
    """An arm in a line."""
    if not isinstance(arm, Mapping):
        return f"{arm:g}"
    return ", ".join(f"{key}={value_text(value)}" for key, value in arm.items()) or "all runs"


class SeedValue(NamedTuple):
    """Value of a statistic for a seed."""

    value: float
    """The value."""
    bound: Bound | None = None
    """Whether `value` is a lower or upper bound of the true value, as figures are censored; None: neither."""


def values_by_seed(
    runs: Sequence[Source], arm: Arm, statistic: Statistic, seeds: Sequence[int]
) -> dict[int, SeedValue | None]:
    """The statistic of an arm for each seed: the mean over its runs with that seed; None if no run has a value.

    A seed without a run has no value, even if the statistic has a value for undefined figures.
    """
    values: dict[int | None, list[SeedValue]] = {seed: [] for seed in seeds}
    for run in runs:
        if run.seed in values and has_settings(run.settings, arm):
            value = _statistic_of(run, statistic)
            values[run.seed] += [] if value is None else [value]
    return {
        seed: SeedValue(
            math.fsum(each.value for each in own) / len(own), joint_bound(each.bound for each in own)
        )
        if (own := values[seed])
        else None
        for seed in seeds
    }


def _statistic_of(run: Source, statistic: Statistic) -> SeedValue | None:
    records = {record.figure: record for record in run.records} if run.failure is None else {}
    figures = [records.get(name) for name in statistic.figures]
    missing = None if statistic.undefined is None else SeedValue(statistic.undefined)
    known = [each for each in figures if each is not None and each.value is not None]
    if len(known) < len(figures):
        return missing
    first, *others = (float(each.value) for each in known)  # type: ignore[arg-type]
    value: float = first - sum(others)
    bound = joint_bound((bound_of(known[0]), *(OPPOSITE[bound_of(each)] for each in known[1:])))
    if statistic.log:
        return SeedValue(math.log(value), bound) if value > 0 else missing
    return SeedValue(value, bound)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmDifference:
    """Difference of two arms, with its number of seeds."""

    difference: Difference | None
    """The difference; None if no seed has a value on both sides."""
    num_seeds: int
    """Number of seeds in the difference; for a correlation, of runs."""
    num_missing: int
    """Number of missing seeds or runs: without a run, or without a defined value."""
    values: tuple[Floats, ...]
    """The values of each side, a single value for a number; paired values have the same order."""

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
    """The difference of an arm and another arm or a number.

    Args:
        runs: All runs that count.
        criterion: The criterion, with the statistic and whether seeds are paired.
        arm: The runs whose mean is compared.
        baseline: The runs whose mean is subtracted, or a number.
        seeds: The planned seeds.
        statistic: Statistic instead of the criterion's.
    """
    statistic = statistic or criterion.statistic
    if statistic.correlation:
        return _correlate(runs, arm, statistic)
    first, unit = values_by_seed(runs, arm, statistic, seeds), _unit_of(runs)
    difference = None
    second = values_by_seed(runs, baseline, statistic, seeds) if isinstance(baseline, Mapping) else first
    counted: Sequence[Sequence[SeedValue]]
    if criterion.paired or second is first:
        pairs = ((first[seed], second[seed]) for seed in seeds)
        both = [(a, b) for a, b in pairs if a is not None and b is not None]
        counted = [[a for a, _ in both], [b for _, b in both]]
    else:
        counted = [[x for x in side.values() if x is not None] for side in (first, second)]
    one, other = (np.array([each.value for each in side], float) for side in counted)
    bounds = [joint_bound(each.bound for each in side) for side in counted]
    if not isinstance(baseline, Mapping):
        difference = paired_difference(one - baseline) if len(one) else None
        basis, bounds[1] = f"{len(one)} {unit}", None
    elif criterion.paired:
        if len(one):
            difference = with_effect(paired_difference(one - other), one, other, is_paired=True)
        basis = f"paired by {len(one)} {unit}"
    else:
        if min(len(one), len(other)) > 1:
            difference = with_effect(unpaired_difference(one, other), one, other)
        basis = f"{len(one)} and {len(other)} {unit}, unpaired"
    number = min(len(one), len(other))
    if difference is not None:
        difference = replace(
            difference,
            source=arm_name(arm),
            baseline=arm_name(baseline),
            basis=basis,
            bound=difference_bound(*bounds),
        )
    return ArmDifference(
        difference=difference,
        num_seeds=number,
        num_missing=len(seeds) - number,
        values=(one, other) if isinstance(baseline, Mapping) else (one,),
    )


def _unit_of(runs: Sequence[Source]) -> str:
    """Unit of replication of an arm: seeds, existing corpora, or groups of related corpora."""
    settings = next((run.settings for run in runs if CORPUS in run.settings), None)
    if settings is None:
        return "seeds"
    return "corpora" if len(settings) == 1 else "groups of related corpora"


def _correlate(runs: Sequence[Source], arm: Arm, statistic: Statistic) -> ArmDifference:
    """Correlate two figures over runs, after standardising their values or ranks within each cell.

    The interval is from a bootstrap over runs, in which each run has its rank among all runs. If a figure of a run is
    censored, so are the ranks, and the correlation is not a bound of the true correlation.
    """
    cells: dict[str, list[tuple[float, float]]] = {}
    num_missing, is_bounded = 0, False
    for run in runs:
        if not has_settings(run.settings, arm):
            continue
        one, other = (run.values.get(name) if run.failure is None else None for name in statistic.correlation)
        if one is None or other is None:
            num_missing += 1
            continue
        is_bounded |= any(bound_of(each) for each in run.records if each.figure in statistic.correlation)
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
            bound="none" if is_bounded else None,
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
    """Settings of the arm's runs."""
    by_seed: Mapping[int, SeedValue | None]
    """The value of each seed; None: undefined."""
    runs: tuple[Source, ...] = ()
    """Runs of the arm."""

    @property
    def defined(self) -> list[float]:
        """The defined values, in the order of the seeds."""
        return [each.value for each in self.by_seed.values() if each is not None]

    @property
    def mean(self) -> Estimate:
        """The mean over seeds with its interval, and whether it is a bound of the true mean."""
        if not self.defined:
            return Estimate(mean=None)
        bound = joint_bound(each.bound for each in self.by_seed.values() if each is not None)
        limits = limits_of_values(self.figure, np.array(self.defined))
        return replace(estimate_of(self.defined, limits), bound=bound)


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
            yield ArmFigure(
                figure=name,
                arm=arm_name(arm),
                by_seed=values,
                runs=tuple(run for run in outcome.runs if has_settings(run.settings, arm)),
            )
