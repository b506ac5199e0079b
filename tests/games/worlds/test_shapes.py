"""SHAPE: rounds share a pool of images; targets obey, distractors break, and no image is in two batches."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds import rules
from ecsuite.games.worlds.rules import ShapesWorld
from ecsuite.games.worlds.world import FREE, make_world
from ecsuite.runtime.errors import ConfigError

SPLITS = ("train", "valid", "test", "seen", "all")


@pytest.fixture
def drawn(monkeypatch):
    """Instead of images, what they would show: rows (index, shape, colour, column, row)."""
    monkeypatch.setattr(
        rules,
        "shape_scenes",
        lambda seed, split, indices, labels: np.concatenate([indices[:, None], labels], axis=1),
    )
    monkeypatch.setattr(ShapesWorld, "objects_of", lambda world, scenes: scenes)


SIZES = ("world.kind=shape", "task.kind=concept", "task.num_targets=20", "task.num_distractors=20",
         "world.images_per_batch=320", "training.batch_size=64")  # fmt: skip


def make(*overrides):
    world = make_world(load_experiment("disc_tiny", [*SIZES, *overrides]))
    assert isinstance(world, ShapesWorld)
    return world


def broken(world, rounds):
    """Pairs of its round's rule that each object in play breaks, (batch, num_objects)."""
    rules = world.rules.meanings[rounds.rules][:, None]
    return ((rounds.objects[None, :, 1:] != rules) & (rules != FREE)).sum(-1)


@pytest.mark.parametrize("distractors", ["random", "hard"])
@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_targets_obey_distractors_break_and_none_is_twice_in_a_round(drawn, length, distractors):
    world = make(f"world.rule_length={length}", f"world.distractors={distractors}")
    for split in SPLITS:
        rounds = world.draw(split, 2, 64)
        assert rounds.candidates.shape == rounds.labels.shape == (64, 40)
        assert (rounds.labels.sum(1) == 20).all()
        assert ((np.take_along_axis(broken(world, rounds), rounds.candidates, 1) == 0) == rounds.labels).all()
        assert (rounds.shown == rounds.candidates[:, :20]).all() and rounds.num_positive == 20
        assert (np.diff(np.sort(rounds.candidates, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize("length", [2, 4])
def test_hard_distractors_break_as_few_pairs_as_the_pool_allows(drawn, length):
    world = make(f"world.rule_length={length}", "world.distractors=hard")
    easy = make(f"world.rule_length={length}")
    rounds = world.batch("train", 0)
    num_broken = broken(world, rounds)
    for row, candidates in zip(num_broken, rounds.candidates, strict=True):
        chosen, others = row[candidates[20:]], np.setdiff1d(np.arange(row.size), candidates)
        left = row[others]
        assert chosen.min() >= 1 and (left[left > 0] >= chosen.max()).all()
    simple = easy.batch("train", 0)
    easier = np.take_along_axis(broken(easy, simple), simple.candidates, 1)[:, 20:].mean()
    assert np.take_along_axis(num_broken, rounds.candidates, 1)[:, 20:].mean() < easier


def test_rounds_share_images_that_are_all_used(drawn):
    world = make()
    rounds = world.batch("train", 0)
    assert len(rounds.objects) <= 320 < 64 * 40
    assert np.unique(rounds.candidates).tolist() == list(range(len(rounds.objects)))
    assert len(np.unique(rounds.objects[:, 0])) == len(rounds.objects)
    assert len(np.unique(rounds.rules)) == 16  # as many as the pool has room for
    assert np.bincount(rounds.rules).max() == 4
    few = make("training.batch_size=5").batch("train", 0)
    assert len(few.rules) == 5 == len(np.unique(few.rules)) and len(few.objects) <= 100


def test_no_two_batches_share_an_image(drawn):
    world = make("world.images_per_batch=80")
    indices = [world.batch("train", number).objects[:, 0] for number in range(5)]
    assert len(np.unique(np.concatenate(indices))) == sum(map(len, indices))


def test_batches_and_splits_have_different_pictures_and_repeat():
    """The pictures themselves; a picture is known by its bytes."""
    small = [
        "task.num_targets=2",
        "task.num_distractors=2",
        "training.batch_size=4",
        "world.images_per_batch=8",
    ]
    world = make(*small)
    places = [("train", 0), ("train", 1), ("valid", 0), ("test", 0), ("seen", 0)]
    batches = {place: world.batch(*place) for place in places}
    pictures = [picture.tobytes() for rounds in batches.values() for picture in rounds.objects]
    assert len(set(pictures)) == len(pictures)
    for place, rounds in batches.items():
        again = make(*small).batch(*place)
        assert (again.objects == rounds.objects).all() and (again.candidates == rounds.candidates).all()
        assert rounds.objects.dtype == np.uint8 and rounds.objects.shape[1:] == world.object_shape
        features = world.features(torch.from_numpy(rounds.objects), torch.float32)
        assert (features * 255 == torch.from_numpy(rounds.objects)).all()
    other = make(*small, "training.seed=2").batch("train", 0)
    assert (other.objects[0] != batches["train", 0].objects[0]).any()


def test_pictures_show_what_the_rules_say():
    """Columns and rows by the centre of what is not black, red by its channels."""
    world = make(
        "training.batch_size=17", "task.num_targets=3", "task.num_distractors=3", "world.images_per_batch=51"
    )
    rounds = world.batch("train", 0)
    light = rounds.objects.astype(float)
    mass = light.sum(-1)
    total = mass.sum((1, 2))
    column = ((mass.sum(1) @ np.arange(64)) / total * 3 / 64).astype(int)
    row = ((mass.sum(2) @ np.arange(64)) / total * 3 / 64).astype(int)
    red = light.sum((1, 2)).argmax(1) == 0
    grey = np.ptp(light.sum((1, 2)), axis=1) < 0.2 * light.sum((1, 2)).max(1)
    names = world.rules.concept_names
    num_checked = 0
    for rule, candidates, labels in zip(rounds.rules, rounds.candidates, rounds.labels, strict=True):
        (concept,) = world.rules.concepts[rule]
        attribute, value = names[concept].split("=")
        if attribute == "horizontal":
            has = column[candidates] == ("left", "centre", "right").index(value)
        elif attribute == "vertical":
            has = row[candidates] == ("top", "middle", "bottom").index(value)
        elif value == "red":
            # yellow has as much red as green, so that noise decides which is more
            has = red[candidates] & ~grey[candidates]
            has &= light.sum((1, 2))[candidates][:, 1] < 0.6 * light.sum((1, 2))[candidates][:, 0]
        else:
            continue
        assert (has == labels).all(), names[concept]
        num_checked += 1
    assert num_checked == 7


def test_rules_and_free_values_are_uniform(drawn):
    world = make("training.batch_size=16")
    batches = [world.batch("train", number) for number in range(60)]
    assert chisquare(np.bincount(np.concatenate([rounds.rules for rounds in batches]))).pvalue > 1e-4
    red = [
        rounds.objects[shown, 1]  # shapes of red objects
        for rounds in batches
        for rule, shown in zip(rounds.rules, rounds.shown, strict=True)
        if rule == 5
    ]
    assert chisquare(np.bincount(np.concatenate(red))).pvalue > 1e-4


def test_too_few_images_of_a_kind_repeat_all_equally_often(drawn):
    """Two rules of two targets and six distractors: a rule's round has the two images of the other one three times."""
    world = make(
        "task.num_targets=2", "task.num_distractors=6", "world.images_per_batch=4", "training.batch_size=4",
        "world.rule_length=4",
    )  # fmt: skip
    for candidates in world.batch("train", 0).candidates:
        _, counts = np.unique(candidates[2:], return_counts=True)
        assert counts.tolist() == [3, 3] and len(set(candidates[:2])) == 2


TOO_SMALL = {
    ("world.images_per_batch=30",): "world.images_per_batch and training.batch_size: 30 images and 64 rounds make 1 "
    "rules of 20 targets per batch: expected at least 2",
    ("training.batch_size=1",): "world.images_per_batch and training.batch_size: 320 images and 1 rounds make 1 "
    "rules of 20",
    ("world.rule_length=5",): "world.rule_length: expected at most 4 attributes, got 5",
    ("world.rule_length=2", "world.held_out=0.01", "world.candidates=split"): "world.held_out: 0.01 of 105 rules makes "
    "104 for training and 1 for evaluation: expected at least 2 and 2",
    ("world.rule_length=2", "world.held_out=0.99"): "world.held_out: 0.99 of 105 rules makes 1 for training and 104",
    ("world.rule_length=2", "world.held_out=0.999"): "world.held_out: 0.999 of 105 rules leave none for training",
}  # fmt: skip


@pytest.mark.parametrize("overrides", TOO_SMALL)
def test_worlds_that_cannot_be(overrides):
    with pytest.raises(ConfigError, match="^" + TOO_SMALL[overrides]):
        make(*overrides)


@pytest.mark.parametrize(
    ("num_targets", "num_distractors", "num_images"), [(1, 1, 2), (1, 1, 3), (1, 2, 2), (2, 2, 4), (4, 4, 8)]
)
def test_batches_of_few_images_always_have_distractors(drawn, num_targets, num_distractors, num_images):
    """In a third of the draws of two images, both of them satisfy the rule of a round."""
    experiment = load_experiment(
        "shape_qt",
        [
            f"task.num_targets={num_targets}", f"task.num_distractors={num_distractors}",
            f"world.images_per_batch={num_images}", "training.batch_size=8", "training.num_examples=4000",
        ],
    )  # fmt: skip
    world = make_world(experiment)
    for number in range(100):
        rounds = world.batch("train", number)
        num_broken = np.take_along_axis(broken(world, rounds), rounds.candidates, 1)
        assert ((num_broken == 0) == rounds.labels).all() and (rounds.labels.sum(1) == num_targets).all()
    again = make_world(experiment).batch("train", 7)
    assert (again.objects == world.batch("train", 7).objects).all()
