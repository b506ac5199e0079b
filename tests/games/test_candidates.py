"""Candidates that are the objects of the batch, and rounds with different numbers of them."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

BATCH = ("training.batch_size=64", "evaluation.num_valid=100", "training.precision=fp32")
IN_BATCH = ("task.kind=in_batch", *BATCH)


def make(*settings, game="disc_tiny"):
    experiment = load_experiment(game, settings)
    torch.manual_seed(0)
    world = make_world(experiment)
    return make_pair(experiment, world), world


def test_gradients_flow_and_messages_decide():
    game, world = make(*IN_BATCH)
    game.play(world.batch("train", 0), "train", torch.Generator().manual_seed(0)).objective.backward()
    assert all(parameter.grad is not None for parameter in game.parameters())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("task.fewest_distractors=3", "expected less than num_distractors, 3, got 3"),
        ("task.sender_input=targets_and_distractors", "expected null if the sender sees the distractors"),
    ],
)
def test_numbers_that_cannot_be_had_are_refused(setting, message):
    with pytest.raises(ConfigError, match=f"task.fewest_distractors: {message}"):
        load_experiment("disc_tiny", ["task.fewest_distractors=1", setting])
