"""The auto-encoder's task: loss and accuracy by hand, over channels of symbols and of values."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.tasks.tasks import Truth
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError

SMALL = ("training.batch_size=4", "sender.hidden_size=8", "receiver.hidden_size=8", "task.hidden_size=0")


def game_of(*overrides):
    experiment = load_experiment("autoencoder", [*SMALL, *overrides])
    world = make_world(experiment)
    return make_pair(experiment, world), world


def test_loss_is_the_squared_error_and_accuracy_is_whether_the_right_object_is_nearest():
    game, _ = game_of()
    targets = torch.eye(64)[:3]
    rebuilt = torch.stack([targets[0], targets[2], targets[2] * 0.5])
    game.task.rebuild = torch.nn.Identity()
    output = game.task(rebuilt[None], Truth(labels=torch.ones(3, 1), values=None, features=targets))
    torch.testing.assert_close(output.loss, torch.tensor([[0.0, 2 / 64, 0.25 / 64]]))
    assert output.measures["accuracy"].tolist() == [[1.0, 0.0, 1.0]]
    assert game.task.chance()["accuracy"] == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize("channel", ["gumbel", "reinforce", "variational", "continuous"])
def test_every_channel_can_carry_it(channel):
    game, world = game_of(f"channel.kind={channel}")
    batch = world.batch("train", 0)
    features = game.round_parts(batch)[1].features
    assert torch.equal(features, torch.from_numpy(batch.objects[batch.shown[:, 0]]))
    game.play(batch, "train", torch.Generator().manual_seed(0)).objective.backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in game.parameters())


def test_images_with_too_many_pixels_are_refused(image_folder):
    with pytest.raises(ConfigError, match="at most 16,384 features or pixel values, got 49,152"):
        game_of(
            "world.kind=images", f"world.objects={image_folder}", "world.size=128", "sender.perception=conv"
        )
