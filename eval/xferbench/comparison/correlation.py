"""Correlation of XferBench scores with translation scores (chrF or BLEU) over sources.

Boldt & Mortensen (2024), Table 2, report Pearson's coefficient; their program also computes Kendall's. A low XferBench
score is good and a high chrF is good, so agreement gives a negative correlation.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ecsuite.eval.statistics.bootstrap import FEWEST, statistic_interval
from ecsuite.eval.statistics.correlation import STATISTICS
from ecsuite.eval.statistics.estimates import Interval
from ecsuite.runtime.errors import ConfigError

MIN_SOURCES = 3
"""Minimum number of sources: two points are always on a line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Coefficient:
    """A correlation coefficient of two lists of numbers, -1 to 1."""

    name: str
    """Name of the coefficient."""
    value: float
    """Value over all sources."""
    ci95: Interval | None
    """Bootstrap interval over sources; None for few sources."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Correlation:
    """Correlation of XferBench with translation."""

    sources: tuple[str, ...]
    """The sources with both scores, in alphabetical order."""
    left_out: tuple[str, ...]
    """The sources with only one of the scores."""
    coefficients: tuple[Coefficient, ...]
    """Pearson's, Kendall's (tau-b) and Spearman's."""
    ci_reason: str | None
    """Reason for missing intervals."""


def correlate(scores: Mapping[str, float], translation: Mapping[str, float]) -> Correlation:
    """Correlate XferBench scores with translation scores.

    Args:
        scores: XferBench score by source, nats per token.
        translation: chrF or BLEU by source.

    Raises:
        ConfigError: If fewer than three sources have both scores, or all sources have the same score.
    """
    names = sorted(scores.keys() & translation.keys())
    left_out = tuple(sorted(scores.keys() ^ translation.keys()))
    if len(names) < MIN_SOURCES:
        others = f" (in one list only: {', '.join(left_out)})" if left_out else ""
        raise ConfigError(
            f"a correlation needs at least {MIN_SOURCES} sources in both lists, got {len(names)}{others}"
        )
    first, second = (np.array([values[name] for name in names]) for values in (scores, translation))
    for what, values in (("XferBench", first), ("translation", second)):
        if np.ptp(values) == 0:
            raise ConfigError(f"all sources have the same {what} score: the correlation is undefined")
    return Correlation(
        sources=tuple(names),
        left_out=left_out,
        coefficients=tuple(
            Coefficient(
                name=name,
                value=float(statistic(first, second)),
                ci95=statistic_interval(statistic, first, second),
            )
            for name, statistic in STATISTICS.items()
        ),
        ci_reason=None if len(names) >= FEWEST else f"an interval needs at least {FEWEST} sources",
    )
