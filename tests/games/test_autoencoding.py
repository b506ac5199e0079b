"""The auto-encoder's task: loss and accuracy by hand, over channels of symbols and of values."""

import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SMALL = ("training.batch_size=4", "sender.hidden_size=8", "receiver.hidden_size=8", "task.hidden_size=0")


def game_of(*overrides):
    experiment = load_experiment("autoencoder", [*SMALL, *overrides])
    world = make_world(experiment)
    return make_pair(experiment, world), world


def test_images_with_too_many_pixels_are_refused(image_folder):
    with pytest.raises(ConfigError, match="at most 16,384 features or pixel values, got 49,152"):
        game_of(
            "world.kind=images", f"world.objects={image_folder}", "world.size=128", "sender.perception=conv"
        )
