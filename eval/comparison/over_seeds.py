"""Runs of one game that differ only in their seeds: the mean of each score, its interval over seeds, and two spreads.

What a score varies by from seed to seed has two levels: trainings differ, and each corpus is a sample of what its
agents say. The second is what the interval of a single corpus shows; it is subtracted from the variance over seeds, by
the moments of a random-effects model: Hedges and Olkin (1985), "Statistical Methods for Meta-Analysis", chapter 9.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ecsuite.eval.comparison.gathering import results_of
from ecsuite.eval.metrics import table_order, traits_of
from ecsuite.eval.records.source import Source
from ecsuite.eval.statistics.estimates import ALPHA, Interval, mean_and_half_width, normal_quantile


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedMean:
    """A score over the seeds of one game."""

    name: str
    """Name of the score."""
    seeds: tuple[int, ...]
    """The seeds whose corpora have it."""
    values: tuple[float, ...]
    """The score of each."""
    mean: float
    """Their mean."""
    ci95: Interval | None
    """Student's 95 % interval of the mean over seeds; None of one seed."""
    sd: float | None
    """Standard deviation over seeds."""
    within_sd: float | None
    """The part of it that is noise within a corpus: the root mean square of the errors of single scores, from their
    intervals; None where scores have none."""
    between_sd: float | None
    """The part of it between trainings, at least 0."""
    sizes: tuple[str | None, ...]
    """Numbers of messages, of a score that depends on them."""


def over_seeds(sources: Sequence[Source]) -> list[SeedMean]:
    """Each score over the seeds, in the order of tables; undefined scores are left out.

    Args:
        sources: Scored runs of one game.
    """
    names = dict.fromkeys(
        record.score
        for source in sources
        for record in source.records
        if not record.is_measure and record.value is not None and traits_of(record.score).question != "sizes"
    )
    return [mean for name in sorted(names, key=table_order) for mean in _means(sources, name)]


def _means(sources: Sequence[Source], name: str) -> Iterable[SeedMean]:
    """The means of a score, of each signature one."""
    defined = [
        source for source in sources if any(record.value is not None for record in source.records_of(name))
    ]
    for result in results_of(defined, name):
        values = result.seed_scores
        mean, half_width = mean_and_half_width(values.tolist())
        sd = None if half_width is None else float(np.std(values, ddof=1))
        errors = [
            (record.ci95[1] - record.ci95[0]) / 2 / normal_quantile(1 - ALPHA / 2)
            for source in defined
            for record in source.records_of(name)
            if record.ci95 is not None
        ]
        within = math.sqrt(float(np.mean(np.square(errors)))) if len(errors) == len(values) else None
        is_split = sd is not None and within is not None
        yield SeedMean(
            name=name,
            seeds=result.seeds,
            values=tuple(values.tolist()),
            mean=mean,
            ci95=None if half_width is None else (mean - half_width, mean + half_width),
            sd=sd,
            within_sd=within,
            between_sd=math.sqrt(max(0.0, sd**2 - within**2)) if is_split else None,  # type: ignore[operator]
            sizes=result.sizes,
        )


def is_one_game(sources: Sequence[Source]) -> bool:
    """Whether all are runs of one game that differ only in their seeds."""
    return (
        len(sources) > 1 and all(source.group for source in sources) and len({s.group for s in sources}) == 1
    )
