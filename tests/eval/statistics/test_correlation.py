"""Correlations, partial ones and clusters: known values, SciPy's, and why they are undefined."""

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.statistics import correlation

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("statistic", ["pearson", "kendall", "spearman"])
def test_coefficients_are_those_of_scipy_and_a_constant_correlates_with_nothing(statistic):
    ours = getattr(correlation, statistic)
    theirs = {"pearson": stats.pearsonr, "kendall": stats.kendalltau, "spearman": stats.spearmanr}[statistic]
    pairs = RNG.normal(size=(2, 5, 9))
    for first, second in (pairs, pairs.round()):  # with ties
        expected = [theirs(one, other).statistic for one, other in zip(first, second, strict=True)]
        np.testing.assert_allclose(ours(first, second), expected, atol=1e-12)
    assert ours(np.full((1, 3), 0.1), np.array([[1.0, 2.0, 3.0]])) == [0]


NONE = np.zeros((0, 40))


def normals(number, seed=0, rows=4):
    return np.random.default_rng(seed).normal(size=(rows, number))


def test_without_given_variables_it_is_spearmans_of_sources_that_have_both():
    first, second, *_ = normals(40)
    second = np.round(second + first)  # with ties
    found = correlation.relation(first, second, NONE)
    expected = stats.spearmanr(first, second)
    assert found.value == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.01)
    assert found.num_sources == 40 and found.reason is None
    first, second, *_ = normals(40)
    first[:5], second[30:] = np.nan, np.nan
    found = correlation.relation(first, second, NONE)
    assert found.num_sources == 25
    assert found.value == pytest.approx(stats.spearmanr(first[5:30], second[5:30]).statistic)


def test_the_formula_of_a_partial_correlation():
    """With one variable that is given: (r12 - r13 r23) / sqrt((1 - r13²) (1 - r23²))."""
    first, second, third, _ = normals(60)
    first, second = first + third, second - third
    pairs = ((first, second), (first, third), (second, third))
    r12, r13, r23 = (stats.spearmanr(*pair).statistic for pair in pairs)
    expected = (r12 - r13 * r23) / np.sqrt((1 - r13**2) * (1 - r23**2))
    found = correlation.relation(first, second, third[None])
    assert found.value == pytest.approx(expected) and abs(found.value) < abs(r12)


def test_a_common_cause_explains_a_correlation():
    noise = normals(300)
    size = np.arange(300.0)
    first, second = size + 30 * noise[0], -size + 30 * noise[1]
    plain, partial = (
        correlation.relation(first, second, np.zeros((0, 300))),
        correlation.relation(first, second, size[None]),
    )
    assert plain.value < -0.8 and plain.is_clear and plain.p_value == 1 / (correlation.NUM_PERMUTATIONS + 1)
    assert abs(partial.value) < 0.15 and not partial.is_clear and partial.p_value > 0.05
    share = correlation.explained(first, size[None])
    assert share.share == pytest.approx(stats.spearmanr(first, size).statistic ** 2)
    assert share.adjusted == pytest.approx(1 - (1 - share.share) * 299 / 298) and share.p_value < 0.001


@pytest.mark.sample(1)
@pytest.mark.parametrize("num_given", [1, 2, 4])
def test_independent_variables_explain_nothing(num_given):
    """A bootstrap interval of R² contained 0 in none of 450 cases."""
    rng, found = np.random.default_rng(3), []
    for _ in range(200):
        found.append(correlation.explained(rng.normal(size=20), rng.normal(size=(num_given, 20))))
    assert np.mean([each.adjusted for each in found]) == pytest.approx(0, abs=0.03)
    assert np.mean([each.share for each in found]) == pytest.approx(found[0].chance, abs=0.03)
    assert 2 <= sum(each.p_value < 0.05 for each in found) <= 20


def test_only_ranks_count():
    first, second, third, _ = normals(30)
    before = correlation.relation(first, second, third[None])
    for change in (np.exp, lambda values: 3 * values - 7, stats.rankdata):
        assert correlation.relation(change(first), second, change(third)[None]) == before
    turned = correlation.relation(-first, second, third[None])
    assert turned.value == pytest.approx(-before.value)
    assert turned.ci95 == pytest.approx((-before.ci95[1], -before.ci95[0]))


def test_orders_and_copies_of_variables_do_not_count():
    first, second, *given = normals(30)
    order = np.random.default_rng(1).permutation(30)
    before = correlation.relation(first, second, np.array(given))
    after = correlation.relation(first[order], second[order], np.array(given[::-1])[:, order])
    assert after.value == pytest.approx(before.value) and after.ci95 == pytest.approx(before.ci95)
    assert after.p_value == pytest.approx(before.p_value, abs=0.02)
    first, second, third, _ = normals(30)
    once, twice = (
        correlation.relation(first, second, third[None]),
        correlation.relation(first, second, np.array([third, 2 * third])),
    )
    assert twice.value == pytest.approx(once.value) and twice.ci95 == pytest.approx(once.ci95)


@pytest.mark.parametrize(
    ("first", "given", "reason"),
    [
        (np.ones(20), np.zeros((0, 20)), "a variable has the same value for all sources"),
        (np.where(np.arange(20) < 4, np.arange(20.0), np.nan), np.zeros((0, 20)),
         "expected at least 5 sources with all variables, got 4"),
        (np.arange(20.0), np.arange(20.0)[None] ** 2, "one of the variables follows from the covariates"),
    ],
    ids=["constant", "few", "given"],
)  # fmt: skip
def test_why_there_is_no_value(first, given, reason):
    found = correlation.relation(first, normals(20)[0], given)
    assert (found.value, found.ci95, found.p_value, found.reason) == (None, None, None, reason)


def test_equal_variables_have_no_interval():
    found = correlation.relation(np.arange(9.0), np.arange(9.0) ** 3, np.zeros((0, 9)))
    assert found.value == pytest.approx(1) and found.ci95 is None
    assert found.reason == "ranks are perfectly correlated or sources are too few: no interval"


def test_the_interval_covers_and_the_test_keeps_its_level():
    # Of 400 samples of 25 pairs with a correlation of ranks of 0.483 (0.5 in Pearson's), 95 % hold it.
    rng = np.random.default_rng(0)
    true = 6 / np.pi * np.arcsin(0.25)
    first = rng.normal(size=(400, 25))
    second = 0.5 * first + np.sqrt(0.75) * rng.normal(size=(400, 25))
    values = [stats.spearmanr(*pair).statistic for pair in zip(first, second, strict=True)]
    intervals = [correlation.fisher_interval(value, 25, 0) for value in values]
    assert 0.92 < np.mean([low <= true <= high for low, high in intervals]) < 0.98
    # Of 200 samples of independent variables that depend on a third one, about 5 % have p below 0.05.
    rng = np.random.default_rng(1)
    third = rng.normal(size=(200, 15))
    first, second = third + rng.normal(size=(200, 15)), third + rng.normal(size=(200, 15))
    rows = zip(first, second, third, strict=True)
    p_values = [correlation.relation(a, b, c[None]).p_value for a, b, c in rows]
    assert 0.01 <= np.mean(np.array(p_values) <= 0.05) <= 0.10


def test_weights_are_copies():
    values = np.round(normals(12)[:3], 0)
    weights = np.random.default_rng(2).integers(0, 4, size=(5, 12))
    found = correlation.rank_covariances(values, weights.astype(float))
    for each, of_sample in zip(found, weights, strict=True):
        ranks = stats.rankdata(np.repeat(values, of_sample, axis=1), axis=1)
        np.testing.assert_allclose(each, np.cov(ranks, bias=True), atol=1e-9)


def test_sources_of_few_groups_have_wide_intervals_or_none():
    """Two variables that agree between ten groups, each with eight equal sources, have ten observations, not 80."""
    first, second, *_ = normals(10)
    second = second + first
    groups = np.repeat(np.arange(10), 8)
    many = correlation.relation(first[groups], second[groups], np.zeros((0, 80)), groups)
    single = correlation.relation(first[groups], second[groups], np.zeros((0, 80)))
    assert many.value == single.value and many.p_value is None
    assert many.ci95[1] - many.ci95[0] > 1.5 * (single.ci95[1] - single.ci95[0])
    few = correlation.relation(first[groups], second[groups], np.zeros((0, 80)), groups % 4)
    assert few.ci95 is None and few.reason == "expected at least 5 groups for an interval, got 4"


def test_clusters():
    rng = np.random.default_rng(4)
    first, second, other = rng.normal(size=(3, 60))
    noise = rng.normal(size=(2, 60))
    columns = np.array([first, first + 0.2 * noise[0], second, second + 1.1 * noise[1], other])
    found = correlation.stability(columns, 0.7)
    assert found[0, 1] > 0.99 and found[0, 2] < 0.01 and found[0, 4] < 0.01 and 0.05 < found[2, 3] < 0.95
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 1)
    columns[0, 3:] = np.nan  # too few values for a correlation
    assert correlation.stability(columns, 0.7)[0, 1] == 0
    values = np.eye(5)
    values[0, 3] = values[3, 0] = -0.9
    values[1, 4] = values[4, 1] = 0.8
    values[2, 0] = values[0, 2] = np.nan
    found, order = correlation.clusters(values, 0.7)
    assert sorted(map(sorted, found)) == [[0, 3], [1, 4], [2]]
    assert sorted(order) == list(range(5)) and abs(order.index(0) - order.index(3)) == 1
    assert correlation.clusters(np.eye(1), 0.7) == ([[0]], [0])
