"""Estimates: quantiles and tails, intervals of means, crossed means, differences of means with their tests, ranks.

Quantiles and tails come from `scipy.special`, and are bit-identical to `scipy.stats`, whose import takes half a second,
longer than scoring a small corpus.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.contingency import Floats

# SciPy imports all names of NumPy, some of which load unneeded modules, for a sixth of a second.
_TOOLS = [name for name in ("f2py", "testing", "ma", "polynomial") if name not in vars(np)]
vars(np).update(dict.fromkeys(_TOOLS))
try:
    from scipy.special import betainc, betaincinv, nctdtrinc, ndtr, ndtri, stdtr, stdtrit
finally:
    for _name in _TOOLS:
        if vars(np).get(_name, ...) is None:
            delattr(np, _name)

ALPHA = 0.05
"""Error rate of intervals, and significance level of p-values."""
NO_SPREAD = 1e-9
"""Range of values below which differences are rounding errors."""
NO_INTERVAL = "No interval: one value, or equal values, which do not show their spread."
"""Note on means without an interval."""

Interval = tuple[float, float]
Bound = Literal["lower", "upper", "none"]
"""Relation of a figure to its true value if values are censored: lower bound, upper bound, or neither."""
OPPOSITE: Mapping[Bound | None, Bound | None] = {
    "lower": "upper",
    "upper": "lower",
    "none": "none",
    None: None,
}
"""Bound of a subtracted figure."""


def joint_bound(bounds: Iterable[Bound | None]) -> Bound | None:
    """Bound of a sum or mean of figures: the bound that all censored ones share; None if none is censored."""
    found = {bound for bound in bounds if bound is not None}
    return found.pop() if len(found) == 1 else "none" if found else None


def difference_bound(first: Bound | None, second: Bound | None) -> Bound | None:
    """The bound of the difference of two figures."""
    return joint_bound((first, OPPOSITE[second]))


def student_quantile(share: float, freedom: float) -> float:
    """Quantile of Student's distribution with `freedom` degrees of freedom."""
    return float(stdtrit(freedom, share))


def student_tail(value: float, freedom: float) -> float:
    """Upper tail probability of Student's distribution with `freedom` degrees of freedom."""
    return float(stdtr(freedom, -value))


def noncentrality(value: float, freedom: float, share: float) -> float:
    """Noncentrality of the t distribution with CDF(value) = share."""
    return float(nctdtrinc(freedom, share, value))


def normal_quantile(share: float) -> float:
    """Quantile of the normal distribution."""
    return float(ndtri(share))


def normal_tail(value: float) -> float:
    """Upper tail probability of the normal distribution."""
    return float(ndtr(-value))


def mean_and_half_width(
    values: Sequence[float], *, published: bool = False, are_shares: bool = False
) -> tuple[float, float | None]:
    """The mean and the half-width of its 95 % confidence interval; None for a single value, and for equal values.

    Equal values do not show their spread. Equal shares have the exact interval, see `share_interval`, of which this is
    the wider side.

    Args:
        values: One value per seed.
        published: Use 1.96 and the population standard deviation, as the published program does (too narrow);
            otherwise Student's t and the sample standard deviation.
        are_shares: Whether values are shares, from 0 to 1.
    """
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return mean, None
    if max(values) - min(values) < NO_SPREAD:
        ends = share_interval(mean * count, count) if are_shares else ()
        return mean, max((abs(end - mean) for end in ends), default=None)
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


def resampled_mean(values: Sequence[float], *, tested_per_trained: float) -> tuple[float, float | None]:
    """The mean over random splits of one data set, and the half-width of its 95 % interval; None for equal values.

    The corrected resampled t of Nadeau and Bengio (2003, "Inference for the generalization error", Machine Learning 52,
    section 3.3.1): splits share data, so the variance of the mean over J of them is (1/J + n2/n1) times that of one.

    Args:
        values: One per split, at least two.
        tested_per_trained: n2/n1, the ratio of the sizes of test part and training part.
    """
    mean, half_width = mean_and_half_width(values)
    scale = math.sqrt(1 + len(values) * tested_per_trained)
    return mean, None if half_width is None else half_width * scale


def cut(interval: Interval, limits: Interval | None) -> Interval:
    """An interval cut at the least and the greatest possible value; None: unlimited."""
    low, high = limits or (-math.inf, math.inf)
    return max(low, interval[0]), min(high, interval[1])


def clipped(mean: float, half_width: float | None, low: float, high: float) -> tuple[float, float] | None:
    """Interval of a mean, clipped to the range of its values; None without a half-width, and for equal values."""
    if half_width is None or half_width < NO_SPREAD:  # equal values do not show their spread
        return None
    return cut((mean - half_width, mean + half_width), (low, high))


def share_interval(number: float, of: int) -> Interval:
    """The exact 95 % interval of a share (Clopper and Pearson 1934, Biometrika 26), which covers at least as often.

    Args:
        number: Number of rounds or runs with a property; a sum of shares of rounds, which vary less, counts as a
            number.
        of: Number of all rounds or runs, at least one.
    """
    low = float(betaincinv(number, of - number + 1, ALPHA / 2)) if number > 0 else 0.0
    high = float(betaincinv(number + 1, of - number, 1 - ALPHA / 2)) if number < of else 1.0
    return low, high


def share_p_value(number: float, of: int, level: float) -> float:
    """Two-sided exact p-value of a share of `number` of `of` for a probability: twice the smaller binomial tail."""
    above = float(betainc(number, of - number + 1, level)) if number > 0 else 1.0
    below = 1 - float(betainc(number + 1, of - number, level)) if number < of else 1.0
    return min(1.0, 2 * above, 2 * below)


def mean_of_shares(values: Sequence[float]) -> tuple[float, Interval | None]:
    """The mean of values from 0 to 1 and its 95 % interval: Student's, or exact for equal values, without a spread."""
    mean, half_width = mean_and_half_width(values)
    if half_width is None and len(values) > 1:
        return mean, share_interval(mean * len(values), len(values))
    return mean, clipped(mean, half_width, 0.0, 1.0)


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
    """Standard error; None if a member is in all pairs."""
    freedom: float
    """Degrees of freedom of the error."""
    num_equal: int | None = None
    """Number of members of the smaller side, if all pairs have one value; otherwise None."""

    def interval(self, low: float, high: float) -> Interval | None:
        """The 95 % interval within the range of the values: Student's or, for equal values, without a spread, none.

        Equal shares (range 0 to 1) have the exact interval of as many shares as the smaller side has members.
        """
        if self.num_equal is not None and (low, high) == (0.0, 1.0):
            return share_interval(self.mean * self.num_equal, self.num_equal)
        quantile = student_quantile(1 - ALPHA / 2, self.freedom)
        return clipped(self.mean, None if self.error is None else quantile * self.error, low, high)


def crossed_mean(
    values: Floats, chosen: NDArray[np.bool_], first: Sequence[Hashable], second: Sequence[Hashable]
) -> CrossedMean:
    """The mean over some pairs, with a jackknife over their members.

    The variance is estimated by the delete-one jackknife (Efron and Stein 1981, "The jackknife estimate of variance",
    Annals of Statistics 9, section 1). For members on two sides it is the sum of both variances minus the variance for
    independent pairs, which both contain, and at least the latter: Cameron, Gelbach and Miller (2011, "Robust inference
    with multiway clustering", Journal of Business & Economic Statistics 29, section 2.2). Degrees of freedom:
    Satterthwaite (1946, "An approximate distribution of estimates of variance components", Biometrics Bulletin 2). In
    simulations, intervals for 3 x 3 to 8 x 8 members cover 93 to 98 %, and 99 % if members do not differ.

    Args:
        values: Shape (num_first, num_second).
        chosen: Mask of the pairs, same shape, with at least one.
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
        left = [
            each for each in left if each.sum() < chosen.sum()
        ]  # members without a pair have no influence
        if len(left) < 2 or not all(each.any() for each in left):
            return CrossedMean(mean=mean, error=None, freedom=0)
        means = np.array([values[each].mean() for each in left])
        parts.append((len(means) - 1) / len(means) * float(((means - means.mean()) ** 2).sum()))
        freedoms.append(len(means) - 1)
    if np.ptp(values[chosen]) < NO_SPREAD:
        least = min(freedoms)
        return CrossedMean(mean=mean, error=0.0, freedom=least, num_equal=least + 1)
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
    """Holm's correction: each p-value times the number of p-values not smaller, made monotonic, at most 1.

    If all null hypotheses are true, some corrected p-value is below 5 % with probability 5 % at most, whatever the
    dependence between the tests. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6.

    Args:
        p_values: One per comparison, in any order; None is not a comparison.

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
    """Ranks from 1 along the last axis; ties get their mean rank.

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
"""Conclusion on the first of two means, after the correction."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Difference of two means."""

    source: str = ""
    """Name of the first mean."""
    baseline: str = ""
    """Name of the second mean, which is subtracted."""
    mean: float
    """The difference of the means."""
    ci95: Interval | None = None
    """The 95 % confidence interval; None for a single value."""
    p_value: float | None = None
    """Two-sided p-value of no difference; None without an interval, or if values have no spread to estimate the
    noise."""
    p_holm: float | None = None
    """p-value with Holm's correction for all differences shown."""
    hedges_g: float | None = None
    """Difference in standard deviations, see `with_effect`; None without several values on both sides."""
    hedges_g_ci95: Interval | None = None
    """The 95 % confidence interval of `hedges_g`."""
    basis: str = ""
    """Basis of the interval and the p-value."""
    judged: Conclusion | None = None
    """Conclusion that does not depend on the p-value, for a reason in the details; or `higher` or `lower`, subject to
    the correction; None: the p-value decides."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Further figures, JSON-ready, such as differences by target language."""
    bound: Bound | None = None
    """Whether the true difference is at least or at most this one, as values are censored; None: exact."""

    @property
    def conclusion(self) -> Conclusion:
        """Conclusion after the correction; for censored values only if the true values would enlarge the difference."""
        found = self._of_values
        allowed = {None: found, "lower": "higher", "upper": "lower"}
        return found if allowed.get(self.bound) == found else "unknown"

    @property
    def _of_values(self) -> Conclusion:
        """Conclusion ignoring censoring."""
        if self.judged is not None:
            is_noise = self.p_holm is not None and self.p_holm >= ALPHA and self.judged in ("higher", "lower")
            return "not significant" if is_noise else self.judged
        if self.p_holm is not None:
            return "not significant" if self.p_holm >= ALPHA else "higher" if self.mean > 0 else "lower"
        # an interval without a p-value has no spread
        return "not significant" if self.ci95 is not None and abs(self.mean) < NO_SPREAD else "unknown"

    @property
    def is_clear(self) -> bool:
        """Whether the first mean is concluded to be higher or lower."""
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
    """Apply Holm's correction to all differences with a p-value."""
    uncorrected = list(differences)
    p_values = holm([difference.p_value for difference in uncorrected])
    return [replace(each, p_holm=p_holm) for each, p_holm in zip(uncorrected, p_values, strict=True)]


def num_comparisons(differences: Iterable[Difference]) -> int:
    """Number of differences with a p-value, which Holm's correction counts."""
    return sum(difference.p_value is not None for difference in differences)


def paired_difference(differences: Floats) -> Difference:
    """Student's interval and t test of the differences of pairs, shape (num_pairs,)."""
    mean, half_width = mean_and_half_width(differences.tolist())
    if half_width is None:
        return Difference(mean=mean, ci95=(mean, mean) if len(differences) > 1 else None)
    distance = abs(float(differences.mean())) / math.sqrt(_squared_error(differences))
    p_value = 2 * student_tail(distance, len(differences) - 1)
    return Difference(mean=mean, ci95=(mean - half_width, mean + half_width), p_value=p_value)


def unpaired_difference(first: Floats, second: Floats) -> Difference:
    """Welch's interval and t test for two groups of at least two values, with unequal variances."""
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

    The variances on each side follow from the bounds, so intervals may be asymmetric: Zou and Donner (2008),
    "Construction of confidence limits about effect measures", Statistics in Medicine 27. The p-value is from a normal
    distribution with the variance on the side of 0.
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
    """Add the effect size, Hedges' g, if both groups have a spread and two values (pairs: three).

    For independent groups, g = J(n1 + n2 - 2) (m1 - m2) / s with the pooled standard deviation s and J(m) = 1 - 3 / (4
    m
    - 1): Hedges (1981), "Distribution theory for Glass's estimator of effect size", Journal of Educational Statistics
      6, equations 2, 6e. Its interval is from the noncentral t distribution (Steiger and Fouladi 1997). For pairs, s is
      the root of the mean variance of both sides, so that g is on the same scale, with n - 1 degrees of freedom; the
      interval follows Algina and Keselman (2003), "Approximate confidence intervals for effect sizes", Educational and
      Psychological Measurement 63, equation 9.

    Args:
        difference: The difference without effect size.
        first: Values of the first group, shape (num_values,).
        second: Values of the second group; for pairs in the same order.
        is_paired: Whether the values are paired.
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
    if freedom < 2:  # with two pairs the correction makes g always 0
        return difference
    correction = 1 - 3 / (4 * freedom - 1)
    bounds = [correction * scale * noncentrality(t, freedom, share) for share in (1 - ALPHA / 2, ALPHA / 2)]
    return replace(
        difference,
        hedges_g=correction * difference.mean / spread,
        hedges_g_ci95=(bounds[0], bounds[1]) if all(map(math.isfinite, bounds)) else None,
    )


def _squared_error(values: Floats) -> float:
    number = len(values)
    return float(np.mean((values - values.mean()) ** 2) * (number / (number - 1)) / number)
