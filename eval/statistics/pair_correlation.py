"""The correlation of two distances over pairs of rows, each pair counted as often as it occurs, and its standard error.

Pairs share rows, so they are not independent: the mean of a function of pairs is a U-statistic of degree two. A
correlation is one to first order, of its influence function: x y - r (x² + y²) / 2, where x and y have mean 0 and
variance 1 over the pairs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ecsuite.eval.statistics.counting import Floats, Ints
from ecsuite.eval.statistics.distributions import average_ranks


@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs:
    """Pairs of two different rows of a corpus."""

    left: Ints
    """A row of each pair, (num_pairs,)."""
    right: Ints
    """The other row."""
    times: Ints | None = None
    """How many pairs of rows each stands for; None: one."""

    @classmethod
    def all_of(cls, num_rows: int) -> "Pairs":
        """All pairs of some rows, in the order of `numpy.triu_indices`."""
        left, right = np.triu_indices(num_rows, 1)
        return cls(left=left, right=right)

    @classmethod
    def drawn(cls, num_rows: int, number: int, rng: np.random.Generator) -> "Pairs":
        """Pairs drawn with replacement."""
        left = rng.integers(num_rows, size=number)
        right = rng.integers(num_rows - 1, size=number)
        return cls(left=left, right=right + (right >= left))

    @classmethod
    def of_groups(cls, counts: Ints) -> "Pairs":
        """All pairs of rows that are equal within groups, as pairs of groups, a group with itself among them.

        Args:
            counts: The number of rows of each group, (num_groups,).
        """
        left, right = np.triu_indices(len(counts))
        times = np.where(left == right, counts[left] * (counts[left] - 1) // 2, counts[left] * counts[right])
        return cls(left=left[times > 0], right=right[times > 0], times=times[times > 0])

    def standard_ranks(self, distances: Floats) -> Floats:
        """Ranks (ties averaged) with mean 0 and variance 1: their mean product is Spearman's correlation."""
        if self.times is None:
            ranks = average_ranks(distances)
            ranks -= ranks.mean()
            return np.asarray(ranks / ranks.std())
        number = np.unique(distances, return_inverse=True)[1]
        totals = np.bincount(number, self.times)
        middle = np.cumsum(totals) - totals / 2
        middle -= middle @ totals / totals.sum()
        middle /= math.sqrt(middle**2 @ totals / totals.sum())
        return np.asarray(middle[number])

    def standardised(self, values: Floats) -> Floats:
        """Values with mean 0 and variance 1: their mean product is Pearson's correlation."""
        centred = values - self.mean(values)
        return np.asarray(centred / math.sqrt(self.mean(centred**2)))

    def residuals(self, values: Floats, fixed: Sequence[Floats]) -> Floats:
        """What least squares on other variables leaves, with variance 1; NaN if that is nothing.

        Args:
            values: With mean 0 and variance 1, as the others, (num_pairs,).
            fixed: The other variables.
        """
        table = np.stack(fixed, axis=1)
        weighted = table if self.times is None else table * self.times[:, None]
        left = values - table @ np.linalg.lstsq(weighted.T @ table, weighted.T @ values)[0]
        variance = self.mean(left**2)
        return np.asarray(left / math.sqrt(variance)) if variance > 1e-12 else np.full(len(left), np.nan)

    def mean(self, values: Floats) -> float:
        """The mean over all pairs of rows."""
        return float(values.mean() if self.times is None else values @ self.times / self.times.sum())

    def correlation(self, x: Floats, y: Floats) -> float:
        """The correlation of two variables with mean 0 and variance 1."""
        mean = x @ y / len(x) if self.times is None else self.mean(x * y)
        return float(np.clip(mean, -1, 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Influence:
    """How much single rows, and single pairs of them, change a correlation over all pairs of rows."""

    of_rows: float
    """Variance of the mean influence of the pairs of a row."""
    of_pairs: float
    """Variance of the influence of a pair."""

    @classmethod
    def of(cls, pairs: Pairs, x: Floats, y: Floats, counts: Ints) -> "Influence":
        """From all pairs of rows.

        The sample variance of the rows' means has some of that of single pairs, as each is a mean over finitely many:
        this is taken off.

        Args:
            pairs: All pairs of the rows.
            x: A variable with mean 0 and variance 1 over the pairs, (num_pairs,).
            y: The other.
            counts: How many rows each row of the pairs stands for.
        """
        influence = x * y - pairs.correlation(x, y) * (x**2 + y**2) / 2
        of_pairs = pairs.mean(influence**2)
        if pairs.times is not None:
            influence *= pairs.times
        number = int(counts.sum())
        sums = sum(np.bincount(side, influence, len(counts)) for side in (pairs.left, pairs.right))
        means = sums / counts / (number - 1)
        among_rows = float(counts @ means**2) / (number - 1)
        return cls(of_rows=max(0.0, ((number - 1) * among_rows - of_pairs) / (number - 2)), of_pairs=of_pairs)

    def standard_error(self, num_rows: int, num_drawn: int | None = None) -> float:
        """The standard error of a correlation, if rows are independent draws.

        Hoeffding (1948), "A class of statistics with asymptotically normal distribution", Annals of Mathematical
        Statistics 19, section 5: Var U = (4 (n - 2) ζ1 + 2 ζ2) / (n (n - 1)); of pairs drawn with replacement
        Blom (1976), "Some properties of incomplete U-statistics", Biometrika 63: Var U + (ζ2 - Var U) / m.

        Args:
            num_rows: Number of rows, n.
            num_drawn: Number of pairs, m, if the correlation is that of drawn ones; None: of all.
        """
        variance = (4 * (num_rows - 2) * self.of_rows + 2 * self.of_pairs) / (num_rows * (num_rows - 1))
        if num_drawn is not None:
            variance += (self.of_pairs - variance) / num_drawn
        return math.sqrt(variance)
