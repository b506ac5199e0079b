"""Checkpoints of the training loop: everything that a killed training needs to go on bit-identically.

A checkpoint holds the trained parameters, the state of the optimizer, the position in the data, and the states of all
generators: now, and before the present epoch was drawn, so that its order can be drawn again.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ecsuite.files.tensor_files import optimizer_tensors, read_tensors, restore_optimizer, write_tensors
from ecsuite.runtime.errors import DamagedError

CHECKPOINT_SECONDS = 60.0
"""Default seconds between checkpoints."""
MAX_COST = 0.03
"""Largest share of the time that checkpoints may take; large models are saved less often."""

MOMENTS = ("before_epoch", "now")
"""The moments of a position at which the states of the generators are kept."""

Generator = torch.Generator | np.random.Generator


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """Where a training saves its state, and how often."""

    file: Path
    """The file; its folder is made if it is missing."""
    key: str = ""
    """Identifies the training, if the name of the file does not; a file with another key is ignored."""
    seconds: float = CHECKPOINT_SECONDS
    """Least time between two checkpoints; 0 saves after every update."""
    note: Callable[[str], None] = lambda _: None
    """Called with a message if a file is there and cannot be used."""


@dataclass(kw_only=True, slots=True)
class Position:
    """How far a training has come."""

    num_updates: int = 0
    """Updates made."""
    done: int = 0
    """Units of data used, as in the total of the training."""
    num_batches: int = 0
    """Batches of the present epoch that were used."""
    before_epoch: list[Tensor] = field(default_factory=list)
    """States of the generators before the present epoch was drawn."""
    now: list[Tensor] = field(default_factory=list)
    """States of the generators when the position was saved."""


class Saver:
    """Saves and restores one training.

    Args:
        checkpoint: Where and how often.
        identity: What the training is, JSON values; a checkpoint of another identity is ignored.
        parameters: The trained parameters.
        optimizer: Their optimizer.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        identity: Mapping[str, Any],
        parameters: Sequence[nn.Parameter],
        optimizer: torch.optim.Optimizer,
    ) -> None:
        self.checkpoint, self.parameters, self.optimizer = checkpoint, parameters, optimizer
        shapes = [list(parameter.shape) for parameter in parameters]
        self.identity = {"key": checkpoint.key, "shapes": shapes, **identity}
        self._next = time.monotonic() + checkpoint.seconds

    @property
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return time.monotonic() >= self._next

    def save(self, position: Position) -> None:
        """Write a checkpoint atomically in place of the previous one."""
        began = time.monotonic()
        tensors: dict[str, Tensor] = {
            f"parameter.{index}": each for index, each in enumerate(self.parameters)
        }
        tensors |= optimizer_tensors(self.optimizer)
        for moment in MOMENTS:
            states = getattr(position, moment)
            tensors |= {f"{moment}.{index}": state for index, state in enumerate(states)}
        counts = [position.num_updates, position.done, position.num_batches]
        values = {"training": self.identity, "torch": torch.__version__, "counts": counts}
        self.checkpoint.file.parent.mkdir(parents=True, exist_ok=True)
        write_tensors(self.checkpoint.file, tensors, values)
        ended, seconds = time.monotonic(), self.checkpoint.seconds
        self._next = ended + (max(seconds, (ended - began) / MAX_COST) if seconds else 0.0)

    @torch.no_grad()
    def restore(self) -> Position | None:
        """Give parameters and optimizer the saved state; None, with a note, if there is none that can be used."""
        file = self.checkpoint.file
        if not file.is_file():
            return None
        try:
            tensors, values = read_tensors(file)
            if values.get("torch") != torch.__version__:
                raise DamagedError("it is of another version of torch")
            if values.get("training") != self.identity:
                raise DamagedError("it is of another training")
            position = self._checked_position(tensors, values)
        except (DamagedError, OSError) as error:
            self.checkpoint.note(f"{file}: not a usable checkpoint ({error}); the training starts anew")
            return None
        for index, parameter in enumerate(self.parameters):
            parameter.copy_(tensors[f"parameter.{index}"])
        restore_optimizer(self.optimizer, tensors)
        return position

    def _checked_position(self, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> Position:
        """The position of a checkpoint; `DamagedError` if something is missing, or does not fit the training."""
        optimized = [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
        owners = {"parameter": self.parameters, "optimizer": optimized}
        missing = {f"parameter.{index}" for index in range(len(self.parameters))}.difference(tensors)
        try:
            for name, tensor in tensors.items():
                owner, index, *key = name.split(".")
                if owner in owners and key != ["step"] and tensor.shape != owners[owner][int(index)].shape:
                    missing.add(name)
            num_updates, done, num_batches = map(int, values["counts"])
            states = {
                moment: [tensors[f"{moment}.{index}"] for index in range(self.identity["generators"])]
                for moment in MOMENTS
            }
        except (KeyError, IndexError, TypeError, ValueError):
            raise DamagedError("it is not whole") from None
        if missing:
            raise DamagedError(f"{min(missing)} does not fit this training")
        return Position(num_updates=num_updates, done=done, num_batches=num_batches, **states)


def states_of(generators: Sequence[Generator]) -> list[Tensor]:
    """The states of generators as bytes."""
    return [
        generator.get_state()
        if isinstance(generator, torch.Generator)
        else torch.tensor(list(json.dumps(generator.bit_generator.state).encode()), dtype=torch.uint8)
        for generator in generators
    ]


def set_states(generators: Sequence[Generator], states: Sequence[Tensor]) -> None:
    """Give generators the states that `states_of` returned."""
    for generator, state in zip(generators, states, strict=True):
        if isinstance(generator, torch.Generator):
            generator.set_state(state)
        else:
            generator.bit_generator.state = json.loads(bytes(state.tolist()))
