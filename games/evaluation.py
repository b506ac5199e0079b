"""The figures of agents on the rounds of a split."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from ecsuite.agents.message import Message
from ecsuite.games.channels import Mode
from ecsuite.games.noise import noise_generator
from ecsuite.games.players.players import Players
from ecsuite.games.sections import Experiment
from ecsuite.games.views import SeenRounds
from ecsuite.games.worlds.world import Batch, World

MOST_VALUES = 2**20
"""Of the rounds in which meanings are said once; in further ones they are said again."""
Item = TypeVar("Item")
"""A batch, with what is known of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpokenRounds:
    """A batch of the rounds of a split, with what is said in them."""

    first: int
    """The number of the first round."""
    batch: Batch
    rounds: SeenRounds
    """The rounds as agents see them."""
    messages: Sequence[Message] | None = None
    """What each sender says; None where it is sampled, so that it is not known before."""


def spoken_rounds(players: Players, world: World, split: str, mode: Mode) -> Iterator[SpokenRounds]:
    """The rounds of a split, batch by batch, with what each sender most likely says: of each meaning once.

    Args:
        players: The agents, in evaluation mode.
        world: Has the split.
        split: Which rounds.
        mode: How symbols are chosen: greedy or sample.
    """
    size = world.sizes.evaluation_batch_size
    batches = ((first, world.batch(split, first // size)) for first in range(0, world.num_valid, size))
    drawn = (
        SpokenRounds(first=first, batch=batch, rounds=players.first_pair.rounds(batch))
        for first, batch in batches
    )
    if mode == "sample":
        yield from drawn
        return
    for group in in_groups(drawn, lambda each: sum(map(Tensor.numel, each.rounds.tensors().values()))):
        seen = [(each.rounds.shown, each.rounds.num_positive) for each in group]
        said = [sender.messages(seen) for sender in players.senders]
        for each, *messages in zip(group, *said, strict=True):
            yield replace(each, messages=messages)


def in_groups(items: Iterable[Item], num_values: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Items in groups, in their order, of `MOST_VALUES` values or little more."""
    group, total = list[Item](), 0
    for item in items:
        group.append(item)
        total += num_values(item)
        if total >= MOST_VALUES:
            yield group
            group, total = [], 0
    if group:
        yield group


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
    mode = experiment.evaluation.mode
    for each in spoken_rounds(players, world, split, mode):
        noise = noise_generator(experiment.training.seed, split, each.first, players.device)
        measures.append(players.play_rounds(each.rounds, mode, noise, messages=each.messages).measures)
    players.train()
    # In one table, so that the device is waited for once.
    sizes = [value.numel() for value in measures[0].values()]
    table = torch.stack([torch.cat([value.flatten() for value in each.values()]) for each in measures])
    numbers = np.arange(len(measures))
    weights = np.minimum(size, world.num_valid - numbers * size) / world.num_valid
    # One batch after the other, so that a sum does not depend on how it is divided.
    total = np.zeros(table.shape[1])
    for row, weight in zip(table.double().cpu().numpy(), weights, strict=True):
        total += row * weight
    parts = np.split(total, np.cumsum(sizes)[:-1])
    return players.summary({name: part for name, part in zip(measures[0], parts, strict=True)})
