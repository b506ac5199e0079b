"""Means, intervals, p-values and their corrections: known values, SciPy's, coverage, and degenerate input."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.stats import t as student

from ecsuite.eval.statistics import bootstrap
from ecsuite.eval.statistics.bootstrap import expanded_level, mean_interval, statistic_interval, tipping_point
from ecsuite.eval.statistics.chance import Chance
from ecsuite.eval.statistics.correlation import pearson
from ecsuite.eval.statistics.estimates import (
    Difference,
    average_ranks,
    clipped,
    corrected,
    crossed_mean,
    difference_of_estimates,
    holm,
    mean_and_half_width,
    mean_of_shares,
    normal_quantile,
    normal_tail,
    paired_difference,
    resampled_mean,
    share_interval,
    student_quantile,
    student_tail,
    unpaired_difference,
    with_effect,
)

VALUES = [1.0, 2.0, 4.0, 9.0]


def test_means_and_half_widths_by_hand():
    # t with 2 degrees of freedom leaves 2.5 % above 4.30265; the sample's deviation of 1, 2, 3 is 1.
    assert mean_and_half_width([1, 2, 3]) == pytest.approx((2.0, 4.3026527 / math.sqrt(3)))
    deviation = math.sqrt(2 / 3)
    known = pytest.approx((2, 1.96 * deviation / math.sqrt(3)))
    assert mean_and_half_width([1, 2, 3], published=True) == known
    # t with 1 degree of freedom: 12.7062; the published one is 6.5 times as narrow, and sqrt(2) more.
    wide, narrow = (mean_and_half_width([0, 1], published=published)[1] for published in (False, True))
    assert wide == pytest.approx(12.7062047 / 2) and narrow == pytest.approx(1.96 / 2 / math.sqrt(2))
    assert mean_and_half_width([1e16, 1, -1e16])[0] == 1 / 3


def test_equal_values_have_no_interval_and_equal_shares_the_exact_one():
    """Clopper and Pearson (1934): of 3 of 3 the bound is 0.025^(1/3), of 1 of 2 it is 1 - 0.975^(1/2) on each side."""
    assert mean_and_half_width([1.0] * 3, are_shares=True) == (1.0, pytest.approx(1 - 0.025 ** (1 / 3)))
    assert mean_and_half_width([0.5] * 2, are_shares=True) == (0.5, pytest.approx(0.5 - (1 - 0.975**0.5)))
    assert mean_and_half_width([0.0], are_shares=True) == (0.0, None)
    assert mean_and_half_width([0.2, 0.4], are_shares=True) == mean_and_half_width([0.2, 0.4])
    assert resampled_mean([0.7, 0.7], tested_per_trained=1.0) == (0.7, None)
    assert paired_difference(np.full(3, 2.0)).ci95 == (2, 2) and paired_difference(np.full(1, 2.0)).ci95 is None


@pytest.mark.parametrize("published", [False, True])
def test_shift_factor_and_order(published):
    assert mean_and_half_width([3.5], published=published) == (3.5, None)
    assert mean_and_half_width([20.0] * 10, published=published) == (20.0, None)
    assert mean_and_half_width([0.1 + 0.2, 0.3], published=published)[1] is None  # apart by rounding
    mean, half_width = mean_and_half_width(VALUES, published=published)
    for changed, wanted in (
        ([value + 100 for value in VALUES], (mean + 100, half_width)),
        ([value * -3 for value in VALUES], (mean * -3, half_width * 3)),
        (VALUES[::-1], (mean, half_width)),
    ):
        assert mean_and_half_width(changed, published=published) == pytest.approx(wanted)


@pytest.mark.parametrize(("published", "lowest", "highest"), [(False, 0.93, 0.97), (True, 0.75, 0.9)])
def test_coverage_of_five_normal_values(published, lowest, highest):
    samples = np.random.default_rng(0).normal(size=(1_000, 5))
    found = [mean_and_half_width(values, published=published) for values in samples.tolist()]
    assert lowest < np.mean([abs(mean) <= half_width for mean, half_width in found]) < highest


RNG = np.random.default_rng(0)


@pytest.mark.parametrize("freedom", [1, 2.5, 19, 199, 1e6])
def test_tails_and_quantiles_are_those_of_scipy_to_the_last_bit(freedom):
    for share, value in zip(RNG.random(50), RNG.normal(0, 5, 50), strict=True):
        assert student_quantile(share, freedom) == stats.t.ppf(share, freedom)
        assert student_tail(value, freedom) == stats.t.sf(value, freedom)
        assert normal_quantile(share) == stats.norm.ppf(share) and normal_tail(value) == stats.norm.sf(value)


@pytest.mark.parametrize("shape", [(0,), (1,), (40,), (3, 0), (4, 30), (2, 3, 20)], ids=str)
def test_ranks_are_those_of_scipy(shape):
    values = RNG.integers(0, 9, shape) / 7
    np.testing.assert_array_equal(average_ranks(values), stats.rankdata(values, axis=-1).reshape(shape))


@pytest.mark.parametrize(("number", "of"), [(0, 10), (5, 10), (10, 10), (1, 3)])
def test_intervals_of_shares_are_the_exact_ones(number, of):
    low, high = stats.binomtest(number, of).proportion_ci(method="exact")
    assert share_interval(number, of) == pytest.approx((low, high))


def test_holm_by_hand_and_in_any_order():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06]) and holm([0.5, 0.9]) == [1, 1]
    assert holm([0.2]) == [0.2] and holm([]) == []
    p_values = np.random.default_rng(0).random(9)
    order = np.random.default_rng(1).permutation(9)
    assert np.array(holm(p_values))[order] == pytest.approx(holm(p_values[order]))


def test_any_false_rejection_among_28_comparisons_has_5_percent():
    """Without a correction it would be 76 %."""
    families = np.random.default_rng(0).random((1_000, 28))
    rejected = sum(min(holm(p_values)) < 0.05 for p_values in families)
    assert 25 < rejected < 70


def test_crossed_means_by_hand():
    # By hand: without a sender or a receiver, one pair is left, and both pairs without none of them.
    values, chosen = np.array([[np.nan, 0.4], [0.8, np.nan]]), ~np.eye(2, dtype=bool)
    found = crossed_mean(values, chosen, ["a", "b"], ["c", "d"])
    of_pairs = np.var([0.4, 0.8], ddof=1) / 2
    each = 1 / 2 * 2 * 0.2**2  # of either side
    assert found.mean == pytest.approx(0.6) and found.error == pytest.approx(np.sqrt(2 * each - of_pairs))
    assert found.freedom == pytest.approx(2)
    found = crossed_mean(np.array([[0.4, 0.6]]), np.ones((1, 2), bool), ["a"], ["c", "d"])
    assert (found.mean, found.error, found.interval(0, 1)) == (0.5, None, None)
    # Of three agents that speak and listen, two are left without one: a pair in each direction.
    values = np.array([[0, 0.1, 0.2], [0.3, 0, 0.4], [0.5, 0.6, 0]])
    found = crossed_mean(values, ~np.eye(3, dtype=bool), [0, 1, 2], [0, 1, 2])
    means = np.array([(0.4 + 0.6) / 2, (0.2 + 0.5) / 2, (0.1 + 0.3) / 2])
    assert found.error == pytest.approx(np.sqrt(2 / 3 * ((means - means.mean()) ** 2).sum()))
    assert found.freedom == pytest.approx(2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("number", [3, 8])
def test_coverage_of_crossed_means(number, is_shared, share):
    """Student's interval over pairs covers 53 to 86 % where agents differ."""
    rng, covered, by_pairs = np.random.default_rng(0), 0, 0
    chosen = ~np.eye(number, dtype=bool)
    first = list(range(number))
    second = first if is_shared else [number + each for each in first]
    for _ in range(400):
        senders, receivers = rng.normal(0, 0.05 * share, (2, number))
        values = 0.7 + senders[:, None] + receivers + rng.normal(0, 0.06 - 0.05 * share, (number, number))
        found = crossed_mean(values, chosen, first, second)
        low, high = found.interval(-np.inf, np.inf)
        covered += low <= 0.7 <= high
        pairs = values[chosen]
        half_width = student.ppf(0.975, len(pairs) - 1) * pairs.std(ddof=1) / np.sqrt(len(pairs))
        by_pairs += abs(pairs.mean() - 0.7) <= half_width
    assert 0.91 < covered / 400 <= (1 if is_shared and not share else 0.99)
    assert share < 1 or by_pairs / 400 < 0.9


def test_differences_are_scipys():
    first, second, third = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=4)
    for found, theirs, mean in (
        (paired_difference(first - second), stats.ttest_rel(first, second), (first - second).mean()),
        (
            unpaired_difference(first, third),
            stats.ttest_ind(first, third, equal_var=False),
            first.mean() - third.mean(),
        ),
    ):
        assert found.mean == pytest.approx(mean) and found.p_value == pytest.approx(theirs.pvalue)
        assert found.ci95 == pytest.approx(tuple(theirs.confidence_interval()))


def test_what_has_no_interval_or_no_p_value():
    found = paired_difference(np.array([3.0]))
    assert (found.mean, found.ci95, found.p_value) == (3, None, None)
    for found in (
        paired_difference(np.array([0.1 + 0.2, 0.3, 0.3])),
        unpaired_difference(np.full(2, 0.4), np.full(3, 0.1)),
    ):
        assert found.mean == pytest.approx(0.3) and found.ci95 == (found.mean, found.mean)
        assert found.p_value is None
    assert unpaired_difference(np.array([1.0, 2.0]), np.full(3, 0.1)).p_value < 1
    found = difference_of_estimates(1.0, (1.0, 1.0), 0.5, (0.5, 0.5))
    assert (found.ci95, found.p_value) == ((0.5, 0.5), None)


def test_differences_of_estimates_by_hand():
    found = difference_of_estimates(1.0, (0.7, 1.3), 0.0, (-0.4, 0.4))
    assert found.ci95 == pytest.approx((0.5, 1.5))
    assert found.p_value == pytest.approx(2 * stats.norm.sf(1.959964 / 0.5))
    # The lower bound has the lower side of the first estimate and the upper side of the second.
    found = difference_of_estimates(0.9, (0.6, 1.0), 0.5, (0.4, 0.9))
    assert found.ci95 == pytest.approx((0.4 - 0.5, 0.4 + 0.02**0.5)) and found.p_value > 0.05
    turned = difference_of_estimates(0.5, (0.4, 0.9), 0.9, (0.6, 1.0))
    assert turned.ci95 == pytest.approx((-found.ci95[1], -found.ci95[0]))
    assert turned.p_value == pytest.approx(found.p_value)


def test_coverage_of_differences_and_their_p_values():
    for _ in range(200):
        bounds = np.sort(RNG.random((2, 3)), axis=1)
        (low, value, high), (other_low, other, other_high) = bounds.tolist()
        found = difference_of_estimates(value, (low, high), other, (other_low, other_high))
        assert (found.ci95[0] > 0 or found.ci95[1] < 0) == (found.p_value < 0.05)
    # Each interval contains the true difference, 0.5, in about 95 % of 200 samples.
    covered = np.zeros(3)
    for _ in range(200):
        first, second = RNG.normal(0.5, 1, size=8), RNG.normal(0, 2, size=5)
        one, other = (
            (each.mean(), stats.t.interval(0.95, len(each) - 1, each.mean(), stats.sem(each)))
            for each in (first, second)
        )
        differences = paired_difference(first), unpaired_difference(first, second)
        found = *differences, difference_of_estimates(*one, *other)
        covered += [each.ci95[0] <= 0.5 <= each.ci95[1] for each in found]
    assert ((covered / 200 > 0.92) & (covered / 200 < 0.99)).all()


def effect(first, second, *, is_paired=False):
    first, second = np.array(first, float), np.array(second, float)
    measured = paired_difference(first - second) if is_paired else unpaired_difference(first, second)
    return with_effect(measured, first, second, is_paired=is_paired)


def test_hedges_g_by_hand_and_its_interval_by_the_noncentral_t():
    # Two groups of three whose means differ by one standard deviation: d = 1, J(4) = 1 - 3 / 15 = .8.
    found = effect([2, 3, 4], [1, 2, 3])
    assert found.hedges_g == pytest.approx(0.8)
    scale, t = np.sqrt(2 / 3), np.sqrt(3 / 2)
    for bound, share in zip(found.hedges_g_ci95, (0.975, 0.025), strict=True):
        assert stats.nct.cdf(t, 4, bound / 0.8 / scale) == pytest.approx(share, abs=1e-6)
    turned = effect([1, 2, 3], [2, 3, 4])
    assert turned.hedges_g == pytest.approx(-0.8)
    assert turned.hedges_g_ci95 == pytest.approx((-found.hedges_g_ci95[1], -found.hedges_g_ci95[0]))
    # Pairs that differ by nearly the same have a narrow interval of g, which stays the difference by the spread.
    first = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    second = first - 1 + np.array([0.1, -0.1, 0.0, 0.1, -0.1])
    pairs, groups = effect(first, second, is_paired=True), effect(first, second)
    assert pairs.hedges_g == pytest.approx((1 - 3 / 15) * np.mean(first - second) / 1.5811, rel=0.05)
    assert np.ptp(pairs.hedges_g_ci95) < np.ptp(groups.hedges_g_ci95) / 2


def test_what_has_no_effect_size():
    # With one degree of freedom the correction is 0, and g would be, whatever the difference.
    first, second = np.array([1.0, 2.0]), np.array([0.5, 0.1])
    found = with_effect(paired_difference(first - second), first, second, is_paired=True)
    assert found.hedges_g is None is found.hedges_g_ci95 and found.mean > 0
    assert with_effect(unpaired_difference(first, second), first, second).hedges_g > 0
    assert effect([1, 1], [0, 0]).hedges_g is None
    assert effect([1, 2, 3], [0, 1, 2], is_paired=True).hedges_g is None  # all pairs differ by the same
    alone = with_effect(Difference(mean=1.0), np.array([1.0]), np.array([0.0, 2.0]))
    assert alone.hedges_g is None and alone.hedges_g_ci95 is None


@pytest.mark.slow
@pytest.mark.parametrize("is_paired", [False, True])
def test_intervals_of_hedges_g_cover_the_true_effect(is_paired):
    rng, covered = np.random.default_rng(1), 0
    for _ in range(1000):
        shared = rng.normal(size=8) if is_paired else np.zeros(8)
        first, second = (shared + rng.normal(size=8) + shift for shift in (0.8 * 2**0.5, 0.0))
        spread = 2**0.5 if is_paired else 1.0
        true = 0.8 * 2**0.5 / spread
        low, high = effect(first, second, is_paired=is_paired).hedges_g_ci95
        covered += low <= true * (1 - 3 / (4 * (7 if is_paired else 14) - 1)) <= high
    assert 930 <= covered <= 970


def test_the_conclusion_follows_the_correction():
    """Of two differences with p .03, neither is left after Holm's correction; one alone is higher."""
    [alone] = corrected([Difference(mean=1.0, p_value=0.03)])
    both = corrected([Difference(mean=1.0, p_value=0.03), Difference(mean=-1.0, p_value=0.03)])
    assert alone.conclusion == "higher" and [each.conclusion for each in both] == ["not significant"] * 2
    [none, judged, barred] = corrected(
        [Difference(mean=1.0), Difference(mean=-1.0, p_value=0.001, judged="lower"),
         Difference(mean=-1.0, p_value=0.001, judged="unknown")]
    )  # fmt: skip
    assert [none.conclusion, judged.conclusion, barred.conclusion] == ["unknown", "lower", "unknown"]
    assert none.p_holm is None


def test_levels_and_widths_of_known_intervals():
    # z* such that z* sd_n / sqrt(n) = t sd / sqrt(n), with sd_n the standard deviation over n, not n - 1
    assert expanded_level(10) == pytest.approx(0.98289, abs=1e-5)
    assert expanded_level(10_000) == pytest.approx(0.95, abs=1e-4)
    values = stats.norm.ppf((np.arange(10) + 0.5) / 10)
    low, high = mean_interval(values, expanded=True)
    half = stats.t.ppf(0.975, 9) * values.std(ddof=1) / np.sqrt(10)
    assert (low, high) == (pytest.approx(-half, rel=0.08), pytest.approx(half, rel=0.08))
    narrow = mean_interval(values, expanded=False)
    assert low < narrow[0] < 0 < narrow[1] < high
    values = np.array([0.1, 0.4, -0.2, 0.9, 0.3, 0.35])
    expected = stats.bootstrap((values,), np.mean, random_state=np.random.default_rng(5)).confidence_interval
    assert mean_interval(values, expanded=False) == pytest.approx(tuple(expected), abs=0.05)


def test_interval_moves_with_its_values_and_ignores_their_order():
    values = np.array([0.1, 0.4, -0.2, 0.9, 0.3, 0.35])
    interval = mean_interval(values, expanded=True)
    assert mean_interval(values[::-1].copy(), expanded=True) == interval
    assert mean_interval(values + 2, expanded=True) == pytest.approx((interval[0] + 2, interval[1] + 2))
    turned = pytest.approx((-3 * interval[1], -3 * interval[0]), abs=0.05)
    assert mean_interval(-3 * values, expanded=True) == turned


def test_few_values_have_no_interval_and_equal_ones_one_of_width_0():
    assert [mean_interval(np.arange(number) * 1.0, expanded=True) for number in (1, 2, 4)] == [None] * 3
    assert mean_interval(np.full(7, 0.3), expanded=True) == pytest.approx((0.3, 0.3))


def test_interval_of_a_statistic_of_pairs():
    first, second = np.arange(1.0, 8.0), np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0])
    low, high = statistic_interval(pearson, first, second)
    assert low < pearson(first, second) < high
    order = np.random.default_rng(0).permutation(7)
    assert statistic_interval(pearson, first[order], second[order]) == (low, high)
    assert statistic_interval(pearson, 3 * first + 5, second / 7) == (low, high)
    assert statistic_interval(pearson, first[:4], second[:4]) is None

    def one(first, second):
        return np.ones(first.shape[:-1])

    assert statistic_interval(one, np.arange(6.0), np.arange(6.0)) is None


@pytest.mark.slow
def test_coverage_of_ten_normal_values(monkeypatch):
    """Without the correction it is 91 %."""
    monkeypatch.setattr(bootstrap, "NUM_RESAMPLES", 499)
    samples = np.random.default_rng(0).normal(size=(400, 10))
    covered = {}
    for expanded in (True, False):
        intervals = [mean_interval(values, expanded=expanded) for values in samples]
        covered[expanded] = np.mean([low <= 0 <= high for low, high in intervals])
    assert 0.925 < covered[True] < 0.975 and covered[False] < covered[True] - 0.015


@pytest.mark.slow
def test_the_point_of_a_logistic_curve_lies_within_its_interval():
    rng = np.random.default_rng(0)
    shares = rng.uniform(0, 0.3, 300)
    turned = rng.random(300) < 1 / (1 + np.exp(-(shares - 0.1) / 0.02))
    point, low, high = tipping_point(shares, turned)
    assert low < 0.1 < high and high - low < 0.04 and point == pytest.approx(0.1, abs=0.01)


def test_a_clean_change_is_half_way_and_no_change_has_no_point():
    point, *_ = tipping_point([0.05] * 9 + [0.1] * 9, [False] * 9 + [True] * 9)
    assert point == pytest.approx(0.075)
    assert tipping_point([0.1, 0.2], [True, True]) is None is tipping_point([0.1, 0.2], [False, False])


def test_equal_shares_have_the_exact_interval_and_the_binomial_p_value():
    """Two of two: .025 ** .5 = .158; twice .25 ** 2 = .125. Eight of eight: .631, and 3.1e-5."""
    for number, low, p_value in ((2, 0.1581, 0.125), (8, 0.6306, 2 * 0.25**8)):
        values = [1.0] * number
        assert mean_of_shares(values) == (1.0, (pytest.approx(low, abs=1e-4), 1.0))
        chance = Chance.from_guesses(0.25, values)
        assert chance.p_value(1.0) == (pytest.approx(p_value), "theory")
    assert Chance.from_guesses(0.25, [0.0] * 3).p_value(0.0)[0] == pytest.approx(2 * 0.75**3)
    assert mean_of_shares([0.5, 0.7]) == (0.6, (0.0, 1.0)) and mean_of_shares([1.0]) == (1.0, None)
    assert Chance.from_guesses(0.25, [0.5, 0.7]).p_value(0.6)[1] == "error"


def test_equal_pairs_have_the_exact_interval_of_the_smaller_side():
    """Three senders and four receivers, always right: .025 ** (1 / 3) = .2924; twice .5 ** 3 = .25."""
    found = crossed_mean(np.ones((3, 4)), np.ones((3, 4), bool), ["a", "b", "c"], ["d", "e", "f", "g"])
    assert found.interval(0.0, 1.0) == (pytest.approx(0.2924, abs=1e-4), 1.0)
    assert found.interval(0.0, np.inf) is None  # bits
    assert Chance.from_pairs(0.5, found).p_value(1.0) == (pytest.approx(0.25), "theory")
    assert clipped(0.3, 0.0, 0.0, 1.0) is None
