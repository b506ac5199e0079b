"""Intervals contain the mean, are as wide as Student's, and ignore the order; tipping points are found."""

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.statistics import bootstrap
from ecsuite.eval.statistics.bootstrap import expanded_level, mean_interval, statistic_interval, tipping_point
from ecsuite.eval.statistics.correlation import pearson


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
    assert mean_interval(-3 * values, expanded=True) == pytest.approx(
        (-3 * interval[1], -3 * interval[0]), abs=0.05
    )


@pytest.mark.parametrize("number", [1, 2, 4])
def test_few_values_have_none(number):
    assert mean_interval(np.arange(number, dtype=float), expanded=True) is None


def test_equal_values_have_an_interval_of_width_0():
    values = np.full(7, 0.3)
    assert mean_interval(values, expanded=True) == pytest.approx((0.3, 0.3))


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
