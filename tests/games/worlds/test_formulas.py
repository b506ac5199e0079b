"""Formulas: 312 of them by known counts, what each means, how examples of it are drawn, and how they are split."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from ecsuite.games.worlds.rendering import COLORS, SHAPES
from ecsuite.games.worlds.shapeworld import (
    KINDS,
    NUM_WORLDS,
    all_formulas,
    balanced_weights,
    formula_rules,
    split_formulas,
)

COUNTS = {
    "color": 12, "shape": 10, "color and color": 15, "color and shape": 120, "shape and shape": 10,
    "color or color": 15, "color or shape": 120, "shape or shape": 10,
}  # fmt: skip


def named(text):
    return next(formula for formula in all_formulas() if formula.text == text)


def world(color, shape):
    return COLORS.index(color) * len(SHAPES) + SHAPES.index(shape)


def weights_by(weights, grouping):
    """Sums of weights by what `grouping` says of (colour, shape)."""
    sums = Counter()
    for place, weight in enumerate(weights):
        sums[grouping(COLORS[place // 5], SHAPES[place % 5])] += weight
    return {key: pytest.approx(value) for key, value in sums.items() if value}


def test_counts_of_mu_and_goodman():
    formulas = all_formulas()
    assert len(formulas) == 312
    assert Counter(formula.kind for formula in formulas) == COUNTS and tuple(COUNTS) == KINDS
    assert sum(formula.is_reference for formula in formulas) == 30
    num_true = [formula.truth.sum() for formula in formulas]
    assert min(num_true) == 1 and max(num_true) == 29 and NUM_WORLDS == 30


def test_no_two_formulas_mean_or_say_the_same():
    formulas = all_formulas()
    for distinct in (
        {formula.truth.tobytes() for formula in formulas},
        {formula.text for formula in formulas},
        {frozenset(formula.phrase) for formula in formulas},
    ):
        assert len(distinct) == 312


def test_truth_agrees_with_python_on_every_world():
    """The text, read as a Python expression, is an independent definition of what it means."""
    for formula in all_formulas():
        for place in range(NUM_WORLDS):
            names = {name: name in (COLORS[place // 5], SHAPES[place % 5]) for name in (*COLORS, *SHAPES)}
            assert eval(formula.text, {}, names) == formula.truth[place], (formula.text, place)


def test_what_is_left_out_means_nothing_new():
    """Every other combination of two literals is never true, always true, or means the same as a literal."""
    literals = {formula.text: formula.truth for formula in all_formulas() if not formula.connective}
    known = {formula.text for formula in all_formulas()}
    left_out = 0
    for left, right in combinations(literals, 2):
        for connective, truth in (
            ("and", literals[left] & literals[right]),
            ("or", literals[left] | literals[right]),
        ):
            if f"{left} {connective} {right}" not in known:
                left_out += 1
                same = (truth == literals[left]).all() or (truth == literals[right]).all()
                assert same or truth.all() or not truth.any()
    assert left_out == 2 * 22 * 21 // 2 - 290


def test_examples_of_or_balance_left_right_and_both():
    weights = named("red or circle").positive_weights()
    groups = weights_by(weights, lambda color, shape: (color == "red", shape == "circle"))
    assert groups == {(True, False): 1 / 3, (False, True): 1 / 3, (True, True): 1 / 3}
    assert weights[world("red", "circle")] == pytest.approx(1 / 3)
    assert weights[world("red", "square")] == pytest.approx(1 / 12)
    no_both = named("red or blue").positive_weights()
    assert weights_by(no_both, lambda color, _: color) == {"red": 1 / 2, "blue": 1 / 2}


def test_counter_examples_of_and_are_hard():
    weights = named("red and circle").negative_weights()
    groups = weights_by(weights, lambda color, shape: (color == "red", shape == "circle"))
    assert groups == {(True, False): 1 / 3, (False, True): 1 / 3, (False, False): 1 / 3}
    no_neither = named("not red and not blue").negative_weights()
    assert weights_by(no_neither, lambda color, _: color) == {"red": 1 / 2, "blue": 1 / 2}


@pytest.mark.parametrize("text", ["not red", "not red and circle"])
def test_other_examples_are_uniform(text):
    truth = named(text).truth
    np.testing.assert_allclose(named(text).positive_weights(), truth / truth.sum())
    violates = ~named("red or circle").truth
    np.testing.assert_allclose(named("red or circle").negative_weights(), violates / violates.sum())


def test_all_weights_agree_with_the_truth():
    for formula in all_formulas():
        positive, negative = formula.positive_weights(), formula.negative_weights()
        assert ((positive > 0) == formula.truth).all() and ((negative > 0) == ~formula.truth).all()
        assert positive.sum() == pytest.approx(1) and negative.sum() == pytest.approx(1)


def test_rules_have_truth_tables_and_phrases():
    rules = formula_rules()
    assert rules.meanings.shape == (312, 30) and set(np.unique(rules.meanings)) == {0, 1}
    assert rules.meanings.dtype == np.int64 and len(rules.concept_names) == 24
    for place, formula in enumerate(all_formulas()):
        assert [rules.concept_names[number] for number in rules.concepts[place]] == list(formula.phrase)
        assert (rules.meanings[place] == formula.truth).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_splits_share_no_formula_and_each_has_every_kind(seed):
    splits = split_formulas(seed).members
    parts = [splits["train"], splits["valid"], splits["test"]]
    assert [len(part) for part in parts] == [250, 31, 31]
    assert sorted(np.concatenate(parts).tolist()) == list(range(312))
    assert (splits["seen"] == splits["train"]).all()
    formulas = all_formulas()
    for part in parts:
        assert {formulas[place].kind for place in part} == set(KINDS)
    assert [sum(formulas[place].is_reference for place in part) for part in parts] == [24, 3, 3]
    for kind, number in COUNTS.items():
        assert sum(formulas[place].kind == kind for place in splits["train"]) == number - round(number * 0.2)


def test_balanced_weights_make_kinds_equally_likely():
    places = split_formulas(1).members["train"]
    weights = balanced_weights(places)
    by_kind = Counter()
    for place, weight in zip(places, weights, strict=True):
        by_kind[all_formulas()[place].kind] += weight
    assert by_kind == {kind: pytest.approx(1 / 8) for kind in KINDS}
    assert len(set(np.round(weights[:10], 12))) == 1  # within a kind, all alike
    np.testing.assert_allclose(balanced_weights(np.array([0, 1, 12])), [1 / 4, 1 / 4, 1 / 2])
