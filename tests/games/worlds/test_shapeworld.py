"""ShapeWorld: labels agree with truth tables, draws have the stated distributions, variants share what they should."""

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds import shapeworld
from ecsuite.games.worlds.shapeworld import ShapeWorld, all_formulas
from ecsuite.games.worlds.world import make_world

VARIANTS = ("reference", "set_reference", "concept")
NAMES = {"reference": "ref", "set_reference": "setref", "concept": "concept"}
TRUTH = np.stack([formula.truth for formula in all_formulas()])


@pytest.fixture
def drawn(monkeypatch):
    """Instead of pictures, what they would show: rows (index, colour, shape)."""
    monkeypatch.setattr(
        shapeworld,
        "shapeworld_scenes",
        lambda seed, split, indices, colours, shapes: np.stack([indices, colours, shapes], axis=1),
    )
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
