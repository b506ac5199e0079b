"""The tipping point: where it is known it is found, and where nothing turns there is none."""

import numpy as np
import pytest

from ecsuite.eval.statistics.bootstrap import tipping_point


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
