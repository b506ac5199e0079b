"""Does XferBench tell how useful a source is for translation? Its correlation with chrF over sources.

Boldt & Mortensen (2024), Table 2, give Pearson's coefficient; their program has Kendall's, too. XferBench is better
when lower and chrF when higher, so that agreement is negative.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from ecsuite.config import ConfigError
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.statistics.intervals import FEWEST, Interval, statistic_interval

FEWEST_SOURCES = 3
"""Two points always lie on a line."""
TINY = 1e-12
"""A spread below this is rounding."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Coefficient:
    """One way to tell how two lists of numbers go together, from -1 to 1."""

    name: str
    """Whose it is."""
    value: float
    """Over all sources."""
    ci95: Interval | None
    """Bootstrap over sources; None with few sources."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Correlation:
    """How XferBench goes together with translation."""

    sources: tuple[str, ...]
    """The sources that both know, in alphabetical order."""
    left_out: tuple[str, ...]
    """Those that only one of them knows."""
    coefficients: tuple[Coefficient, ...]
    """Pearson's, Kendall's (tau-b) and Spearman's."""
    ci_reason: str | None
    """Why there are no intervals."""


def correlate(scores: Mapping[str, float], translation: Mapping[str, float]) -> Correlation:
    """Correlate XferBench scores with translation scores.

    Args:
        scores: XferBench, nats per token, by source.
        translation: chrF or BLEU, by source.

    Raises:
        ConfigError: If they share fewer than three sources, or either is the same for all of them.
    """
    names = sorted(scores.keys() & translation.keys())
    left_out = tuple(sorted(scores.keys() ^ translation.keys()))
    if len(names) < FEWEST_SOURCES:
        alone = f" (in only one: {', '.join(left_out)})" if left_out else ""
        raise ConfigError(
            f"a correlation takes {FEWEST_SOURCES} sources that both lists know, got {len(names)}{alone}"
        )
    first, second = (np.array([values[name] for name in names]) for values in (scores, translation))
    for what, values in (("XferBench", first), ("translation", second)):
        if np.ptp(values) == 0:
            raise ConfigError(f"all sources have the same {what} score: there is nothing to correlate")
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
        ci_reason=None if len(names) >= FEWEST else f"an interval takes at least {FEWEST} sources",
    )


def pearson(first: Floats, second: Floats) -> Floats:
    """Pearson's coefficient along the last axis; 0 where a list is constant, as a resample of few sources may be."""
    first = first - first.mean(-1, keepdims=True)
    second = second - second.mean(-1, keepdims=True)
    scale = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    product = (first * second).sum(-1)
    return _ratio(product, scale)


def kendall(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b along the last axis: Pearson's coefficient, about 0, of the signs of all pairs of sources."""
    pairs = np.triu_indices(first.shape[-1], k=1)
    signs = [np.sign(values[..., pairs[0]] - values[..., pairs[1]]) for values in (first, second)]
    scale = np.sqrt((signs[0] ** 2).sum(-1) * (signs[1] ** 2).sum(-1))
    product = (signs[0] * signs[1]).sum(-1)
    return _ratio(product, scale)


def _ratio(product: Floats, scale: Floats) -> Floats:
    """A quotient; 0 where the scale is."""
    quotient: Floats = np.divide(product, scale, out=np.zeros_like(product), where=scale > TINY)
    return quotient


def spearman(first: Floats, second: Floats) -> Floats:
    """Spearman's coefficient along the last axis: Pearson's of the ranks."""
    return pearson(rankdata(first, axis=-1), rankdata(second, axis=-1))


STATISTICS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "Pearson": pearson,
    "Kendall": kendall,
    "Spearman": spearman,
}
"""Own versions, since SciPy's take one resample at a time in the versions that ecsuite allows."""
