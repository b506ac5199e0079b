"""Correlation of two distances over pairs of rows, weighted by the frequency of each pair, and its standard error.

Pairs share rows, so they are dependent: the mean of a function of pairs is a U-statistic of degree two. To first order,
a correlation is the U-statistic of its influence function, x y - r (x² + y²) / 2, where x and y have mean 0 and
variance 1 over the pairs.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import Floats, Ints, num_labels
from ecsuite.eval.statistics.estimates import average_ranks

_BLOCK = 32
"""Meanings whose distances are permuted in one block."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowPairs:
    """Pairs of distinct rows of a corpus."""

    left: Ints
    """First row of each pair, (num_pairs,)."""
    right: Ints
    """Second row of each pair, (num_pairs,)."""
    times: Ints | None = None
    """Number of equal pairs that each pair stands for, (num_pairs,); None: one."""

    @classmethod
    def all_of(cls, num_rows: int) -> "RowPairs":
        """All pairs of rows, in the order of `numpy.triu_indices`."""
        left, right = np.triu_indices(num_rows, 1)
        return cls(left=left, right=right)

    @classmethod
    def drawn(cls, num_rows: int, number: int, rng: np.random.Generator) -> "RowPairs":
        """Random pairs, drawn with replacement."""
        left = rng.integers(num_rows, size=number)
        right = rng.integers(num_rows - 1, size=number)
        return cls(left=left, right=right + (right >= left))

    @classmethod
    def of_groups(cls, counts: Ints) -> "RowPairs":
        """All pairs of rows that are equal within groups, as pairs of groups, including a group with itself.

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
        """Residuals of a least squares fit to other variables, with variance 1; NaN if the residuals are 0.

        Args:
            values: Values with mean 0 and variance 1, (num_pairs,).
            fixed: The other variables, in the same form.
        """
        table = np.stack(fixed, axis=1)
        weighted = table if self.times is None else table * self.times[:, None]
        left = values - table @ np.linalg.lstsq(weighted.T @ table, weighted.T @ values)[0]
        variance = self.mean(left**2)
        return np.asarray(left / math.sqrt(variance)) if variance > 1e-12 else np.full(len(left), np.nan)

    def mean(self, values: Floats) -> float:
        """Mean over all pairs of rows."""
        return float(values.mean() if self.times is None else values @ self.times / self.times.sum())

    def correlation(self, x: Floats, y: Floats) -> float:
        """Correlation of two variables with mean 0 and variance 1."""
        mean = x @ y / len(x) if self.times is None else self.mean(x * y)
        return float(np.clip(mean, -1, 1))


class MeaningPairs:
    """Pairs of rows with sums by the meanings of both rows, for permuting meanings or leaving some out.

    Args:
        pairs: The pairs.
        meaning: The id of each row's meaning, from 0 without gaps, (num_rows,).
        x: First variable, with mean 0 and variance 1 over the pairs, (num_pairs,).
        y: Second variable, equal for all pairs of the same two meanings.
        fixed: Covariate that moves with the messages as x does, and is uncorrelated with x; None: no covariate.
    """

    def __init__(
        self,
        pairs: RowPairs,
        meaning: NDArray[np.integer[Any]],
        x: Floats,
        y: Floats,
        fixed: Floats | None = None,
    ) -> None:
        self.number = num_labels(meaning)
        self._pairs, self._left, self._right = (
            pairs,
            meaning[pairs.left].astype(np.int64),
            meaning[pairs.right],
        )
        self._x, self._y, self._fixed = x, y, fixed
        self._rest = y if fixed is None else pairs.residuals(y, [fixed])
        """Residuals of y given the covariates."""
        self.correlation = pairs.correlation(x, self._rest)
        """Correlation over all pairs; NaN if the covariate determines a variable."""

    def standard_error(self, num_independent: float) -> float:
        """Standard error of the correlation over pairs drawn with replacement, for independently drawn meanings.

        The drawn pairs share few rows, but many share a meaning. The expected product of the influences of two pairs
        that share a meaning is the variance of its mean influence, ζ1 below; for a pair with itself it is ζ2.

        Hoeffding (1948), "A class of statistics with asymptotically normal distribution", Annals of Mathematical
        Statistics 19, section 5: Var U = (4 (n - 2) ζ1 + 2 ζ2) / (n (n - 1)); for m pairs drawn with replacement
        Blom (1976), "Some properties of incomplete U-statistics", Biometrika 63: Var U + (ζ2 - Var U) / m.

        Args:
            num_independent: Number of meanings, n, or the effective number if their numbers of rows differ.
        """
        x, y = self._x, self._rest
        influence = x * y - self.correlation * (x**2 + y**2) / 2
        of_pairs = float(np.mean(influence**2))
        meaning = np.concatenate([self._left, self._right])
        counts = np.bincount(meaning, minlength=self.number)
        sums = np.bincount(meaning, np.tile(influence, 2), self.number)
        is_met = counts > 0
        squares = float((sums[is_met] ** 2 / counts[is_met]).sum())
        of_meanings = max(0.0, (squares - is_met.sum() * of_pairs) / (counts[is_met] - 1).sum())
        variance = (4 * (num_independent - 2) * of_meanings + 2 * of_pairs) / (
            num_independent * (num_independent - 1)
        )
        return math.sqrt(variance + (of_pairs - variance) / len(x))

    def _table(self, values: Floats | None = None) -> Floats:
        """Sums of values, or numbers of pairs, by the two meanings, (num_meanings, num_meanings)."""
        times = self._pairs.times
        weights = values if times is None else times if values is None else values * times
        sums = np.bincount(self._left * self.number + self._right, weights, self.number**2)
        return sums.astype(np.float64).reshape(self.number, self.number)

    def permuted(self, orders: Iterable[Ints], sizes: Ints) -> Floats:
        """Correlations with permuted meanings, (num_orders,); NaN if all pairs are then equal.

        The pairs are all pairs of rows, and ranks stay those of the original pairs.

        Args:
            orders: For each meaning, the meaning that its messages get, each (num_meanings,).
            sizes: Number of rows of each meaning, (num_meanings,).
        """
        y = np.empty((self.number, self.number))
        y[self._left, self._right] = y[self._right, self._left] = self._y
        own, is_known = y.diagonal().copy(), sizes > 1
        own[~is_known] = own[is_known].mean() if is_known.any() else 0  # meanings with a single message
        np.fill_diagonal(y, own)
        total = int(sizes.sum()) * (int(sizes.sum()) - 1) / 2
        sums_of_pairs = [self._table(each) for each in (self._x, self._fixed) if each is not None]
        tables = [
            (each + each.T) / 2 / total for each in sums_of_pairs
        ]  # half of each value in either triangle
        products, moved_sizes = [], []
        rows, moved = np.empty((2, min(_BLOCK, self.number), self.number))
        for order in orders:
            sums = np.zeros(len(tables))
            for start in range(0, self.number, _BLOCK):  # stays in the cache
                some = order[start : start + _BLOCK]
                np.take(y, some, axis=0, out=rows[: len(some)], mode="clip")  # clip avoids a copy
                np.take(rows[: len(some)], order, axis=1, out=moved[: len(some)], mode="clip")
                block = slice(start, start + len(some))
                sums += [np.einsum("ij,ij->", table[block], moved[: len(some)]) for table in tables]
            products.append(sums)
            moved_sizes.append(sizes[np.argsort(order)])
        together, *others = np.array(products).reshape(-1, len(tables)).T
        variance = np.ones(len(together))
        if np.ptp(sizes):  # equal sizes preserve mean and variance
            weights = np.array(moved_sizes, float)
            mean, square = (
                (((weights @ each) * weights).sum(1) - weights @ each.diagonal()) / (2 * total)
                for each in (y, y * y)
            )
            variance = square - mean**2
        variance -= sum(other**2 for other in others)
        return np.where(variance > 1e-12, together / np.sqrt(np.maximum(variance, 1e-12)), np.nan)

    def halves(self, choices: Iterable[Ints]) -> Floats:
        """Correlations over the pairs within subsets of meanings, (num_choices,); NaN if distances are equal.

        Args:
            choices: Subsets of the meanings, each (num_chosen,).
        """
        x, y = self._x, self._rest
        chosen = [np.bincount(each, minlength=self.number) for each in choices]
        is_chosen = np.array(chosen, float).reshape(len(chosen), self.number)
        total, *sums = (
            ((is_chosen @ self._table(each)) * is_chosen).sum(1) for each in (None, x, y, x * x, y * y, x * y)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            of_x, of_y, of_xx, of_yy, of_xy = (each / total for each in sums)
            variance = (of_xx - of_x**2) * (of_yy - of_y**2)
            found: Floats = (of_xy - of_x * of_y) / np.sqrt(variance)
        return np.where(variance >= 1e-12, found, np.nan)
