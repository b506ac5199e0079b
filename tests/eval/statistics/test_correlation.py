"""The coefficients agree with SciPy; constant lists correlate with nothing."""

import numpy as np
import pytest
from scipy import stats

from ecsuite.eval.statistics.correlation import kendall, pearson, spearman

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("ties", [False, True])
def test_coefficients_are_those_of_scipy(ties):
    first, second = RNG.normal(size=(2, 5, 9))
    if ties:
        first, second = first.round(), second.round()
    for statistic, reference in (
        (pearson, stats.pearsonr),
        (kendall, stats.kendalltau),
        (spearman, stats.spearmanr),
    ):
        expected = [reference(one, other).statistic for one, other in zip(first, second, strict=True)]
        np.testing.assert_allclose(statistic(first, second), expected, atol=1e-12)


def test_a_constant_resample_correlates_with_nothing():
    first, second = np.full((1, 3), 0.1), np.array([[1.0, 2.0, 3.0]])
    for statistic in (pearson, kendall, spearman):
        assert statistic(first, second) == [0]
