"""Pairs that play at one step get the rounds that each would get alone."""

from collections import Counter

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.engine.optimizers import Optimise
from ecsuite.games.plays.population import make_population
from ecsuite.games.worlds.world import make_world


def test_weights_without_a_say_have_no_gradient():
    """A hierarchical receiver of one symbol makes no second step, so that the map between steps has none."""
    changes = ["society.senders=2", "receiver=hier", "channel.max_len=1", "channel.length=fixed"]
    experiment = load_experiment("disc_tiny", changes)
    players = make_population(experiment, make_world(experiment))
    optimise = Optimise(experiment.optimizer, players)
    found = players.train_on(0, 0, 0, optimise.gradients)
    assert {each is None for each in found.gradients} == {True, False}


class Operations(TorchDispatchMode):
    """Counts operations by name."""

    def __init__(self):
        super().__init__()
        self.counts = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.counts[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


def operations_of(number):
    """The operations of a step of so many pairs, each of agents of its own, without the noise of each."""
    pairs = ", ".join(f"[{each}, {each}]" for each in range(number))
    experiment = load_experiment(
        "disc_tiny",
        [
            f"society.senders={number}", f"society.receivers={number}",
            f"society.meets={{kind: list, pairs: [{pairs}]}}",
        ],
    )  # fmt: skip
    players = make_population(experiment, make_world(experiment))
    optimise = Optimise(experiment.optimizer, players)
    with Operations() as operations:
        players.train_on(0, 0, 0, optimise.gradients)
    drawn = ("empty", "exponential_", "clamp_", "log_", "neg_")
    return {name: count for name, count in operations.counts.items() if name not in drawn}


@pytest.mark.slow
def test_more_pairs_side_by_side_take_no_more_operations_but_for_their_noise():
    few, many = operations_of(3), operations_of(6)
    more = {name: (few.get(name, 0), count) for name, count in many.items() if count > few.get(name, 0)}
    assert set(more) <= {"select", "unbind", "detach", "view", "alias", "chunk", "split"}, more  # views
