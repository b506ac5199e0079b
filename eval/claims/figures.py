"""The figures of each arm of a claim: those that its criterion compares, seed by seed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ecsuite.eval.claims.arms import arm_name, by_seed
from ecsuite.eval.claims.claim import Claim
from ecsuite.eval.claims.criterion import Arm, Criterion, Statistic
from ecsuite.eval.claims.outcome import Outcome
from ecsuite.eval.statistics.estimates import mean_and_half_width


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmFigure:
    """A figure of an arm."""

    figure: str
    """What is compared."""
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


def arm_figures(claim: Claim, outcome: Outcome) -> Iterator[ArmFigure]:
    """The statistic of the criterion for each arm, or the two figures of a correlation; then the controls."""
    criterion = claim.criterion
    seeds = sorted({run.seed for run in outcome.runs})
    for name, statistic in _statistics(criterion):
        for arm in _arms(criterion):
            values = by_seed(outcome.runs, arm, statistic, seeds)
            defined = [value for value in values.values() if value is not None]
            mean, half_width = mean_and_half_width(defined) if defined else (None, None)
            yield ArmFigure(figure=name, arm=arm_name(arm), by_seed=values, mean=mean, half_width=half_width)


def _statistics(criterion: Criterion) -> list[tuple[str, Statistic]]:
    statistic = criterion.statistic
    further = (*statistic.correlation, *(criterion.controls or ()))
    shown = [(name, Statistic(measure=name)) for name in further]
    return shown if statistic.correlation else [(statistic.name, statistic), *shown]


def _arms(criterion: Criterion) -> list[Arm]:
    """The arms, those at each size where sizes are compared."""
    if criterion.sizes is None:
        return criterion.arms
    at_sizes = [{criterion.sizes.setting: size} for size in criterion.sizes.values]
    return [{**arm, **size} for size in at_sizes for arm in criterion.arms]
