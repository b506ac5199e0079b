"""ShapeWorld: labels agree with truth tables, draws have the stated distributions, variants share what they should."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds import shapeworld
from ecsuite.games.worlds.shapeworld import KINDS, ShapeWorld, all_formulas
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


def test_what_the_receiver_sees_by_variant(drawn):
    concept = make("concept").batch("train", 0)
    assert not np.isin(concept.candidates, concept.shown).any()
    setref = make("set_reference").batch("train", 0)
    assert (setref.candidates == setref.shown).all()
    ref = make("reference").batch("train", 0)
    assert (ref.candidates == ref.shown).all() and (ref.shown[:, :10] == ref.shown[:, :1]).all()
    assert all(all_formulas()[rule].is_reference for rule in ref.rules)


def test_a_round_repeats_no_image_while_there_are_others(drawn):
    """10 images of each world are enough for 10 targets and 10 distractors; 4 are not, and are used evenly."""
    rounds = make("set_reference").batch("train", 0)
    for row in rounds.shown:
        assert len(np.unique(row)) == 20
    short = make("set_reference", "world.images_per_label=4").batch("train", 0)
    for row, places in zip(short.shown, worlds_of(short, short.shown), strict=True):
        worlds, counts = np.unique(places, return_counts=True)
        repeats = [np.unique(row[places == world], return_counts=True)[1] for world in worlds]
        assert [len(repeat) for repeat in repeats] == np.minimum(counts, 4).tolist()
        assert all(np.ptp(repeat) <= 1 for repeat in repeats)
    assert len(short.objects) <= 120


def test_the_order_of_images_is_each_rounds_own(drawn):
    rounds = make("reference").batch("train", 0)
    indices = rounds.objects[rounds.shown[:, 0], 0] % 10
    assert chisquare(np.bincount(indices, minlength=10)).pvalue > 1e-4 and len(set(indices)) == 10


def test_batches_of_a_split_share_no_image(drawn):
    for variant in VARIANTS:
        world = make(variant)
        indices = [world.batch("train", number).objects[:, 0] for number in range(20)]
        for seen in indices:
            assert len(np.unique(seen)) == len(seen)
        assert len(np.unique(np.concatenate(indices))) == sum(len(seen) for seen in indices)


def test_kinds_are_equally_likely_and_formulas_within_a_kind(drawn):
    world = make("concept", "training.batch_size=16000", "task.num_targets=1", "task.num_distractors=1")
    rules = world.batch("train", 0).rules
    kinds = np.array([KINDS.index(formula.kind) for formula in all_formulas()])
    assert chisquare(np.bincount(kinds[rules], minlength=8)).pvalue > 1e-4
    for kind in range(8):
        of_kind = rules[kinds[rules] == kind]
        expected = world.rules_of_split["train"][kinds[world.rules_of_split["train"]] == kind]
        found, counts = np.unique(of_kind, return_counts=True)
        assert (found == expected).all() and chisquare(counts).pvalue > 1e-4


def test_reference_formulas_are_equally_likely(drawn):
    world = make("reference", "training.batch_size=4800", "task.num_targets=1", "task.num_distractors=1")
    found, counts = np.unique(world.batch("train", 0).rules, return_counts=True)
    assert len(found) == 24 and chisquare(counts).pvalue > 1e-4
    assert len(np.unique(world.draw("test", 0, 4800).rules)) == 3


def test_worlds_are_drawn_by_the_formulas_weights(drawn):
    """Each of the receiver's and the sender's draws, of every formula of the validation split."""
    world = make("concept", "training.batch_size=20000", "task.num_targets=2", "task.num_distractors=2")
    rounds = world.draw("valid", 0, 20_000)
    for rule in world.rules_of_split["valid"]:
        formula, of_rule = all_formulas()[rule], rounds.rules == rule
        for places in (rounds.shown, rounds.candidates):
            worlds = worlds_of(rounds, places[of_rule])
            for chosen, weights in (
                (worlds[:, :2], formula.positive_weights()),
                (worlds[:, 2:], formula.negative_weights()),
            ):
                counts, likely = np.bincount(chosen.ravel(), minlength=30), weights > 0
                assert counts[~likely].sum() == 0
                if likely.sum() > 1:
                    assert chisquare(counts[likely], weights[likely] * counts.sum()).pvalue > 1e-6


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


def test_images_show_what_was_drawn():
    """With real pictures: a round about red has red objects as targets, and no others."""
    world = make("set_reference", "training.batch_size=8")
    rounds = world.batch("train", 0)
    assert rounds.objects.dtype == np.uint8 and rounds.objects.shape[1:] == world.object_shape == (64, 64, 3)
    features = world.features(torch.from_numpy(rounds.objects), torch.float32)
    assert (features * 255 == torch.from_numpy(rounds.objects)).all()
    assert (rounds.objects.max((1, 2, 3)) > 40).all()  # no image is black
    again = world.batch("train", 0)
    assert (rounds.objects == again.objects).all()
    red = next(place for place, formula in enumerate(all_formulas()) if formula.text == "red")
    for number in range(200):
        rounds = world.batch("all", number)
        if red in rounds.rules:
            break
    row = np.flatnonzero(rounds.rules == red)[0]
    brightest = rounds.objects[rounds.candidates[row]].max((1, 2)).astype(int)  # (20, 3)
    is_red = (brightest[:, 0] > brightest[:, 1] + 50) & (brightest[:, 0] > brightest[:, 2] + 50)
    assert (is_red == rounds.labels[row]).all()
