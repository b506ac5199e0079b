"""A difference of two means: its interval, p-value, correction, effect size, and what these rest on."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import (
    ALPHA,
    NO_SPREAD,
    Interval,
    holm,
    mean_and_half_width,
    noncentrality,
    normal_quantile,
    normal_tail,
    student_quantile,
    student_tail,
)

Conclusion = Literal["higher", "lower", "inside the noise", "unknown"]
"""Conclusion on the first of the two, after the correction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The mean of something minus that of something else."""

    source: str = ""
    """Name of the first."""
    baseline: str = ""
    """Name of the second, whose mean is subtracted."""
    mean: float
    """The difference of the means."""
    ci95: Interval | None = None
    """95 % confidence interval; None for a single value."""
    p_value: float | None = None
    """Two-sided p-value of no difference; None without an interval, or if values have no spread, from which no noise
    can be estimated."""
    p_holm: float | None = None
    """p-value with Holm's correction for all differences that are shown."""
    hedges_g: float | None = None
    """The difference in standard deviations, see `hedges_g`; None without several values on both sides."""
    hedges_g_ci95: Interval | None = None
    """Its 95 % confidence interval."""
    basis: str = ""
    """Basis of the interval and the p-value."""
    judged: Conclusion | None = None
    """Conclusion whatever the p-value is, for a reason among the details, or `higher` or `lower` if the
    correction allows; None: the p-value decides."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further figures, JSON-ready, such as differences by target language."""

    @property
    def conclusion(self) -> Conclusion:
        """The conclusion after the correction."""
        if self.judged is not None:
            is_noise = self.p_holm is not None and self.p_holm >= ALPHA and self.judged in ("higher", "lower")
            return "inside the noise" if is_noise else self.judged
        if self.p_holm is not None:
            return "inside the noise" if self.p_holm >= ALPHA else "higher" if self.mean > 0 else "lower"
        # an interval without a p-value has no spread
        return "inside the noise" if self.ci95 is not None and abs(self.mean) < NO_SPREAD else "unknown"

    @property
    def is_clear(self) -> bool:
        """Whether the first is concluded to be higher or lower."""
        return self.conclusion in ("higher", "lower")

    def to_json(self) -> dict[str, Any]:
        """The difference as JSON-ready data."""
        return {
            "source": self.source,
            "baseline": self.baseline,
            "mean": self.mean,
            "ci95": None if self.ci95 is None else list(self.ci95),
            "p_value": self.p_value,
            "p_holm": self.p_holm,
            "hedges_g": self.hedges_g,
            "hedges_g_ci95": None if self.hedges_g_ci95 is None else list(self.hedges_g_ci95),
            "basis": self.basis,
            "conclusion": self.conclusion,
            **self.details,
        }


def corrected(differences: Iterable[Difference]) -> list[Difference]:
    """Differences with Holm's correction for all of them that have a p-value."""
    uncorrected = list(differences)
    p_values = holm([difference.p_value for difference in uncorrected])
    return [replace(each, p_holm=p_holm) for each, p_holm in zip(uncorrected, p_values, strict=True)]


def num_comparisons(differences: Iterable[Difference]) -> int:
    """For how many differences Holm's correction is made: those with a p-value."""
    return sum(difference.p_value is not None for difference in differences)


def paired_difference(differences: Floats) -> Difference:
    """Student's interval and t test of the differences of pairs, shape (num_pairs,)."""
    mean, half_width = mean_and_half_width(differences.tolist())
    if half_width is None:
        return Difference(mean=mean)
    if np.ptp(differences) < NO_SPREAD:
        return Difference(mean=mean, ci95=(mean, mean))
    distance = abs(float(differences.mean())) / math.sqrt(_squared_error(differences))
    p_value = 2 * student_tail(distance, len(differences) - 1)
    return Difference(mean=mean, ci95=(mean - half_width, mean + half_width), p_value=p_value)


def unpaired_difference(first: Floats, second: Floats) -> Difference:
    """Welch's interval and t test of two groups of at least two values, whose variances may differ."""
    mean = float(first.mean() - second.mean())
    if max(np.ptp(first), np.ptp(second)) < NO_SPREAD:
        return Difference(mean=mean, ci95=(mean, mean))
    one, other = _squared_error(first), _squared_error(second)
    freedom = (one + other) ** 2 / (one**2 / (len(first) - 1) + other**2 / (len(second) - 1))
    error = math.sqrt(one + other)
    half_width = student_quantile(1 - ALPHA / 2, freedom) * error
    p_value = 2 * student_tail(abs(mean) / error, freedom)
    return Difference(mean=mean, ci95=(mean - half_width, mean + half_width), p_value=p_value)


def difference_of_estimates(
    first: float, first_ci: Interval, second: float, second_ci: Interval
) -> Difference:
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
    return Difference(mean=mean, ci95=(mean - below, mean + above), p_value=p_value)


def with_effect(
    difference: Difference, first: Floats, second: Floats, *, is_paired: bool = False
) -> Difference:
    """A difference with its effect size, Hedges' g, where both groups have a spread and two values, of pairs three.

    Of independent groups, g = J(n1 + n2 - 2) (m1 - m2) / s with the pooled standard deviation s and J(m) = 1 - 3 / (4 m
    - 1): Hedges (1981), "Distribution theory for Glass's estimator of effect size", Journal of Educational Statistics
    6, equations 2, 6e. Its interval is that of the noncentral t distribution (Steiger and Fouladi 1997). Of pairs, s is
    the root of the mean variance of both sides, so that g is on the same scale, with n - 1 degrees of freedom; its
    interval is that of Algina and Keselman (2003), "Approximate confidence intervals for effect sizes", Educational and
    Psychological Measurement 63, equation 9.

    Args:
        difference: Its figures.
        first: Values of the first, shape (num_values,).
        second: Values of the second; of pairs in the same order.
        is_paired: Whether they are pairs.
    """
    if min(len(first), len(second)) < 2 or max(np.ptp(first), np.ptp(second)) < NO_SPREAD:
        return difference
    variances = float(np.var(first, ddof=1)), float(np.var(second, ddof=1))
    if is_paired:
        number = len(first)
        freedom = number - 1
        spread = math.sqrt(sum(variances) / 2)
        of_pairs = float(np.var(first - second, ddof=1))
        if of_pairs < NO_SPREAD**2:
            return difference
        t = difference.mean / math.sqrt(of_pairs / number)
        scale = math.sqrt(2 * of_pairs / (number * sum(variances)))
    else:
        freedom = len(first) + len(second) - 2
        weighted = (len(first) - 1) * variances[0] + (len(second) - 1) * variances[1]
        spread = math.sqrt(weighted / freedom)
        scale = math.sqrt(1 / len(first) + 1 / len(second))
        t = difference.mean / (spread * scale)
    if freedom < 2:  # of two pairs the correction leaves nothing: g would be 0, whatever the difference
        return difference
    correction = 1 - 3 / (4 * freedom - 1)
    bounds = [correction * scale * noncentrality(t, freedom, share) for share in (1 - ALPHA / 2, ALPHA / 2)]
    return replace(
        difference,
        hedges_g=correction * difference.mean / spread,
        hedges_g_ci95=(bounds[0], bounds[1]) if all(map(math.isfinite, bounds)) else None,
    )


def _squared_error(values: Floats) -> float:
    """The squared standard error of the mean."""
    number = len(values)
    return float(np.mean((values - values.mean()) ** 2) * (number / (number - 1)) / number)
