"""Intervals and p-values of differences: known values, coverage, and degenerate input."""

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.statistics.estimates import (
    Difference,
    corrected,
    difference_of_estimates,
    paired_difference,
    unpaired_difference,
    with_effect,
)

RNG = np.random.default_rng(0)


def test_paired_differences_are_scipys():
    first, second = RNG.normal(size=(2, 6))
    found, theirs = paired_difference(first - second), stats.ttest_rel(first, second)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.ci95 == pytest.approx(tuple(theirs.confidence_interval()))


def test_unpaired_differences_are_scipys():
    first, second = RNG.normal(size=6), RNG.normal(size=4)
    found, theirs = unpaired_difference(first, second), stats.ttest_ind(first, second, equal_var=False)
    assert found.mean == pytest.approx(first.mean() - second.mean())
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.ci95 == pytest.approx(tuple(theirs.confidence_interval()))


def test_one_value_has_no_interval():
    found = paired_difference(np.array([3.0]))
    assert (found.mean, found.ci95, found.p_value) == (3, None, None)


def test_values_without_spread_have_no_p_value():
    for found in (
        paired_difference(np.array([0.1 + 0.2, 0.3, 0.3])),
        unpaired_difference(np.full(2, 0.4), np.full(3, 0.1)),
    ):
        assert found.mean == pytest.approx(0.3)
        assert found.ci95 == (found.mean, found.mean)
        assert found.p_value is None
    assert unpaired_difference(np.array([1.0, 2.0]), np.full(3, 0.1)).p_value < 1


def test_symmetric_intervals_add_as_standard_errors_do():
    found = difference_of_estimates(1.0, (0.7, 1.3), 0.0, (-0.4, 0.4))
    assert found.ci95 == pytest.approx((0.5, 1.5))
    assert found.p_value == pytest.approx(2 * stats.norm.sf(1.959964 / 0.5))


def test_each_side_has_its_own_width():
    """The lower bound has the lower side of the first estimate and the upper side of the second."""
    found = difference_of_estimates(0.9, (0.6, 1.0), 0.5, (0.4, 0.9))
    assert found.ci95 == pytest.approx((0.4 - 0.5, 0.4 + 0.02**0.5))
    assert found.p_value > 0.05
    turned = difference_of_estimates(0.5, (0.4, 0.9), 0.9, (0.6, 1.0))
    assert turned.ci95 == pytest.approx((-found.ci95[1], -found.ci95[0]))
    assert turned.p_value == pytest.approx(found.p_value)


def test_the_interval_excludes_0_where_the_p_value_is_below_5_percent():
    for _ in range(200):
        bounds = np.sort(RNG.random((2, 3)), axis=1)
        (low, value, high), (other_low, other, other_high) = bounds.tolist()
        found = difference_of_estimates(value, (low, high), other, (other_low, other_high))
        assert (found.ci95[0] > 0 or found.ci95[1] < 0) == (found.p_value < 0.05)


def test_intervals_without_width_have_no_p_value():
    found = difference_of_estimates(1.0, (1.0, 1.0), 0.5, (0.5, 0.5))
    assert (found.ci95, found.p_value) == ((0.5, 0.5), None)


def test_coverage():
    """Each interval contains the true difference, 0.5, in about 95 % of 200 samples."""
    covered = np.zeros(3)
    for _ in range(200):
        first, second = RNG.normal(0.5, 1, size=8), RNG.normal(0, 2, size=5)
        intervals = [
            (values.mean(), stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values)))
            for values in (first, second)
        ]
        found = (
            paired_difference(first),
            unpaired_difference(first, second),
            difference_of_estimates(*intervals[0], *intervals[1]),
        )
        covered += [each.ci95[0] <= 0.5 <= each.ci95[1] for each in found]
    assert ((covered / 200 > 0.92) & (covered / 200 < 0.99)).all()


def effect(first, second, *, is_paired=False):
    first, second = np.array(first, float), np.array(second, float)
    measured = paired_difference(first - second) if is_paired else unpaired_difference(first, second)
    return with_effect(measured, first, second, is_paired=is_paired)


def test_hedges_g_by_hand_and_its_interval_by_the_noncentral_t():
    """Two groups of three whose means differ by one standard deviation: d = 1, J(4) = 1 - 3 / 15 = .8."""
    found = effect([2, 3, 4], [1, 2, 3])
    assert found.hedges_g == pytest.approx(0.8)
    scale, t = np.sqrt(2 / 3), np.sqrt(3 / 2)
    for bound, share in zip(found.hedges_g_ci95, (0.975, 0.025), strict=True):
        assert stats.nct.cdf(t, 4, bound / 0.8 / scale) == pytest.approx(share, abs=1e-6)
    turned = effect([1, 2, 3], [2, 3, 4])
    assert turned.hedges_g == pytest.approx(-0.8)
    assert turned.hedges_g_ci95 == pytest.approx((-found.hedges_g_ci95[1], -found.hedges_g_ci95[0]))


def test_hedges_g_of_pairs_is_on_the_scale_of_groups():
    """Pairs that differ by nearly the same have a narrow interval of g, which stays the difference by the spread."""
    first = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    second = first - 1 + np.array([0.1, -0.1, 0.0, 0.1, -0.1])
    pairs, groups = effect(first, second, is_paired=True), effect(first, second)
    assert pairs.hedges_g == pytest.approx((1 - 3 / 15) * np.mean(first - second) / 1.5811, rel=0.05)
    assert np.ptp(pairs.hedges_g_ci95) < np.ptp(groups.hedges_g_ci95) / 2


def test_two_pairs_have_no_effect_size():
    """With one degree of freedom the correction is 0, and g would be, whatever the difference."""
    first, second = np.array([1.0, 2.0]), np.array([0.5, 0.1])
    found = with_effect(paired_difference(first - second), first, second, is_paired=True)
    assert found.hedges_g is None is found.hedges_g_ci95 and found.mean > 0
    assert with_effect(unpaired_difference(first, second), first, second).hedges_g > 0


def test_no_effect_size_without_a_spread_or_with_one_value():
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
        [
            Difference(mean=1.0),
            Difference(mean=-1.0, p_value=0.001, judged="lower"),
            Difference(mean=-1.0, p_value=0.001, judged="unknown"),
        ]
    )
    assert [none.conclusion, judged.conclusion, barred.conclusion] == ["unknown", "lower", "unknown"]
    assert none.p_holm is None
