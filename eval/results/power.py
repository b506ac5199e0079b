"""Number of seeds needed to detect a difference, from the spread over seeds of existing runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, nctdtr, roots_jacobi, stdtrit

from ecsuite.eval.results.comparison import shared_by
from ecsuite.eval.results.samples import Sample
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import ALPHA, NO_SPREAD, Interval
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import number, text
from ecsuite.tables.table import Table, number_column, row_of

SEEDS = (2, 3, 5, 10, 20, 50, 100)
"""Numbers of seeds in a table."""
NUM_NODES = 64
"""Nodes of the quadrature over ratios of variances."""
MOST_SEEDS = 100_000
"""Maximum reported number of seeds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Power:
    """Spread of a score over seeds, and the differences that it allows to detect."""

    metric: str
    """Name of the score."""
    sd: float
    """Standard deviation over seeds, pooled over the sources."""
    sd_ci95: Interval
    """The 95 % interval of the standard deviation."""
    degrees: int
    """Degrees of freedom: seeds minus sources or, for paired sources, one less per pair."""
    shared: str
    """Shared property of runs with equal seeds, by which `compare` pairs them; empty: none."""
    num_sources: int
    """Sources with several seeds."""
    power: float
    """Requested probability of detecting a difference."""
    effect: float | None
    """Difference to detect; None: not given."""
    seeds: int | None
    """Number of seeds of each of two sources that detects it."""
    seeds_range: tuple[int, int] | None
    """Number of seeds at both bounds of the interval of the spread."""
    smallest: tuple[tuple[int, float, float, float], ...]
    """Number of seeds per source, smallest detectable difference, and the same at both bounds of the spread."""

    @property
    def test(self) -> str:
        """Name of the test."""
        return f"Student's of pairs of the same {self.shared}" if self.shared else "Welch's t test"

    def to_json(self) -> dict[str, Any]:
        """All figures, JSON-ready."""
        return {
            "metric": self.metric,
            "sd": self.sd,
            "sd_ci95": list(self.sd_ci95),
            "degrees": self.degrees,
            "num_sources": self.num_sources,
            "power": self.power,
            "test": self.test,
            "alpha": ALPHA,
            "effect": self.effect,
            "seeds": self.seeds,
            "seeds_range": None if self.seeds_range is None else list(self.seeds_range),
            "smallest": [
                {"seeds": seeds, "difference": difference, "low": low, "high": high}
                for seeds, difference, low, high in self.smallest
            ],
        }

    def table(self) -> Table:
        """Table of the smallest detectable difference by number of seeds."""
        columns = (
            number_column("seeds", "seeds of each"),
            number_column("difference", "smallest difference"),
            number_column("low", "spread at its low end"),
            number_column("high", "at its high end"),
        )
        rows = [row_of(text(seeds), *(number(value) for value in values)) for seeds, *values in self.smallest]
        return Table(
            columns=columns, rows=rows, title=f"{self.metric}: what {self.power:.0%} of comparisons detect"
        )

    def notes(self) -> list[str]:
        """Notes on the spread and, if a difference was given, the number of seeds."""
        low, high = self.sd_ci95
        sources = "1 source" if self.num_sources == 1 else f"{self.num_sources} sources"
        lines = [
            f"Spread over seeds: standard deviation {self.sd:.4f} [{low:.4f}, {high:.4f}], from {sources}, "
            f"{self.degrees} degrees of freedom.",
            f"The test is that of `ecsuite compare`: {self.test}, two-sided at {ALPHA:.0%}, one comparison; "
            "several comparisons need more seeds by Holm's correction.",
        ]
        if self.seeds is not None and self.seeds_range is not None:
            few, many = map(_seeds_text, self.seeds_range)
            lines.insert(
                0,
                f"A difference of {self.effect:g} needs {_seeds_text(self.seeds)} seeds per source ({few} to {many}).",
            )
        return lines


def seeds_needed(samples: Sequence[Sample], metric: str, effect: float | None, power: float) -> Power:
    """Compute the number of seeds that detects a difference of two sources, by the test of `compare`.

    Args:
        samples: Sources, some of them with several seeds, see `ecsuite.eval.results.samples.samples_of`.
        metric: Name of the score.
        effect: The difference to detect, above 0; None: only the table.
        power: Requested probability of detection, above 5 % and below 1.

    Raises:
        ConfigError: If no source has two seeds, or the scores of all seeds are equal.
    """
    several = [sample for sample in samples if len(sample.seeds) > 1]
    pairs = [(one, other) for one, other in combinations(several, 2) if shared_by(one, other)]
    shared = shared_by(*pairs[0]) if pairs else ""
    if pairs:  # spread of the difference of two sources, from the residuals after source and seed effects
        paired = [pairs[0][0], *(each for each in several if shared_by(pairs[0][0], each))]
        values = np.stack([sample.seed_scores for sample in paired])
        left = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
        degrees, squares = (len(values) - 1) * (values.shape[1] - 1), 2 * float((left**2).sum())
    else:
        scores = [each.seed_scores for each in several]
        degrees = sum(len(values) - 1 for values in scores)
        squares = sum(float(((values - values.mean()) ** 2).sum()) for values in scores)
    if not degrees:
        raise ConfigError(f"{metric}: no source has two seeds: expected at least one, to measure the spread")
    sd = math.sqrt(squares / degrees)
    if sd < NO_SPREAD:
        raise ConfigError(f"{metric}: all seeds of a source have equal scores, so there is no spread")
    bounds = tuple(math.sqrt(squares / float(chdtri(degrees, share))) for share in (ALPHA / 2, 1 - ALPHA / 2))
    needed = [
        None if effect is None else num_seeds(effect / each, power, is_paired=bool(pairs))
        for each in (sd, *bounds)
    ]
    return Power(
        metric=metric,
        sd=sd,
        sd_ci95=(bounds[0], bounds[1]),
        degrees=degrees,
        shared=shared,
        num_sources=len(several),
        power=power,
        effect=effect,
        seeds=needed[0],
        seeds_range=None if needed[1] is None or needed[2] is None else (needed[1], needed[2]),
        smallest=tuple(
            (seeds, smallest * sd, smallest * bounds[0], smallest * bounds[1])
            for seeds in SEEDS
            for smallest in [smallest_effect(seeds, power, is_paired=bool(pairs))]
        ),
    )


def power_of(effect: float, seeds: int, *, is_paired: bool = False) -> float:
    """Probability that `compare` detects a difference of two sources of normal values with equal variances.

    For pairs it follows from the noncentral t distribution with n - 1 degrees of freedom (Cohen 1988, "Statistical
    Power Analysis for the Behavioral Sciences", section 2.3). Welch's test of n and n values has the t statistic of the
    pooled test, with degrees of freedom (n - 1) / (r^2 + (1 - r)^2), where r is the share of one variance in the sum of
    both; r has the distribution Beta((n - 1) / 2, (n - 1) / 2) and is independent of the statistic (Basu's theorem), so
    the power is a mean over r, computed by Gauss-Jacobi quadrature.

    Args:
        effect: The difference in standard deviations: of a source or, for pairs, of the differences.
        seeds: Number of seeds of each of the two sources, at least two.
        is_paired: Whether the runs of both are paired.
    """
    if is_paired:
        return _power(effect * math.sqrt(seeds), seeds - 1, np.array([seeds - 1.0]), np.ones(1))
    exponent = (seeds - 1) / 2 - 1
    nodes, weights = roots_jacobi(NUM_NODES, exponent, exponent)
    share = (1 + nodes) / 2
    freedoms = (seeds - 1) / (share**2 + (1 - share) ** 2)
    return _power(effect * math.sqrt(seeds / 2), 2 * seeds - 2, freedoms, weights / weights.sum())


def _power(center: float, freedom: int, critical_freedoms: Floats, weights: Floats) -> float:
    """Probability that |t| exceeds its critical value, whose degrees of freedom have these weights."""
    least = stdtrit(critical_freedoms, 1 - ALPHA / 2)
    # scipy gives NaN for probabilities of about 1e-17.
    below, lowest = (np.nan_to_num(nctdtr(freedom, center, bound), nan=0.0) for bound in (least, -least))
    return float(weights @ (1 - below + lowest))


def num_seeds(effect: float, power: float, *, is_paired: bool = False) -> int:
    """Smallest number of seeds per source that detects a difference with a given probability.

    Args:
        effect: The difference in standard deviations, above 0, see `power_of`.
        power: The probability.
        is_paired: See `power_of`.

    Returns:
        At most `MOST_SEEDS`.
    """
    low, high = 1, 2
    while high < MOST_SEEDS and power_of(effect, high, is_paired=is_paired) < power:
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if power_of(effect, middle, is_paired=is_paired) < power else (low, middle)
    return high


def smallest_effect(seeds: int, power: float, *, is_paired: bool = False) -> float:
    """Smallest difference in standard deviations that this many seeds per source detect with a given probability."""
    highest = 1.0
    while power_of(highest, seeds, is_paired=is_paired) < power:
        highest *= 2
    return float(
        brentq(lambda effect: power_of(effect, seeds, is_paired=is_paired) - power, 0, highest, xtol=1e-10)
    )


def _seeds_text(seeds: int) -> str:
    return f"more than {MOST_SEEDS:,}" if seeds >= MOST_SEEDS else f"{seeds:,}"
