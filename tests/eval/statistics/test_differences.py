"""Intervals and p-values of differences: known values, coverage, and degenerate input."""

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.statistics.differences import (
    difference_of_estimates,
    paired_difference,
    unpaired_difference,
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
