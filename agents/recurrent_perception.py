"""A perception that reads an object piece by piece: for strings, and for objects of attributes."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from ecsuite.agents.cells import RecurrentCell
from ecsuite.agents.gates import State
from ecsuite.agents.options import PerceptionOptions
from ecsuite.agents.perception import Perception
from ecsuite.agents.registry import CELLS
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError, look_up


class RecurrentPerception(Perception):
    """A recurrent encoder of an object's features, cut into pieces of equal width; its vector is the last state.

    A piece of zeros is not read: a string ends with its last letter.

    Raises:
        ConfigError: If the features can't be cut into such pieces.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(PerceptionOptions):
        """Options of a recurrent perception."""

        size: Count = 60
        """Width of the vectors: that of the cell's state."""
        cell: str = "gru"
        """Name of the cell, see `ecsuite list`."""
        width: Count = 1
        """Features that are read at a time: 2 for strings of two letters, world.num_values for an attribute."""

        def __post_init__(self) -> None:
            """Check that there is such a cell; `ConfigError` if not."""
            look_up("cell", self.cell, CELLS.parts)

    takes_images = False

    def __init__(
        self, options: Options, *, object_shape: tuple[int, ...], state_size: int | None = None
    ) -> None:
        super().__init__()
        if object_shape[0] % options.width:
            raise ConfigError(
                f"perception.width: expected a divisor of the {object_shape[0]} features of an object, "
                f"got {options.width}"
            )
        self.width, self.out_features = options.width, options.size
        self.cell = cast(RecurrentCell, CELLS.load(options.cell)(options.width, options.size))

    def forward(self, inputs: Tensor) -> Tensor:
        """(num_objects, num_features) to (num_objects, size)."""
        step = self.cell.unroll(inputs.dtype)
        state: State = self.cell.start(inputs.new_zeros(len(inputs), self.out_features))
        for piece in inputs.unflatten(1, (-1, self.width)).unbind(1):
            is_read = (piece != 0).any(1, keepdim=True)
            state = tuple(
                torch.where(is_read, new, old) for new, old in zip(step(piece, state), state, strict=True)
            )
        return self.cell.summary(state)
