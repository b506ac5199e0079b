"""The whole game: measures of a batch, and gradients of every parameter."""

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def make(*overrides):
    experiment = load_experiment("disc_tiny", overrides)
    world = make_world(experiment)
    torch.manual_seed(0)
    return make_pair(experiment, world), first_rounds(world, 32)


def first_rounds(world, number):
    """The first training examples in their own order, as one batch."""
    return world.batch_of(*world.candidates("train", 0, np.arange(number)))


def noise():
    return torch.Generator().manual_seed(1)


@pytest.mark.parametrize(
    "fixed", [["channel.length=fixed"], ["channel.kind=quantized"], ["channel.kind=continuous"]]
)
def test_a_cost_of_length_that_changes_nothing_is_refused(fixed):
    with pytest.raises(
        ConfigError, match=r"^loss.length_cost: messages of channel \w+ have a fixed length, expected 0"
    ):
        make(*fixed, "loss.length_cost=0.1")
