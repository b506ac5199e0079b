"""ShapeWorld: its 312 formulas and their examples, labels that agree with truth tables, what variants share."""

from collections import Counter

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds import shapeworld
from ecsuite.games.worlds.rendering import COLORS, SHAPES
from ecsuite.games.worlds.shapeworld import KINDS, NUM_WORLDS, ShapeWorld, all_formulas, split_formulas
from ecsuite.games.worlds.world import make_world

COUNTS = {
    "color": 12, "shape": 10, "color and color": 15, "color and shape": 120, "shape and shape": 10,
    "color or color": 15, "color or shape": 120, "shape or shape": 10,
}  # fmt: skip


def test_counts_of_mu_and_goodman_and_splits_that_share_no_formula():
    formulas = all_formulas()
    assert Counter(formula.kind for formula in formulas) == COUNTS and tuple(COUNTS) == KINDS
    assert len({formula.truth.tobytes() for formula in formulas}) == 312 and NUM_WORLDS == 30
    splits = split_formulas(1).members
    parts = [splits["train"], splits["valid"], splits["test"]]
    assert [len(part) for part in parts] == [250, 31, 31] and (splits["seen"] == splits["train"]).all()
    assert sorted(np.concatenate(parts).tolist()) == list(range(312))
    assert all({formulas[place].kind for place in part} == set(KINDS) for part in parts)
    assert [sum(formulas[place].is_reference for place in part) for part in parts] == [24, 3, 3]


def test_truth_and_weights_agree_with_python_on_every_world():
    """The text, read as a Python expression, is an independent definition of what it means."""
    for formula in all_formulas():
        for place in range(NUM_WORLDS):
            names = {name: name in (COLORS[place // 5], SHAPES[place % 5]) for name in (*COLORS, *SHAPES)}
            assert eval(formula.text, {}, names) == formula.truth[place], (formula.text, place)
        positive, negative = formula.positive_weights(), formula.negative_weights()
        assert ((positive > 0) == formula.truth).all() and ((negative > 0) == ~formula.truth).all()
        assert positive.sum() == pytest.approx(1) and negative.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("text", "is_positive", "expected"),
    [
        ("red or circle", True, {(True, False): 1 / 3, (False, True): 1 / 3, (True, True): 1 / 3}),
        ("red and circle", False, {(True, False): 1 / 3, (False, True): 1 / 3, (False, False): 1 / 3}),
        ("not red", True, {(False, True): 1 / 5, (False, False): 4 / 5}),
    ],
)
def test_examples_balance_what_a_formula_joins(text, is_positive, expected):
    """Weights by whether a world is red and whether it is a circle."""
    formula, sums = next(each for each in all_formulas() if each.text == text), Counter()
    weights = formula.positive_weights() if is_positive else formula.negative_weights()
    for place, weight in enumerate(weights):
        sums[COLORS[place // 5] == "red", SHAPES[place % 5] == "circle"] += weight
    assert {key: value for key, value in sums.items() if value} == pytest.approx(expected)


VARIANTS = ("reference", "set_reference", "concept")
NAMES = {"reference": "ref", "set_reference": "setref", "concept": "concept"}
TRUTH = np.stack([formula.truth for formula in all_formulas()])


@pytest.fixture
def drawn(monkeypatch):
    """Instead of pictures, what they would show: rows (index, colour, shape)."""

    def stacked(seed, split, indices, colours, shapes):
        return np.stack([indices, colours, shapes], axis=1)

    monkeypatch.setattr(shapeworld, "shapeworld_scenes", stacked)
    monkeypatch.setattr(ShapeWorld, "objects_of", lambda world, scenes: scenes)


SIZES = (
    "world.kind=shapeworld", "task.kind=concept", "task.num_targets=10", "task.num_distractors=10",
    "task.sender_input=targets_and_distractors", "training.batch_size=64",
)  # fmt: skip


def make(variant="concept", *overrides):
    world = make_world(load_experiment("disc_tiny", [*SIZES, f"task.variant={variant}", *overrides]))
    assert isinstance(world, ShapeWorld)
    return world


def worlds_of(rounds, places):
    """The world of each object, when pictures are rows (index, colour, shape)."""
    return (rounds.objects[:, 1] * 5 + rounds.objects[:, 2])[places]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("split", ["train", "valid", "test", "seen", "all"])
def test_every_label_agrees_with_the_truth_table(drawn, variant, split):
    world = make(variant)
    for number in range(2):
        rounds = world.batch(split, number)
        assert rounds.shown.shape == rounds.candidates.shape == rounds.labels.shape == (64, 20)
        assert (rounds.labels.sum(1) == 10).all() and rounds.num_positive == 10
        truth = TRUTH[rounds.rules]
        assert (np.take_along_axis(truth, worlds_of(rounds, rounds.candidates), 1) == rounds.labels).all()
        assert (np.take_along_axis(truth, worlds_of(rounds, rounds.shown), 1) == (np.arange(20) < 10)).all()
        assert np.isin(rounds.rules, world.rules_of_split[split]).all()
        in_use = np.unique(np.concatenate([rounds.shown, rounds.candidates]))
        assert in_use.tolist() == list(range(len(rounds.objects)))


def test_further_evaluations_are_the_evaluation_matrix(drawn):
    world = make("set_reference")
    further = world.extra_evaluations()
    assert list(further) == [f"{seen} {name}" for seen in ("seen", "unseen") for name in NAMES.values()]
    trained_on = set(world.rules_of_split["train"].tolist())
    for name, (other, split) in further.items():
        rounds = other.batch(split, 0)
        assert set(rounds.rules.tolist()).isdisjoint(trained_on) == name.startswith("unseen")
        assert set(rounds.rules.tolist()) <= trained_on or name.startswith("unseen")
        assert NAMES[other.variant] == name.split()[1]
        assert (other.rules.meanings == world.rules.meanings).all()
        assert rounds.shown.shape == (64, 20)
    assert (further["seen setref"][0].batch("valid", 2).shown == world.batch("valid", 2).shown).all()
