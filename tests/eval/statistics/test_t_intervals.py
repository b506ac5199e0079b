"""Means and intervals: known values, single values, and the effect of shifts, factors and orders."""

import math

import numpy as np
import pytest

from ecsuite.eval.statistics.estimates import mean_and_half_width

VALUES = [1.0, 2.0, 4.0, 9.0]


def test_student_s_t_of_three_values():
    """t with 2 degrees of freedom leaves 2.5 % above 4.30265; the sample's deviation of 1, 2, 3 is 1."""
    assert mean_and_half_width([1, 2, 3]) == pytest.approx((2.0, 4.3026527 / math.sqrt(3)))


def test_the_published_interval_is_of_the_population_s_deviation_and_1_96():
    deviation = math.sqrt(2 / 3)
    assert mean_and_half_width([1, 2, 3], published=True) == pytest.approx(
        (2, 1.96 * deviation / math.sqrt(3))
    )


def test_two_values():
    """t with 1 degree of freedom: 12.7062; the published one is 6.5 times as narrow, and sqrt(2) more."""
    wide, narrow = (mean_and_half_width([0, 1], published=published)[1] for published in (False, True))
    assert wide == pytest.approx(12.7062047 / 2)
    assert narrow == pytest.approx(1.96 / 2 / math.sqrt(2))


@pytest.mark.parametrize("published", [False, True])
def test_shift_factor_and_order(published):
    assert mean_and_half_width([3.5], published=published) == (3.5, None)
    assert mean_and_half_width([20.0] * 10, published=published) == (20.0, 0.0)
    mean, half_width = mean_and_half_width(VALUES, published=published)
    for changed, wanted in (
        ([value + 100 for value in VALUES], (mean + 100, half_width)),
        ([value * -3 for value in VALUES], (mean * -3, half_width * 3)),
        (VALUES[::-1], (mean, half_width)),
    ):
        assert mean_and_half_width(changed, published=published) == pytest.approx(wanted)


def test_small_values_count_beside_large_ones():
    assert mean_and_half_width([1e16, 1, -1e16])[0] == 1 / 3


@pytest.mark.parametrize(("published", "lowest", "highest"), [(False, 0.93, 0.97), (True, 0.75, 0.9)])
def test_coverage_of_five_normal_values(published, lowest, highest):
    samples = np.random.default_rng(0).normal(size=(1_000, 5))
    found = [mean_and_half_width(values, published=published) for values in samples.tolist()]
    assert lowest < np.mean([abs(mean) <= half_width for mean, half_width in found]) < highest
