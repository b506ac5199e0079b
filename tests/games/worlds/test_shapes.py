"""SHAPE: rounds share a pool of images; targets obey, distractors break, and no image is in two batches."""

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.rules import ShapesWorld
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SIZES = ("world.kind=shape", "task.kind=concept", "task.num_targets=20", "task.num_distractors=20",
         "world.images_per_batch=320", "training.batch_size=64")  # fmt: skip


def make(*overrides):
    world = make_world(load_experiment("disc_tiny", [*SIZES, *overrides]))
    assert isinstance(world, ShapesWorld)
    return world


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
