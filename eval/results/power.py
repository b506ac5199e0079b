"""How many seeds find a difference, from the spread over seeds of runs that there are."""

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
"""Numbers of seeds of a table."""
NUM_NODES = 64
"""Nodes of the quadrature over ratios of variances."""
MOST_SEEDS = 100_000
"""Most seeds that are told; more are no plan."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Power:
    """The spread of a score over seeds, and what it allows to find."""

    metric: str
    """Name of the score."""
    sd: float
    """Standard deviation over seeds, pooled over the sources."""
    sd_ci95: Interval
    """Its 95 % interval."""
    degrees: int
    """Degrees of freedom: seeds less sources, or less one in each pair of sources."""
    shared: str
    """Shared property of runs with equal seeds, by which `compare` pairs them; empty: none."""
    num_sources: int
    """Sources with several seeds."""
    power: float
    """The wanted probability that a difference is found."""
    effect: float | None
    """The difference that is looked for; None: none was named."""
    seeds: int | None
    """How many seeds each of two sources needs for it."""
    seeds_range: tuple[int, int] | None
    """Number of seeds at both bounds of the interval of the spread."""
    smallest: tuple[tuple[int, float, float, float], ...]
    """Number of seeds of each source, the smallest difference that is found, and that for both bounds of the spread."""

    @property
    def test(self) -> str:
        """The test in words."""
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
            columns=columns, rows=rows, title=f"{self.metric}: what {self.power:.0%} of comparisons find"
        )

    def notes(self) -> list[str]:
        """The spread, and the answer where a difference was named."""
        low, high = self.sd_ci95
        sources = "1 source" if self.num_sources == 1 else f"{self.num_sources} sources"
        lines = [
            f"Spread over seeds: standard deviation {self.sd:.4f} [{low:.4f}, {high:.4f}], from {sources}, "
            f"{self.degrees} degrees of freedom.",
            f"The test is that of `ecsuite compare`: {self.test}, two-sided at {ALPHA:.0%}, one comparison; "
            "of several, Holm's correction asks for more seeds.",
        ]
        if self.seeds is not None and self.seeds_range is not None:
            few, many = map(_told, self.seeds_range)
            lines.insert(
                0,
                f"A difference of {self.effect:g} needs {_told(self.seeds)} seeds of each source ({few} to {many}).",
            )
        return lines


def seeds_needed(samples: Sequence[Sample], metric: str, effect: float | None, power: float) -> Power:
    """How many seeds find a difference of two sources, by the test that `compare` makes of such runs.

    Args:
        samples: Sources, some of which have several seeds, see `ecsuite.eval.results.samples.samples_of`.
        metric: Name of the score.
        effect: The difference that is looked for, above 0; None: a table alone.
        power: The wanted probability of finding it, above 5 % and below 1.

    Raises:
        ConfigError: If no source has two seeds, or the scores of all seeds are equal.
    """
    several = [sample for sample in samples if len(sample.seeds) > 1]
    pairs = [(one, other) for one, other in combinations(several, 2) if shared_by(one, other)]
    shared = shared_by(*pairs[0]) if pairs else ""
    if pairs:  # the spread of a difference of two sources, from what is left of sources and seeds
        paired = [pairs[0][0], *(each for each in several if shared_by(pairs[0][0], each))]
        values = np.stack([sample.seed_scores for sample in paired])
        left = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
        degrees, squares = (len(values) - 1) * (values.shape[1] - 1), 2 * float((left**2).sum())
    else:
        scores = [each.seed_scores for each in several]
        degrees = sum(len(values) - 1 for values in scores)
        squares = sum(float(((values - values.mean()) ** 2).sum()) for values in scores)
    if not degrees:
        raise ConfigError(f"{metric}: no source has two seeds, whose spread says how many are needed")
    sd = math.sqrt(squares / degrees)
    if sd < NO_SPREAD:
        raise ConfigError(f"{metric}: all seeds of a source have one score, so there is no spread")
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
    """The probability that `compare` finds a difference of two sources of normal values with equal variances.

    Of pairs it is that of the noncentral t distribution with n - 1 degrees of freedom (Cohen 1988, "Statistical Power
    Analysis for the Behavioral Sciences", section 2.3). Welch's test of n and n values has the t statistic of the
    pooled test, with degrees of freedom (n - 1) / (r^2 + (1 - r)^2), where r is the share of one variance in the sum of
    both; r has the distribution Beta((n - 1) / 2, (n - 1) / 2) and is independent of the statistic (Basu's theorem),
    so that the power is a mean over r, here by Gauss-Jacobi quadrature.

    Args:
        effect: The difference in standard deviations: of a source or, of pairs, of the differences.
        seeds: Of each of the two sources, at least two.
        is_paired: Whether the runs of both are pairs.
    """
    if is_paired:
        return _power(effect * math.sqrt(seeds), seeds - 1, np.array([seeds - 1.0]), np.ones(1))
    exponent = (seeds - 1) / 2 - 1
    nodes, weights = roots_jacobi(NUM_NODES, exponent, exponent)
    share = (1 + nodes) / 2
    freedoms = (seeds - 1) / (share**2 + (1 - share) ** 2)
    return _power(effect * math.sqrt(seeds / 2), 2 * seeds - 2, freedoms, weights / weights.sum())


def _power(center: float, freedom: int, critical_freedoms: Floats, weights: Floats) -> float:
    """Probability that |t| exceeds its critical value, whose degrees of freedom vary with these weights."""
    least = stdtrit(critical_freedoms, 1 - ALPHA / 2)
    # scipy gives NaN for probabilities of about 1e-17.
    below, lowest = (np.nan_to_num(nctdtr(freedom, center, bound), nan=0.0) for bound in (least, -least))
    return float(weights @ (1 - below + lowest))


def num_seeds(effect: float, power: float, *, is_paired: bool = False) -> int:
    """The least number of seeds of each source with which a difference is found with a probability.

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
    """The difference in standard deviations that so many seeds of each source find with a probability."""
    highest = 1.0
    while power_of(highest, seeds, is_paired=is_paired) < power:
        highest *= 2
    return float(
        brentq(lambda effect: power_of(effect, seeds, is_paired=is_paired) - power, 0, highest, xtol=1e-10)
    )


def _told(seeds: int) -> str:
    return f"more than {MOST_SEEDS:,}" if seeds >= MOST_SEEDS else f"{seeds:,}"
