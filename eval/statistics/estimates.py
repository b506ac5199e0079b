"""Estimates: quantiles and tails, intervals of means, crossed means, differences of means with their tests, ranks.

Quantiles and tails are from `scipy.special`, and equal to those of `scipy.stats` to the last bit: importing the latter
takes half a second, more than scoring a small corpus.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import Floats

# SciPy imports all names of NumPy, of which these load what nobody needs, for a sixth of a second.
_TOOLS = [name for name in ("f2py", "testing", "ma", "polynomial") if name not in vars(np)]
vars(np).update(dict.fromkeys(_TOOLS))
try:
    from scipy.special import betaincinv, nctdtrinc, ndtr, ndtri, stdtr, stdtrit
finally:
    for _name in _TOOLS:
        if vars(np).get(_name, ...) is None:
            delattr(np, _name)

ALPHA = 0.05
"""Error rate of intervals, and significance level of p-values."""
NO_SPREAD = 1e-9
"""A smaller range of values is rounding error."""

Interval = tuple[float, float]
Bound = Literal["lower", "upper", "none"]
"""Relation of a figure to the true one where values are censored: a lower or an upper bound, or none of these."""
OPPOSITE: Mapping[Bound | None, Bound | None] = {
    "lower": "upper",
    "upper": "lower",
    "none": "none",
    None: None,
}
"""Bound of a figure that is subtracted."""


def joint_bound(bounds: Iterable[Bound | None]) -> Bound | None:
    """The bound of a sum or a mean of figures: the one that all censored ones have; None if none is censored."""
    found = {bound for bound in bounds if bound is not None}
    return found.pop() if len(found) == 1 else "none" if found else None


def difference_bound(first: Bound | None, second: Bound | None) -> Bound | None:
    """The bound of the difference of two figures."""
    return joint_bound((first, OPPOSITE[second]))


def student_quantile(share: float, freedom: float) -> float:
    """The value that a share of Student's distribution is below, with so many degrees of freedom."""
    return float(stdtrit(freedom, share))


def student_tail(value: float, freedom: float) -> float:
    """The share of Student's distribution above a value, with so many degrees of freedom."""
    return float(stdtr(freedom, -value))


def noncentrality(value: float, freedom: float, share: float) -> float:
    """The noncentrality of the t distribution, with so many degrees of freedom, of which a share is below a value."""
    return float(nctdtrinc(freedom, share, value))


def normal_quantile(share: float) -> float:
    """The value that a share of the normal distribution is below."""
    return float(ndtri(share))


def normal_tail(value: float) -> float:
    """The share of the normal distribution above a value."""
    return float(ndtr(-value))


def mean_and_half_width(values: Sequence[float], *, published: bool = False) -> tuple[float, float | None]:
    """The mean and the half-width of its 95 % confidence interval (None for a single value).

    Args:
        values: One per seed.
        published: Use 1.96 and the population standard deviation, as the published program does (too narrow);
            otherwise Student's t and the sample standard deviation.
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return mean, None
    if published:
        squares = math.fsum((value - mean) ** 2 for value in values)
        return mean, 1.96 * math.sqrt(squares / count / count)
    error = standard_error(values)
    assert error is not None
    return mean, student_quantile(0.975, count - 1) * error


def standard_error(values: Sequence[float]) -> float | None:
    """The standard error of the mean of independent values; None for a single one."""
    count = len(values)
    if count == 1:
        return None
    mean = math.fsum(values) / count
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)


def resampled_mean(values: Sequence[float], *, tested_per_trained: float) -> tuple[float, float]:
    """The mean over random splits of one data set, and the half-width of its 95 % interval.

    The corrected resampled t of Nadeau and Bengio (2003, "Inference for the generalization error", Machine Learning 52,
    section 3.3.1): splits share data, so the variance of the mean over J of them is (1/J + n2/n1) of that of one.

    Args:
        values: One per split, at least two.
        tested_per_trained: n2/n1, the size of the tested part by that of the part for training.
    """
    mean, half_width = mean_and_half_width(values)
    assert half_width is not None
    return mean, half_width * math.sqrt(1 + len(values) * tested_per_trained)


def clipped(mean: float, half_width: float | None, low: float, high: float) -> tuple[float, float] | None:
    """The interval of a mean within the range of its values; None without a half-width."""
    return None if half_width is None else (max(low, mean - half_width), min(high, mean + half_width))


def share_interval(number: float, of: int) -> Interval:
    """The exact 95 % interval of a share (Clopper and Pearson 1934, Biometrika 26), which covers at least as often.

    Args:
        number: Rounds or runs that have a property; a sum of shares of rounds, which vary less, counts as one.
        of: All of them, at least one.
    """
    low = float(betaincinv(number, of - number + 1, ALPHA / 2)) if number > 0 else 0.0
    high = float(betaincinv(number + 1, of - number, 1 - ALPHA / 2)) if number < of else 1.0
    return low, high


def seeds_text(seeds: Sequence[int]) -> str:
    """Human-readable list of seeds: `10 seeds (123 to 132)`."""
    if len(seeds) == 1:
        return f"one seed ({seeds[0]})"
    is_range = list(seeds) == list(range(seeds[0], seeds[0] + len(seeds)))
    which = f"{seeds[0]} to {seeds[-1]}" if is_range else ", ".join(map(str, seeds))
    return f"{len(seeds)} seeds ({which})"


@dataclass(frozen=True, kw_only=True, slots=True)
class CrossedMean:
    """A mean over pairs."""

    mean: float
    """The mean."""
    error: float | None
    """Its standard error; None if a member is in all pairs."""
    freedom: float
    """Degrees of freedom of the error."""

    @property
    def half_width(self) -> float | None:
        """The half-width of its 95 % interval."""
        return None if self.error is None else student_quantile(1 - ALPHA / 2, self.freedom) * self.error


def crossed_mean(
    values: Floats, chosen: NDArray[np.bool_], first: Sequence[Hashable], second: Sequence[Hashable]
) -> CrossedMean:
    """The mean over some pairs, with a jackknife over their members.

    The variance is that of the delete-one jackknife (Efron and Stein 1981, "The jackknife estimate of variance", Annals
    of Statistics 9, section 1). Of members on two sides it is the sum of both, less that of independent pairs, which
    both contain, and at least that of these: Cameron, Gelbach and Miller (2011, "Robust inference with multiway
    clustering", Journal of Business & Economic Statistics 29, section 2.2). The degrees of freedom are Satterthwaite's
    (1946, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2). Simulated,
    intervals of 3 x 3 to 8 x 8 members cover 93 to 98 %, of members on both sides that do not differ 99 %.

    Args:
        values: Shape (num_first, num_second).
        chosen: Which pairs, same shape, at least one.
        first: The member in each row.
        second: The member in each column. Rows and columns of one member are left out together.
    """
    mean = float(values[chosen].mean())
    members = {each: number for number, each in enumerate(dict.fromkeys([*first, *second]))}
    rows, columns = (np.array([members[each] for each in side]) for side in (first, second))
    sides = [set(members.values())] if set(first) & set(second) else [set(rows), set(columns)]
    groups = [[(rows[:, None] == each) | (columns == each) for each in sorted(side)] for side in sides]
    parts, freedoms = [], []
    for group in groups:
        left = [chosen & ~gone for gone in group]
        left = [each for each in left if each.sum() < chosen.sum()]  # members of no pair say nothing
        if len(left) < 2 or not all(each.any() for each in left):
            return CrossedMean(mean=mean, error=None, freedom=0)
        means = np.array([values[each].mean() for each in left])
        parts.append((len(means) - 1) / len(means) * float(((means - means.mean()) ** 2).sum()))
        freedoms.append(len(means) - 1)
    total = sum(parts)
    variance = total
    if len(parts) > 1:
        of_pairs = float(values[chosen].var(ddof=1)) / int(chosen.sum())
        variance = max(total - of_pairs, of_pairs)
    weights = sum(part**2 / freedom for part, freedom in zip(parts, freedoms, strict=True))
    return CrossedMean(
        mean=mean,
        error=float(np.sqrt(variance)),
        freedom=total**2 / weights if weights else float(min(freedoms)),
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction: each p-value times the number of those not smaller, made monotonic, at most 1.

    If all null hypotheses are true, some corrected p-value is below 5 % with probability 5 % at most, whatever the
    dependence between the tests. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6.

    Args:
        p_values: One per comparison, in any order; None where there is none, which is no comparison.

    Returns:
        The corrected p-values, in the same order.
    """
    places = [place for place, p_value in enumerate(p_values) if p_value is not None]
    values = np.array([p_values[place] for place in places], np.float64)
    order = np.argsort(values, kind="stable")
    factors = len(order) - np.arange(len(order))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(values[order] * factors))
    corrected: list[float | None] = [None] * len(p_values)
    for place, p_value in zip(places, adjusted, strict=True):
        corrected[place] = float(p_value)
    return corrected


def average_ranks(values: NDArray[Any]) -> Floats:
    """Ranks from 1 along the last axis, equal values have the mean of theirs.

    Args:
        values: Any shape, without NaN.
    """
    order = np.argsort(values, axis=-1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=-1)
    is_first = np.ones(values.shape, bool)
    np.not_equal(ordered[..., 1:], ordered[..., :-1], out=is_first[..., 1:])
    places = np.flatnonzero(is_first)
    counts = np.diff(places, append=values.size)
    ranks = np.repeat(places % max(1, values.shape[-1]) + (counts + 1) / 2, counts)
    result = np.empty(values.shape)
    np.put_along_axis(result, order, ranks.reshape(values.shape), axis=-1)
    return result


Conclusion = Literal["higher", "lower", "not significant", "unknown"]
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
    bound: Bound | None = None
    """Whether the true difference is at least or at most this one, as values are censored; None: none is."""

    @property
    def conclusion(self) -> Conclusion:
        """The conclusion after the correction: of censored values a difference that all true values would enlarge."""
        found = self._of_values
        allowed = {None: found, "lower": "higher", "upper": "lower"}
        return found if allowed.get(self.bound) == found else "unknown"

    @property
    def _of_values(self) -> Conclusion:
        """The conclusion if no value were censored."""
        if self.judged is not None:
            is_noise = self.p_holm is not None and self.p_holm >= ALPHA and self.judged in ("higher", "lower")
            return "not significant" if is_noise else self.judged
        if self.p_holm is not None:
            return "not significant" if self.p_holm >= ALPHA else "higher" if self.mean > 0 else "lower"
        # an interval without a p-value has no spread
        return "not significant" if self.ci95 is not None and abs(self.mean) < NO_SPREAD else "unknown"

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
            **({} if self.bound is None else {"bound": self.bound}),
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
