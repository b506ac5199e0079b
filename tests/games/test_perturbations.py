"""Each agent's own view of objects in training, and the control with objects of noise."""

import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.tasks.views import shifted
from ecsuite.games.worlds.world import make_world

DIGITS = ("training.batch_size=4", "sender.hidden_size=8", "receiver.hidden_size=8")


def game_of(name, *overrides):
    experiment = load_experiment(name, overrides)
    world = make_world(experiment)
    return make_pair(experiment, world), world, experiment


def test_shifted_images_come_in_at_the_other_side():
    images = torch.zeros(3, 6, 6, 3)
    images[:, 0, 1] = 1.0
    moved = shifted(images, torch.tensor([[0.5, 0.99, 0.0], [0.5, 0.5, 0.99]]), 2)
    assert [each[..., 0].nonzero().tolist() for each in moved] == [[[0, 1]], [[2, 1]], [[4, 3]]]


@pytest.mark.parametrize("option", ["noise=0.5", "brightness=0.5"])
def test_objects_are_perturbed_in_training_only_and_for_each_agent_anew(option):
    both = [f"{role}.perception.{option}" for role in ("sender", "receiver")]
    game, world, _ = game_of("digits", *DIGITS, *both)
    view = game.rounds(world.batch("train", 0)).shown
    seen = [
        side.perturbation(view.features, torch.Generator().manual_seed(seed))
        for side, seed in ((game.speaker, 0), (game.speaker, 0), (game.listener, 1))
    ]
    assert torch.equal(seen[0], seen[1]) and not torch.equal(seen[0], seen[2])
    assert not torch.equal(seen[0], view.features) and seen[0].shape == view.features.shape
    if option.startswith("brightness"):
        is_lit = view.features > 0
        factors = (seen[0] / view.features)[is_lit]
        assert 0.5 <= factors.min() < 0.9 < factors.max() <= 1.5
    game.eval()
    assert game.speaker.perturbation(view.features, None) is view.features
