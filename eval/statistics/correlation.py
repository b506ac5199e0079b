"""Correlation coefficients and rank correlations over sources: partial, with groups, p-values, clusters."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.estimates import ALPHA, Interval, average_ranks, normal_quantile

ROUNDING = 1e-12
"""Standard deviations below this are rounding errors."""


def pearson(first: Floats, second: Floats) -> Floats:
    """Pearson's coefficient along the last axis; 0 if a list is constant (possible in resamples of few sources)."""
    first = first - first.mean(-1, keepdims=True)
    second = second - second.mean(-1, keepdims=True)
    scale = np.sqrt((first**2).sum(-1) * (second**2).sum(-1))
    product = (first * second).sum(-1)
    return _ratio(product, scale)


def kendall(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b along the last axis: the uncentred correlation of the signs of all pairwise differences."""
    pairs = np.triu_indices(first.shape[-1], k=1)
    signs = [np.sign(values[..., pairs[0]] - values[..., pairs[1]]) for values in (first, second)]
    scale = np.sqrt((signs[0] ** 2).sum(-1) * (signs[1] ** 2).sum(-1))
    product = (signs[0] * signs[1]).sum(-1)
    return _ratio(product, scale)


def _ratio(product: Floats, scale: Floats) -> Floats:
    """`product / scale`; 0 if the scale is 0."""
    quotient: Floats = np.divide(product, scale, out=np.zeros_like(product), where=scale > ROUNDING)
    return quotient


def spearman(first: Floats, second: Floats) -> Floats:
    """Spearman's coefficient along the last axis: Pearson's coefficient of the ranks."""
    return pearson(average_ranks(first), average_ranks(second))


STATISTICS: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    "Pearson": pearson,
    "Kendall": kendall,
    "Spearman": spearman,
}
"""The coefficients by name."""


FEWEST = 5
"""Minimum number of sources of a correlation, plus one per covariate."""
FEWEST_GROUPS = 5
"""Minimum number of groups for a bootstrap over groups."""
NUM_PERMUTATIONS = 9999
NUM_RESAMPLES = 2000
NUM_CLUSTERINGS = 500
"""Number of resamples for the stability of clusters."""
SEED = 0
"""Seed of all draws, so that equal values give equal results."""
TOLERANCE = 1e-9
"""Share of the variance below which values are rounding errors."""
MOST_UNDEFINED = 0.05
"""Maximum share of resamples in which a correlation may be undefined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """A correlation of two variables."""

    num_sources: int
    """Sources that have all variables."""
    value: float | None
    """Spearman's coefficient, -1 to 1."""
    ci95: Interval | None
    """Its 95 % interval."""
    p_value: float | None
    """Two-sided p-value of a permutation test; None for groups, whose members are not exchangeable."""
    reason: str | None
    """Reason for a missing value or interval."""

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.ci95 is not None and not self.ci95[0] <= 0 <= self.ci95[1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Explained:
    """Share of the variance of a variable's ranks that other variables explain."""

    num_sources: int
    """Sources that have all variables."""
    share: float | None
    """R² of the linear regression on the ranks of the others, 0 to 1."""
    chance: float | None
    """Expected R² for independent variables: number of others / (num_sources - 1)."""
    adjusted: float | None
    """Adjusted R², with expectation 0 for independent variables, see `explained`."""
    p_value: float | None
    """P-value of a permutation test; None for groups."""
    reason: str | None
    """Reason for a missing share."""


def relation(first: Floats, second: Floats, given: Floats, groups: Ints | None = None) -> Relation:
    """Spearman's correlation of two variables, partial if covariates are given.

    The interval is Fisher's with the standard error of Bonett and Wright (2000, "Sample size requirements for
    estimating Pearson, Kendall and Spearman correlations", Psychometrika 65), sqrt((1 + r² / 2) / (n - 3 - k)), for k
    covariates. With groups, whose members are dependent, it has the percentiles of a bootstrap over whole groups. The
    test permutes the residuals of the first variable (Freedman and Lane 1983, "A nonstochastic interpretation of
    reported significance levels", Journal of Business & Economic Statistics 1).

    Variables that are independent given two or more covariates may have a partial rank correlation, as their ranks are
    not linear in the covariates' ranks: sums of two normal covariates and independent noise have 0.06 (covariates as
    large as the noise), 0.24 (twice) and 0.57 (four times); with one covariate at most 0.01 (simulated, 200,000
    sources).

    Args:
        first: Shape (num_sources,), NaN if undefined.
        second: Shape (num_sources,), NaN if undefined.
        given: The covariates, shape (num_given, num_sources); may be empty.
        groups: The group of each source, shape (num_sources,); None: the sources are independent.
    """
    rows = ~np.isnan([first, second, *given]).any(0)
    number = int(rows.sum())
    ranks = _ranks(np.stack([first, second, *given])[:, rows])
    reason = _reason(ranks[:2], number, len(given))
    if reason is not None:
        return Relation(num_sources=number, value=None, ci95=None, p_value=None, reason=reason)
    basis = _basis(ranks[2:])
    residuals = ranks[:2] - ranks[:2] @ basis @ basis.T
    lengths = np.sqrt((residuals**2).sum(1))
    if (lengths**2 <= TOLERANCE * (ranks[:2] ** 2).sum(1)).any():
        reason = "one of the variables follows from the covariates"
        return Relation(num_sources=number, value=None, ci95=None, p_value=None, reason=reason)
    value = float(np.clip(residuals[0] @ residuals[1] / lengths.prod(), -1, 1))
    if groups is not None:
        values = np.stack([first, second, *given])[:, rows]
        ci95, reason = _bootstrapped(values, groups[rows], _partial)
        return Relation(num_sources=number, value=value, ci95=ci95, p_value=None, reason=reason)
    shuffled = residuals[0][_permutations(number)]  # (num_permutations, num_sources)
    left = np.sqrt(np.maximum(lengths[0] ** 2 - ((shuffled @ basis) ** 2).sum(1), TOLERANCE))
    draws = shuffled @ residuals[1] / (left * lengths[1])
    ci95 = fisher_interval(value, number, basis.shape[1] - 1)
    return Relation(
        num_sources=number,
        value=value,
        ci95=ci95,
        p_value=_p_value(np.abs(draws), abs(value)),
        reason="ranks are perfectly correlated or sources are too few: no interval" if ci95 is None else None,
    )


def explained(variable: Floats, given: Floats, groups: Ints | None = None) -> Explained:
    """Share of the variance of a variable's ranks that other variables explain.

    R² is above 0 even for unrelated variables, and no bootstrap interval contains 0. So it is adjusted: 1 - (1 - R²) (n
    - 1) / (n - 1 - k), with k explaining variables (Ezekiel 1930, "Methods of Correlation Analysis", chapter 12; Olkin
    and Pratt 1958, "Unbiased estimation of certain correlation coefficients", Annals of Mathematical Statistics 29, on
    its bias). It has no interval: intervals for normal variables cover 80 to 99 % with ranks.

    Args:
        variable: Shape (num_sources,), NaN if undefined.
        given: The other variables, shape (num_given, num_sources), at least one.
        groups: The group of each source; None: the sources are independent.
    """
    rows = ~np.isnan([variable, *given]).any(0)
    number = int(rows.sum())
    ranks = _ranks(np.stack([variable, *given])[:, rows])
    reason = _reason(ranks[:1], number, len(given))
    basis = _basis(ranks[1:])
    num_given = basis.shape[1] - 1
    if reason is None and not num_given:
        reason = "the other variables are constant over all sources"
    if reason is not None:
        return Explained(
            num_sources=number, share=None, chance=None, adjusted=None, p_value=None, reason=reason
        )
    total = float((ranks[0] ** 2).sum())
    share = min(1.0, float(((ranks[0] @ basis) ** 2).sum()) / total)
    draws = ((ranks[0][_permutations(number)] @ basis) ** 2).sum(1) / total
    return Explained(
        num_sources=number,
        share=share,
        chance=num_given / (number - 1),
        adjusted=1 - (1 - share) * (number - 1) / (number - 1 - num_given),
        p_value=_p_value(draws, share) if groups is None else None,
        reason=None,
    )


def fisher_interval(value: float, num_sources: int, num_given: int) -> Interval | None:
    """The 95 % interval of a rank correlation, see `relation`; None for -1 and 1, and for too few sources."""
    freedom = num_sources - 3 - num_given
    if freedom < 1 or abs(value) > 1 - TOLERANCE:
        return None
    half_width = normal_quantile(1 - ALPHA / 2) * np.sqrt((1 + value**2 / 2) / freedom)
    low, high = np.tanh(np.arctanh(value) + np.array([-half_width, half_width]))
    return float(low), float(high)


def _reason(ranks: Floats, number: int, num_given: int) -> str | None:
    """Reason why variables have no correlation; None if they have."""
    if number < FEWEST + num_given:
        return f"expected at least {FEWEST + num_given} sources with all variables, got {number}"
    return "a variable has the same value for all sources" if not (ranks**2).sum(1).all() else None


def _ranks(values: Floats) -> Floats:
    """Centred ranks along the last axis."""
    if not values.size:
        return values
    ranks: Floats = average_ranks(values)
    centred: Floats = ranks - ranks.mean(-1, keepdims=True)
    return centred


def _basis(ranks: Floats) -> Floats:
    """Orthonormal basis of a constant and the centred ranks, shape (num_sources, at most num + 1)."""
    number = ranks.shape[1]
    constant = np.full((number, 1), 1 / np.sqrt(max(number, 1)))
    if not ranks.size:
        return constant
    vectors, sizes, _ = np.linalg.svd(ranks.T, full_matrices=False)
    return np.hstack([constant, vectors[:, sizes > TOLERANCE * max(1.0, sizes.max(initial=0))]])


_cached: dict[int, Ints] = {}


def _permutations(number: int) -> Ints:
    """Random orders of sources, shape (num_permutations, number); the latest are cached, as all pairs use them."""
    if number not in _cached:
        _cached.clear()
        rng = np.random.default_rng([SEED, number])
        _cached[number] = rng.permuted(np.tile(np.arange(number), (NUM_PERMUTATIONS, 1)), axis=1)
    return _cached[number]


def _p_value(draws: Floats, value: float) -> float:
    """Share of draws at least as large as the value, including the value itself."""
    return (1 + int((draws >= value - TOLERANCE).sum())) / (1 + len(draws))


def _bootstrapped(values: Floats, groups: Ints, statistic: Any) -> tuple[Interval | None, str | None]:
    """Percentile interval of a statistic of rank covariances over resamples of groups, or a reason without one."""
    names, of_source = np.unique(groups, return_inverse=True)
    if len(names) < FEWEST_GROUPS:
        return None, f"expected at least {FEWEST_GROUPS} groups for an interval, got {len(names)}"
    draws = statistic(rank_covariances(values, _resamples(len(names), NUM_RESAMPLES)[:, of_source]))
    defined = draws[np.isfinite(draws)]
    if len(defined) < (1 - MOST_UNDEFINED) * len(draws):
        return None, "undefined in too many resamples"
    low, high = np.quantile(defined, [ALPHA / 2, 1 - ALPHA / 2])
    return (float(low), float(high)), None


def _resamples(number: int, size: int) -> Floats:
    """Number of times that each of `number` items is drawn in resamples of the same size, shape (size, number)."""
    rng = np.random.default_rng([SEED, number])
    counts = rng.multinomial(number, np.full(number, 1 / number), size=size)
    weights: Floats = counts.astype(float)
    return weights


def rank_covariances(values: Floats, weights: Floats) -> Floats:
    """Covariances of ranks in weighted samples; an integer weight is a number of copies.

    Args:
        values: Shape (num_variables, num_sources).
        weights: Shape (num_samples, num_sources).

    Returns:
        Shape (num_samples, num_variables, num_variables).
    """
    ranks = np.stack(
        [weights @ _before(each) for each in values]
    )  # (num_variables, num_samples, num_sources)
    total = weights.sum(1, keepdims=True)
    centred = ranks - (ranks * weights).sum(-1, keepdims=True) / total
    covariances: Floats = np.einsum("ibn,jbn->bij", centred * weights, centred) / total[:, :, None]
    return covariances


def _before(values: Floats) -> Floats:
    """Contribution of a source (row) to the mean rank of another (column): 1 if it is lower, half if equal."""
    parts: Floats = (values[:, None] < values) + 0.5 * (values[:, None] == values)
    return parts


def _partial(covariances: Floats) -> Floats:
    """Partial correlation of the first two variables, given the others."""
    precise = np.linalg.pinv(covariances, hermitian=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = -precise[:, 0, 1] / np.sqrt(precise[:, 0, 0] * precise[:, 1, 1])
    return found


def clusters(values: Floats, cut: float) -> tuple[list[list[int]], list[int]]:
    """Clusters of variables by average linkage on 1 - |correlation|, and the variables in the order of the tree.

    Args:
        values: Correlations, shape (num_variables, num_variables), NaN (counted as 0) if undefined.
        cut: Minimum mean |correlation| between the parts of a cluster.
    """
    from scipy.cluster.hierarchy import leaves_list

    if len(values) < 2:
        return [[index] for index in range(len(values))], list(range(len(values)))
    tree, labels = _tree(values, cut, is_ordered=True)
    order = [int(index) for index in leaves_list(tree)]
    found: dict[int, list[int]] = {}
    for index in order:
        found.setdefault(int(labels[index]), []).append(index)
    return list(found.values()), order


def _tree(values: Floats, cut: float, *, is_ordered: bool) -> tuple[Floats, Ints]:
    """Tree of at least two variables, and the cluster number of each; ordering takes most of the time."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distances = 1 - np.abs(np.nan_to_num(values, nan=0.0))
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(np.clip(distances, 0, 1), checks=False), "average", optimal_ordering=is_ordered)
    return tree, fcluster(tree, 1 - cut + TOLERANCE, "distance")


def stability(columns: Floats, cut: float, groups: Ints | None = None) -> Floats:
    """Share of bootstrap resamples in which two variables are in one cluster, see `clusters`.

    Args:
        columns: Shape (num_variables, num_sources), NaN if undefined.
        cut: See `clusters`.
        groups: The group of each source, resampled as a whole; None: the sources are independent.

    Returns:
        Shape (num_variables, num_variables), 1 on the diagonal.
    """
    number, num_sources = columns.shape
    of_source = np.arange(num_sources) if groups is None else np.unique(groups, return_inverse=True)[1]
    weights = _resamples(int(of_source.max()) + 1, NUM_CLUSTERINGS)[:, of_source]
    values = np.full((NUM_CLUSTERINGS, number, number), np.nan)
    for one, other in combinations(range(number), 2):
        rows = ~np.isnan(columns[[one, other]]).any(0)
        if rows.sum() >= FEWEST:
            with np.errstate(divide="ignore", invalid="ignore"):
                found = rank_covariances(columns[[one, other]][:, rows], weights[:, rows])
                rho = found[:, 0, 1] / np.sqrt(found[:, 0, 0] * found[:, 1, 1])
            values[:, one, other] = values[:, other, one] = rho
    if number < 2:
        return np.ones((number, number))
    together = np.zeros((number, number))
    for each in values:
        _, labels = _tree(each, cut, is_ordered=False)
        together += labels[:, None] == labels
    return together / NUM_CLUSTERINGS
