"""What a training takes at least, asked for before it begins: a run that cannot fit is refused with what to change."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path

import torch
from torch import nn

from ecsuite.files.disk_space import free_space, require_space
from ecsuite.games.checkpoints import NUM_KEPT
from ecsuite.games.players.pair import make_pair
from ecsuite.games.players.players import Players, make_players
from ecsuite.games.sections import ROLES, Experiment
from ecsuite.games.worlds.world import World
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.memory import free_memory, size_text

NUMBER = 4
"""Bytes of a number in fp32."""
LARGE = 2048
"""Agents whose options are all smaller are not looked at: their weights take some hundred megabytes at most."""
HUGE = 2**31
"""From such a size on a layer may have more numbers than torch can count."""
FIGURE = 8
"""Bytes of a measure of a round of evaluation, of which chance levels need all."""
NUM_MOMENTS = {"adam": 2, "adamw": 2}
"""Numbers that an optimizer keeps for each weight; others are counted as keeping none."""


def require_weights(experiment: Experiment, world: World) -> None:
    """Refuse agents whose weights do not fit into the free memory, before they are made.

    Agents of the user's own are not looked at: they would be made twice.

    Raises:
        ConfigError: If they do not fit; the message says what is needed, what is free, and what to change.
    """
    parts, society = (experiment.sender, experiment.receiver, experiment.channel), experiment.society
    is_many = max(map(society.number, ROLES)) >= LARGE and society.shares == "nothing"
    if experiment.code or (max(map(_largest, parts)) < LARGE and not is_many):
        return
    try:
        with torch.device("meta"):
            if is_many:  # which would take long to make
                pair = make_pair(experiment, world)
                sides = zip(ROLES, (pair.speaker, pair.listener), strict=True)
                weights = sum(society.number(role) * num_weights(side) for role, side in sides)
            else:
                weights = num_weights(make_players(experiment, world))
    except (TypeError, RuntimeError, OverflowError):
        if max(map(_largest, parts)) < HUGE:
            raise
        raise ConfigError(
            f"{experiment.name}: no memory has room for agents of such sizes: choose smaller ones"
        ) from None
    needed = NUMBER * (2 * weights + weights * _num_moments(experiment))
    if needed > (free := free_memory()):
        raise ConfigError(
            f"{experiment.name}: needs at least {size_text(needed)} of memory for {weights:,} weights, and "
            f"{size_text(free)} are free: choose {'fewer' if is_many else 'smaller'} agents"
            f"{'' if is_many else ', such as a smaller hidden_size'}"
        )


def require_resources(
    experiment: Experiment,
    players: Players,
    folder: Path,
    device: torch.device,
    note: Callable[[str], None],
) -> None:
    """Refuse a training whose batches do not fit into the free memory, or whose files do not fit on the disk.

    Args:
        experiment: What is trained.
        players: Its agents.
        folder: The run folder.
        device: Where it is trained; only of the CPU the free memory is asked for.
        note: Is told where the disk will be full before the training ends.

    Raises:
        ConfigError: If it cannot fit; the message says what is needed, what is free, and what to change.
    """
    batch_size, channel = experiment.training.batch_size, players.channel
    needed = 2 * NUMBER * batch_size * channel.max_len * channel.symbol_size  # scores and their gradients
    if device.type == "cpu" and needed > (free := free_memory()):
        raise ConfigError(
            f"{experiment.name}: batches of {batch_size:,} need at least {size_text(needed)} of memory, and "
            f"{size_text(free)} are free: choose a smaller training.batch_size"
        )
    num_valid = experiment.evaluation.num_valid
    if FIGURE * num_valid > (free := free_memory()):
        raise ConfigError(
            f"evaluation.num_valid: measures of {num_valid:,} rounds need at least {size_text(FIGURE * num_valid)} of "
            f"memory, and {size_text(free)} are free: choose fewer"
        )
    checkpoint = NUMBER * num_weights(players) * (1 + _num_moments(experiment))
    corpus = 2 * experiment.evaluation.corpus_size  # an empty list and a line end for each message
    require_space(checkpoint + corpus, folder, "for a checkpoint and the corpus")
    if (NUM_KEPT + 1) * checkpoint > (space := free_space(folder)):
        note(
            f"{folder}: {NUM_KEPT + 1} checkpoints of {size_text(checkpoint)} do not fit on the disk, on which "
            f"{size_text(space)} are free: the training may stop for want of room"
        )


def num_weights(agents: nn.Module) -> int:
    """The number of weights of agents."""
    return sum(parameter.numel() for parameter in agents.parameters())


def _num_moments(experiment: Experiment) -> int:
    return NUM_MOMENTS.get(experiment.optimizer.kind, 0)


def _largest(part: object) -> int:
    """The largest number among the options of a part, at any depth."""
    if isinstance(part, int):
        return part
    if is_dataclass(part) and not isinstance(part, type):
        return max((_largest(getattr(part, each.name)) for each in fields(part)), default=0)
    return 0
