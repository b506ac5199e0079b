"""Least absolute deviations: known answers, and simplex as a second solver."""

import numpy as np
import pytest

from ecsuite.eval.metrics import tre as absolute_deviations
from ecsuite.eval.metrics.tre import free_indicators, least_absolute_errors, simplex_error


def test_of_a_constant_it_is_that_of_the_median():
    targets = np.array([[0.0, 1, 2, 10, 100], [5.0] * 5, [0.0] * 5])
    assert list(least_absolute_errors(np.ones((5, 1)), targets)) == pytest.approx([2 + 1 + 8 + 98, 0, 0])


@pytest.mark.parametrize("seed", range(4))
def test_simplex_finds_the_same(seed):
    """Of noise, where zero is often best, of what is meant with noise, and of any numbers; of all rows or half."""
    rng = np.random.default_rng(seed)
    meanings = rng.integers(0, 5, (80, 3))
    design = free_indicators(meanings)
    is_meant = meanings[:, :1] == np.arange(5)
    is_noise = rng.random((80, 20)) < 0.15
    numbers = rng.normal(size=(80, 5)) * 1000
    targets = np.concatenate([is_noise, is_meant ^ is_noise[:, :5], is_meant, numbers], axis=1).T.astype(
        float
    )
    is_used = np.ones(targets.shape, bool)
    is_used[::2] = rng.permutation(80) < 40
    found = list(least_absolute_errors(design, targets, is_used))
    expected = [
        simplex_error(design[used], target[used]) for target, used in zip(targets, is_used, strict=True)
    ]
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_values_that_no_used_row_has_change_nothing():
    """Some columns are then 0 or sums of others: the equations of each step have no single solution."""
    meanings = np.repeat(np.arange(6), 4)[:, None]
    targets = np.tile([1.0, 0, 0, 1], (1, 6))
    is_used = np.arange(24)[None] >= 12
    assert list(least_absolute_errors(free_indicators(meanings), targets, is_used)) == [6]


def test_what_is_not_shown_to_be_the_minimum_is_found_by_simplex(monkeypatch):
    monkeypatch.setattr(absolute_deviations, "MAX_STEPS", 0)
    design = free_indicators(np.arange(12)[:, None] // 4)
    targets = np.tile([1.0, 1, 0, 1], (1, 3))
    assert list(least_absolute_errors(design, targets)) == pytest.approx([3])
