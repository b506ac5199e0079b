"""Holm's correction: known values, and the error rate over many comparisons."""

import numpy as np
import pytest

from ecsuite.eval.statistics.estimates import holm


def test_holm_against_a_manual_computation():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1, 1]
    assert holm([0.2]) == [0.2] and holm([]) == []


def test_the_order_does_not_matter():
    p_values = np.random.default_rng(0).random(9)
    order = np.random.default_rng(1).permutation(9)
    assert np.array(holm(p_values))[order] == pytest.approx(holm(p_values[order]))


def test_any_false_rejection_among_28_comparisons_has_5_percent():
    """Without a correction it would be 76 %."""
    families = np.random.default_rng(0).random((1_000, 28))
    rejected = sum(min(holm(p_values)) < 0.05 for p_values in families)
    assert 25 < rejected < 70
