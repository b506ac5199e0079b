"""Means over pairs that share members."""

import numpy as np
import pytest
from scipy.stats import t as student

from ecsuite.eval.statistics.estimates import crossed_mean


def test_two_by_two():
    """By hand: without a sender or a receiver, one pair is left, and both pairs without none of them."""
    values, chosen = np.array([[np.nan, 0.4], [0.8, np.nan]]), ~np.eye(2, dtype=bool)
    found = crossed_mean(values, chosen, ["a", "b"], ["c", "d"])
    of_pairs = np.var([0.4, 0.8], ddof=1) / 2
    each = 1 / 2 * 2 * 0.2**2  # of either side
    assert found.mean == pytest.approx(0.6)
    assert found.error == pytest.approx(np.sqrt(2 * each - of_pairs))
    assert found.freedom == pytest.approx(2)


def test_an_agent_in_every_pair_leaves_no_error():
    found = crossed_mean(np.array([[0.4, 0.6]]), np.ones((1, 2), bool), ["a"], ["c", "d"])
    assert (found.mean, found.error, found.half_width) == (0.5, None, None)


def test_members_of_both_sides_are_left_out_on_both():
    """Of three agents that speak and listen, two are left without one: a pair in each direction."""
    values = np.array([[0, 0.1, 0.2], [0.3, 0, 0.4], [0.5, 0.6, 0]])
    found = crossed_mean(values, ~np.eye(3, dtype=bool), [0, 1, 2], [0, 1, 2])
    means = np.array([(0.4 + 0.6) / 2, (0.2 + 0.5) / 2, (0.1 + 0.3) / 2])
    assert found.error == pytest.approx(np.sqrt(2 / 3 * ((means - means.mean()) ** 2).sum()))
    assert found.freedom == pytest.approx(2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("number", [3, 8])
def test_coverage(number, is_shared, share):
    """Student's interval over pairs covers 53 to 86 % where agents differ."""
    rng, covered, by_pairs = np.random.default_rng(0), 0, 0
    chosen = ~np.eye(number, dtype=bool)
    first = list(range(number))
    second = first if is_shared else [number + each for each in first]
    for _ in range(400):
        senders, receivers = rng.normal(0, 0.05 * share, (2, number))
        values = 0.7 + senders[:, None] + receivers + rng.normal(0, 0.06 - 0.05 * share, (number, number))
        found = crossed_mean(values, chosen, first, second)
        covered += abs(found.mean - 0.7) <= found.half_width
        pairs = values[chosen]
        half_width = student.ppf(0.975, len(pairs) - 1) * pairs.std(ddof=1) / np.sqrt(len(pairs))
        by_pairs += abs(pairs.mean() - 0.7) <= half_width
    assert 0.91 < covered / 400 <= (1 if is_shared and not share else 0.99)
    assert share < 1 or by_pairs / 400 < 0.9
