"""Gains are paired by seed, with Student's intervals; a single seed has none."""

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.xtreme.result import estimate

HALF = 4.302652729911275 / 3**0.5
"""Half width of an interval over three seeds whose differences have a standard deviation of 1."""


def test_an_interval_against_a_manual_computation():
    found = estimate(np.array([1.0, 2.0, 3.0]))
    assert found.details["by_seed"] == [1, 2, 3]
    assert found.mean == 2
    assert found.ci95 == pytest.approx((2 - HALF, 2 + HALF))
    assert found.p_value == pytest.approx(
        1 - 12**0.5 / 14**0.5
    )  # two degrees: 1 - t / sqrt(2 + t^2), and t = sqrt(12)
    assert found.conclusion == "not significant"


def test_it_is_the_paired_test_of_scipy():
    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 5))
    found, theirs = estimate(first - second), stats.ttest_rel(first, second)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.ci95 == pytest.approx(tuple(theirs.confidence_interval()))


def test_one_seed_has_no_interval():
    found = estimate(np.array([30.0]))
    assert (found.mean, found.ci95, found.p_value, found.conclusion) == (30, None, None, "unknown")


def test_equal_scores_give_an_interval_of_width_0():
    assert estimate(np.zeros(3)).ci95 == (0, 0)
    assert (estimate(np.zeros(3)).p_value, estimate(np.zeros(3)).conclusion) == (1, "not significant")
    found = estimate(np.array([0.1 + 0.2, 0.3, 0.3]) * 10)  # apart by rounding
    assert found.ci95 == (found.mean, found.mean)
    assert (found.p_value, found.conclusion) == (
        1,
        "unknown",
    )  # no noise is seen, which does not mean that there is none
