import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.statistics.estimates import (
    average_ranks,
    normal_quantile,
    normal_tail,
    share_interval,
    student_quantile,
    student_tail,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("freedom", [1, 2.5, 19, 199, 1e6])
def test_tails_and_quantiles_are_those_of_scipy_to_the_last_bit(freedom):
    for share, value in zip(RNG.random(50), RNG.normal(0, 5, 50), strict=True):
        assert student_quantile(share, freedom) == stats.t.ppf(share, freedom)
        assert student_tail(value, freedom) == stats.t.sf(value, freedom)
        assert normal_quantile(share) == stats.norm.ppf(share)
        assert normal_tail(value) == stats.norm.sf(value)


@pytest.mark.parametrize("shape", [(0,), (1,), (40,), (3, 0), (4, 30), (2, 3, 20)], ids=str)
def test_ranks_are_those_of_scipy(shape):
    values = RNG.integers(0, 9, shape) / 7
    np.testing.assert_array_equal(average_ranks(values), stats.rankdata(values, axis=-1).reshape(shape))


def test_equal_values_share_the_mean_of_their_ranks():
    assert average_ranks(np.array([5.0, 2.0, 5.0, 1.0])).tolist() == [3.5, 2.0, 3.5, 1.0]


@pytest.mark.parametrize(("number", "of"), [(0, 10), (5, 10), (10, 10), (1, 3)])
def test_intervals_of_shares_are_the_exact_ones(number, of):
    low, high = stats.binomtest(number, of).proportion_ci(method="exact")
    assert share_interval(number, of) == pytest.approx((low, high))
