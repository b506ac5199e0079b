"""Differences of two means with intervals and p-values: paired, unpaired, and of two estimates with intervals."""

import math
from dataclasses import dataclass

import numpy as np

from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.statistics.distributions import normal_quantile, normal_tail, student_quantile, student_tail
from ecsuite.eval.statistics.t_intervals import mean_and_half_width

ALPHA = 0.05
"""Error rate of intervals, and significance level of p-values."""
NO_SPREAD = 1e-9
"""A smaller range of values is rounding error."""

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class MeanDifference:
    """A difference of two means."""

    mean: float
    ci95: Interval | None
    """95 % confidence interval; None for a single value."""
    p_value: float | None
    """Two-sided p-value of no difference; None without an interval, or if values have no spread, from which no noise
    can be estimated."""


def paired_difference(differences: Floats) -> MeanDifference:
    """Student's interval and t test of the differences of pairs, shape (num_pairs,)."""
    mean, half_width = mean_and_half_width(differences.tolist())
    if half_width is None:
        return MeanDifference(mean=mean, ci95=None, p_value=None)
    if np.ptp(differences) < NO_SPREAD:
        return MeanDifference(mean=mean, ci95=(mean, mean), p_value=None)
    distance = abs(float(differences.mean())) / math.sqrt(_squared_error(differences))
    p_value = 2 * student_tail(distance, len(differences) - 1)
    return MeanDifference(mean=mean, ci95=(mean - half_width, mean + half_width), p_value=p_value)


def unpaired_difference(first: Floats, second: Floats) -> MeanDifference:
    """Welch's interval and t test of two groups of at least two values, whose variances may differ."""
    mean = float(first.mean() - second.mean())
    if max(np.ptp(first), np.ptp(second)) < NO_SPREAD:
        return MeanDifference(mean=mean, ci95=(mean, mean), p_value=None)
    one, other = _squared_error(first), _squared_error(second)
    freedom = (one + other) ** 2 / (one**2 / (len(first) - 1) + other**2 / (len(second) - 1))
    error = math.sqrt(one + other)
    half_width = student_quantile(1 - ALPHA / 2, freedom) * error
    p_value = 2 * student_tail(abs(mean) / error, freedom)
    return MeanDifference(mean=mean, ci95=(mean - half_width, mean + half_width), p_value=p_value)


def difference_of_estimates(
    first: float, first_ci: Interval, second: float, second_ci: Interval
) -> MeanDifference:
    """Difference of two independent estimates, from their 95 % intervals.

    The variances on each side are recovered from the bounds, so that intervals may be asymmetric: Zou and Donner
    (2008), "Construction of confidence limits about effect measures", Statistics in Medicine 27. The p-value is that of
    a normal distribution with the variance on the side of 0.
    """
    mean = first - second
    below = math.hypot(first - first_ci[0], second_ci[1] - second)
    above = math.hypot(first_ci[1] - first, second - second_ci[0])
    half_width = below if mean > 0 else above
    p_value = None
    if half_width >= NO_SPREAD:
        p_value = 2 * normal_tail(abs(mean) / half_width * normal_quantile(1 - ALPHA / 2))
    return MeanDifference(mean=mean, ci95=(mean - below, mean + above), p_value=p_value)


def _squared_error(values: Floats) -> float:
    """The squared standard error of the mean."""
    number = len(values)
    return float(np.mean((values - values.mean()) ** 2) * (number / (number - 1)) / number)
