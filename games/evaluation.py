"""The figures of agents on the rounds of a split."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from ecsuite.games.noise import noise_generator
from ecsuite.games.players.players import Players
from ecsuite.games.sections import Experiment
from ecsuite.games.worlds.world import World


@torch.no_grad()
def evaluate(
    players: Players,
    world: World,
    experiment: Experiment,
    split: str = "valid",
) -> dict[str, float]:
    """Means over the examples of a split: loss (nats), accuracy, length, and the task's own metrics.

    Args:
        players: The agents.
        world: Has the split.
        experiment: The evaluation's mode and seed.
        split: Which examples.
    """
    measures: list[Mapping[str, Tensor]] = []
    size = world.sizes.evaluation_batch_size
    players.eval()
    num_batches = -(-world.num_valid // size)
    for number in range(num_batches):
        noise = noise_generator(experiment.training.seed, split, number * size, players.device)
        measures.append(players.play(world.batch(split, number), experiment.evaluation.mode, noise).measures)
    players.train()
    # In one table, so that the device is waited for once.
    sizes = [value.numel() for value in measures[0].values()]
    table = torch.stack([torch.cat([value.flatten() for value in each.values()]) for each in measures])
    numbers = np.arange(num_batches)
    weights = np.minimum(size, world.num_valid - numbers * size) / world.num_valid
    # One batch after the other, so that a sum does not depend on how it is divided.
    total = np.zeros(table.shape[1])
    for row, weight in zip(table.double().cpu().numpy(), weights, strict=True):
        total += row * weight
    parts = np.split(total, np.cumsum(sizes)[:-1])
    return players.summary({name: part for name, part in zip(measures[0], parts, strict=True)})
