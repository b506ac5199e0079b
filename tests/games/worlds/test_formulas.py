"""Formulas: 312 of them by known counts, what each means, how examples of it are drawn, and how they are split."""

import pytest

from ecsuite.games.worlds.rendering import COLORS, SHAPES
from ecsuite.games.worlds.shapeworld import (
    NUM_WORLDS,
    all_formulas,
)


def test_truth_agrees_with_python_on_every_world():
    """The text, read as a Python expression, is an independent definition of what it means."""
    for formula in all_formulas():
        for place in range(NUM_WORLDS):
            names = {name: name in (COLORS[place // 5], SHAPES[place % 5]) for name in (*COLORS, *SHAPES)}
            assert eval(formula.text, {}, names) == formula.truth[place], (formula.text, place)


def test_all_weights_agree_with_the_truth():
    for formula in all_formulas():
        positive, negative = formula.positive_weights(), formula.negative_weights()
        assert ((positive > 0) == formula.truth).all() and ((negative > 0) == ~formula.truth).all()
        assert positive.sum() == pytest.approx(1) and negative.sum() == pytest.approx(1)
