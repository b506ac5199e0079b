"""How many seeds find a difference, from the spread over seeds of runs that there are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import chdtri, nctdtr

from ecsuite.eval.results.samples import Sample
from ecsuite.eval.statistics.differences import ALPHA, NO_SPREAD, Interval
from ecsuite.eval.statistics.distributions import noncentrality, student_quantile
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import number, text
from ecsuite.tables.table import Table, number_column, row_of

SEEDS = (2, 3, 5, 10, 20, 50, 100)
"""Numbers of seeds of a table."""
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
    """Degrees of freedom: seeds less sources."""
    num_sources: int
    """Sources with several seeds."""
    power: float
    """The wanted probability that a difference is found."""
    effect: float | None
    """The difference that is looked for; None: none was named."""
    seeds: int | None
    """How many seeds each of two sources needs for it."""
    seeds_range: tuple[int, int] | None
    """The same for the bounds of the spread's interval."""
    smallest: tuple[tuple[int, float, float, float], ...]
    """Number of seeds of each source, the smallest difference that is found, and that for both bounds of the spread."""

    def to_json(self) -> dict[str, Any]:
        """All figures, JSON-ready."""
        return {
            "metric": self.metric,
            "sd": self.sd,
            "sd_ci95": list(self.sd_ci95),
            "degrees": self.degrees,
            "num_sources": self.num_sources,
            "power": self.power,
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
        """By number of seeds, the smallest difference that is found."""
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
            f"Two-sided t test of two sources at {ALPHA:.0%}, one comparison; of several, Holm's correction asks for "
            "more seeds.",
        ]
        if self.seeds is not None and self.seeds_range is not None:
            few, many = map(_told, self.seeds_range)
            lines.insert(
                0,
                f"A difference of {self.effect:g} needs {_told(self.seeds)} seeds of each source ({few} to {many}).",
            )
        return lines


def seeds_needed(results: Sequence[Sample], metric: str, effect: float | None, power: float) -> Power:
    """How many seeds find a difference of two sources, by the two-sample t test with equal variances.

    The power is that of the noncentral t distribution (Cohen 1988, "Statistical Power Analysis for the Behavioral
    Sciences", section 2.2): of n seeds each, noncentrality d / s sqrt(n / 2), with 2 n - 2 degrees of freedom.

    Args:
        results: Sources, some of which have several seeds, see `gathering.results_of`.
        metric: Name of the score.
        effect: The difference that is looked for, above 0; None: a table alone.
        power: The wanted probability of finding it, above 5 % and below 1.

    Raises:
        ConfigError: If no source has two seeds, or the scores of all seeds are equal.
    """
    scores = [result.seed_scores for result in results if len(result.seeds) > 1]
    degrees = sum(len(values) - 1 for values in scores)
    if not degrees:
        raise ConfigError(f"{metric}: no source has two seeds, whose spread says how many are needed")
    squares = sum(float(((values - values.mean()) ** 2).sum()) for values in scores)
    sd = math.sqrt(squares / degrees)
    if sd < NO_SPREAD:
        raise ConfigError(f"{metric}: all seeds of a source have one score, so there is no spread")
    bounds = tuple(math.sqrt(squares / float(chdtri(degrees, share))) for share in (ALPHA / 2, 1 - ALPHA / 2))
    return Power(
        metric=metric,
        sd=sd,
        sd_ci95=(bounds[0], bounds[1]),
        degrees=degrees,
        num_sources=len(scores),
        power=power,
        effect=effect,
        seeds=None if effect is None else num_seeds(effect / sd, power),
        seeds_range=None if effect is None else tuple(num_seeds(effect / bound, power) for bound in bounds),  # type: ignore[arg-type]
        smallest=tuple(
            (seeds, smallest * sd, smallest * bounds[0], smallest * bounds[1])
            for seeds in SEEDS
            for smallest in [smallest_effect(seeds, power)]
        ),
    )


def power_of(effect: float, seeds: int) -> float:
    """The probability that a two-sided t test finds a difference.

    Args:
        effect: The difference in standard deviations.
        seeds: Of each of the two sources, at least two.
    """
    freedom = 2 * seeds - 2
    least = student_quantile(1 - ALPHA / 2, freedom)
    center = effect * math.sqrt(seeds / 2)
    return 1 - float(nctdtr(freedom, center, least)) + float(nctdtr(freedom, center, -least))


def num_seeds(effect: float, power: float) -> int:
    """The least number of seeds of each source with which a difference is found with a probability.

    Args:
        effect: The difference in standard deviations, above 0.
        power: The probability.

    Returns:
        At most `MOST_SEEDS`.
    """
    low, high = 1, 2
    while high < MOST_SEEDS and power_of(effect, high) < power:
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if power_of(effect, middle) < power else (low, middle)
    return high


def smallest_effect(seeds: int, power: float) -> float:
    """The difference in standard deviations that so many seeds of each source find with a probability."""
    freedom = 2 * seeds - 2
    least = student_quantile(1 - ALPHA / 2, freedom)
    return noncentrality(least, freedom, 1 - power) / math.sqrt(seeds / 2)


def _told(seeds: int) -> str:
    return f"more than {MOST_SEEDS:,}" if seeds >= MOST_SEEDS else f"{seeds:,}"
