"""Worlds: examples are pure functions of (seed, split, index), distinct and uniform; sizes are checked."""

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def make(*overrides):
    return make_world(load_experiment("disc_tiny", overrides))


def examples(world, split, indices):
    """The values of the candidates of rounds, and the places of their targets."""
    numbers, places = world.candidates(split, 0, indices)
    return world.objects.values(numbers), places


def numbers(world, candidates):
    """Attribute values to the number of the object."""
    return world.objects.numbers(candidates)


def same(one, other):
    return all((ours == theirs).all() for ours, theirs in zip(one, other, strict=True))


def test_objects_that_cannot_be_held_out():
    """Rounds of training and of evaluation need as many objects as they have candidates."""
    message = (
        r"^4 distinct candidates need 4 objects, but of 2 attributes of 4 values there are 14 in train, 2 in "
        r"valid: lower"
    )
    with pytest.raises(ConfigError, match=message):
        make("world.held_out=0.125", "world.candidates=split")
    assert len(make("world.held_out=0.125").batch("valid", 0).labels[0]) == 4
    message = r"^of 2 attributes of 4 values there are 16 in train, 0 in valid: expected some in each: hold out others$"
    with pytest.raises(ConfigError, match=message):
        make("world.held_out=0.01")
    with pytest.raises(ConfigError, match=r"world.candidates: unknown value 'nonsense'; choices: all, split"):
        make("world.held_out=0.125", "world.candidates=nonsense")
    assert len(make("world.held_out=0.125", "task.num_distractors=1").subsets.members["valid"]) == 2
    with pytest.raises(
        ConfigError, match=r"^world.held_out: expected at most 4,194,304 objects to hold some out"
    ):
        make("world.held_out=0.1", "world.num_attributes=12")


def test_rare_values_are_known_beside_few_others():
    """Two attributes, as in Auersperger & Pecina 2022: 00, 01 and 10 are trained on, and no other object with a 0."""
    world = make(
        "world.num_values=5", "world.rare_combinations=1", "world.held_out=0.25", "training.batch_size=500"
    )
    of = {
        split: {tuple(row) for row in world.objects.values(objects).tolist()}
        for split, objects in world.subsets.members.items()
    }
    with_0 = {(0, other) for other in range(5)} | {(other, 0) for other in range(5)}
    known = {(0, 0), (0, 1), (1, 0)}
    assert of["rare"] == with_0 - known
    assert of["train"] & with_0 == known and len(of["train"]) == 3 + 12
    assert len(of["valid"]) == 4 and not of["valid"] & (of["train"] | with_0)
    assert world.extra_evaluations() == {"seen objects": (world, "seen"), "rare values": (world, "rare")}
    objects = world.subsets.members["rare"]
    rare = world.batch("rare", 0)
    assert set(numbers(world, rare.objects[rare.shown[:, 0]]).tolist()) <= set(objects.tolist())
    assert len(set(numbers(world, rare.objects).tolist())) == 25
    columns = [world.describe(batch).columns["split"] for batch in world.corpus_batches(25)]
    assert np.unique(np.concatenate(columns), return_counts=True)[1].tolist() == [
        4,
        6,
        15,
    ]  # held out, rare, train


def test_values_that_cannot_be_rare():
    with pytest.raises(ConfigError, match="rare_combinations: expected less than 3, the other values of an"):
        make("world.rare_combinations=3")
    with pytest.raises(
        ConfigError,
        match=r"of 2 attributes of 3 values there are 7 in train, 7 in valid, 2 in rare: lower task.num_dist",
    ):
        make("world.num_values=3", "world.rare_combinations=1", "world.candidates=split")
