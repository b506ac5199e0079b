"""Strings of two letters: what agents see of them, how often both letters are equally many, and who is asked for it."""

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.worlds.world import make_world


def make(*overrides):
    return make_world(load_experiment("summation", ["training.batch_size=8", *overrides]))


def test_a_string_is_its_letters_and_zeros_after_them():
    world = make("world.max_count=3")
    seen = world.features(torch.tensor([[0, 0], [2, 1]]), torch.float32)
    a, b, end = [1, 0], [0, 1], [0, 0]
    assert seen.unflatten(1, (-1, 2)).tolist() == [[a, b, end, end, end, end], [a, a, a, b, b, end]]


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_equal_counts_have_their_share(share):
    world = make("world.max_count=4", f"world.share_equal={share}")
    candidates = world.objects.values(world.candidates("train", 0, np.arange(8000))[0])
    is_equal = candidates[:, 0, 0] == candidates[:, 0, 1]
    assert is_equal.mean() == pytest.approx(share, abs=0.02)
    counts = np.unique(candidates[~is_equal, 0], axis=0, return_counts=True)[1]
    assert len(counts) == 12 and counts.std() < 0.1 * counts.mean()
