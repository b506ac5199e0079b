"""THING: targets obey, distractors break, draws are uniform, and batches are pure functions of their place."""

import tracemalloc

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.rules import ThingWorld
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SIZES = ("world.kind=thing", "task.kind=concept", "world.num_attributes=5", "world.num_values=10",
         "task.num_targets=20", "task.num_distractors=20", "training.batch_size=50")  # fmt: skip


def make(*overrides):
    world = make_world(load_experiment("disc_tiny", [*SIZES, *overrides]))
    assert isinstance(world, ThingWorld)
    return world


def small(*overrides):
    return make(
        "world.num_attributes=2", "world.num_values=3", "task.num_targets=2", "task.num_distractors=2",
        "training.batch_size=6000", *overrides,
    )  # fmt: skip


def test_worlds_that_cannot_be():
    with pytest.raises(ConfigError, match=r"^world.rule_length: expected at most 2 attributes, got 3$"):
        small("world.rule_length=3")
    with pytest.raises(
        ConfigError, match=r"^20 attributes of 10 values make more than 2\^63 objects: lower world.num"
    ):
        make("world.num_attributes=20")
    assert make("world.num_attributes=18").batch("train", 0).objects.shape == (2000, 18)


def test_a_table_of_rules_that_is_too_large_is_refused_before_memory_is_taken():
    """10^8 rules of 8 pairs: a table of them would need 6 GB."""
    tracemalloc.start()
    try:
        with pytest.raises(
            ConfigError, match=r"^world.rule_length: expected at most 1,000,000 rules, but 8 of 8"
        ):
            make("world.num_attributes=8", "world.rule_length=8")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**24
