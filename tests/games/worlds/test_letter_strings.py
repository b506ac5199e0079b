"""Strings of two letters: what agents see of them, how often both letters are equally many, and who is asked for it."""

import numpy as np
import pytest

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def load(*overrides):
    return load_experiment("summation", ["training.batch_size=8", *overrides])


def make(*overrides):
    return make_world(load(*overrides))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["world.share_equal=0"], "world.share_equal: expected a number between 0 and 1, got 0"),
        (["world.max_count=1"], "world.max_count: expected int >= 2, got 1"),
        (["task.num_known=1"], "num_known: expected 0 with asked=equality"),
        (["sender.perception.width=3"], "perception.width: expected a divisor of the 40 features of an object, got 3"),
        (["sender.perception.cell=gruu"], "cell"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(overrides, message):
    with pytest.raises(ConfigError, match=message):
        make_pair(load(*overrides), make(*overrides))


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_equal_counts_have_their_share(share):
    world = make("world.max_count=4", f"world.share_equal={share}")
    candidates = world.objects.values(world.candidates("train", 0, np.arange(8000))[0])
    is_equal = candidates[:, 0, 0] == candidates[:, 0, 1]
    assert is_equal.mean() == pytest.approx(share, abs=0.02)
    counts = np.unique(candidates[~is_equal, 0], axis=0, return_counts=True)[1]
    assert len(counts) == 12 and counts.std() < 0.1 * counts.mean()
