"""Correlation of XferBench scores with translation scores (chrF or BLEU) over sources.

Boldt & Mortensen (2024), Table 2, report Pearson's coefficient; their program also computes Kendall's. A low XferBench
score is good and a high chrF is good, so agreement gives a negative correlation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from ecsuite.config import ConfigError
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.statistics.intervals import FEWEST, Interval, statistic_interval

MIN_SOURCES = 3
"""Minimum number of sources: two points are always on a line."""
TOLERANCE = 1e-12
"""Standard deviations below this are rounding errors."""


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


def pearson(first: Floats, second: Floats) -> Floats:
    """Pearson's coefficient along the last axis; 0 if a list is constant (possible in resamples of few sources)."""
    first = first - first.mean(-1, keepdims=True)
    second = second - second.mean(-1, keepdims=True)
    scale = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    product = (first * second).sum(-1)
    return _ratio(product, scale)


def kendall(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b along the last axis: the uncentred correlation of the signs of all pairwise differences."""
    pairs = np.triu_indices(first.shape[-1], k=1)
    signs = [np.sign(values[..., pairs[0]] - values[..., pairs[1]]) for values in (first, second)]
    scale = np.sqrt((signs[0] ** 2).sum(-1) * (signs[1] ** 2).sum(-1))
    product = (signs[0] * signs[1]).sum(-1)
    return _ratio(product, scale)


def _ratio(product: Floats, scale: Floats) -> Floats:
    """`product / scale`; 0 if the scale is 0."""
    quotient: Floats = np.divide(product, scale, out=np.zeros_like(product), where=scale > TOLERANCE)
    return quotient


def spearman(first: Floats, second: Floats) -> Floats:
    """Spearman's coefficient along the last axis: Pearson's coefficient of the ranks."""
    return pearson(rankdata(first, axis=-1), rankdata(second, axis=-1))


STATISTICS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "Pearson": pearson,
    "Kendall": kendall,
    "Spearman": spearman,
}
"""Vectorised over resamples, unlike the functions in the SciPy versions that ecsuite supports."""
