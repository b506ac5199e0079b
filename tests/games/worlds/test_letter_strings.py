"""Strings of two letters: what agents see of them, how often both letters are equally many, and who is asked for it."""

import numpy as np
import pytest
import torch

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.players.pair import make_pair
from ecsuite.games.worlds.world import make_world
from ecsuite.runtime.errors import ConfigError


def load(*overrides):
    return load_experiment("summation", ["training.batch_size=8", *overrides])


def make(*overrides):
    return make_world(load(*overrides))


def test_a_string_is_its_letters_and_zeros_after_them():
    world = make("world.max_count=3")
    seen = world.features(torch.tensor([[0, 0], [2, 1]]), torch.float32)
    a, b, end = [1, 0], [0, 1], [0, 0]
    assert seen.unflatten(1, (-1, 2)).tolist() == [[a, b, end, end, end, end], [a, a, a, b, b, end]]
    assert world.object_shape == (12,) and world.num_values == (3, 3)
    assert world.value_names == [["a=1", "a=2", "a=3"], ["b=1", "b=2", "b=3"]]
    assert world.objects.values(world.distinct_meanings(100)).tolist() == [
        [m, n] for m in range(3) for n in range(3)
    ]


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_equal_counts_have_their_share(share):
    world = make("world.max_count=4", f"world.share_equal={share}")
    candidates = world.objects.values(world.candidates("train", 0, np.arange(8000))[0])
    is_equal = candidates[:, 0, 0] == candidates[:, 0, 1]
    assert is_equal.mean() == pytest.approx(share, abs=0.02)
    counts = np.unique(candidates[~is_equal, 0], axis=0, return_counts=True)[1]
    assert len(counts) == 12 and counts.std() < 0.1 * counts.mean()


def test_the_receiver_is_asked_whether_counts_are_equal():
    experiment = load("world.share_equal=0.25", "evaluation.num_valid=2048")
    world = make_world(experiment)
    game = make_pair(experiment, world)
    batch = world.batch("train", 0)
    counts = batch.values[batch.shown[:, 0]]
    right = game.round_parts(batch)[1].values
    assert right.tolist() == [[int(m == n)] for m, n in counts]
    played = game.play(batch, "train", torch.Generator().manual_seed(0))
    assert 0 <= played.measures["accuracy"] <= 1 and played.objective.isfinite()
    # Always "not equal" is right in three rounds of four.
    assert game.task.chance()["accuracy"] == pytest.approx(0.75, abs=0.03)


def test_equality_is_asked_of_any_attributes():
    experiment = load_experiment("disc_tiny", ["task.kind=reconstruction", "task.asked=equality"])
    world = make_world(experiment)
    task = make_pair(experiment, world).task
    values = torch.tensor([[1, 1, 1], [1, 1, 2], [0, 0, 0]])
    assert task.asked_values(values).tolist() == [[1], [0], [1]]
    assert task.values(torch.zeros(1, 5, task.decode.in_features)).shape == (1, 5, 1)


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
