"""States of a backbone that is not trained, computed once for all epochs: in memory, or beyond a limit in a file."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ecsuite.runtime.errors import ConfigError

MOST_IN_MEMORY = 2**30
"""Most bytes of states that are held on the device."""


class FrozenStates:
    """The states of rows, each (length, width) in fp32; the same numbers whether they are in memory or in a file.

    Args:
        states: Number and states of each row, in any order.
        num_bytes: Size of all states.
        folder: Where the file is made if they are more than fit in memory; it goes with the process.

    Raises:
        ConfigError: If the disk has not so much room.
    """

    def __init__(self, states: Iterable[tuple[int, Tensor]], num_bytes: int, folder: Path) -> None:
        self._in_memory: dict[int, Tensor] = {}
        self._places: dict[int, tuple[int, torch.Size]] = {}
        self._file = None
        if num_bytes <= MOST_IN_MEMORY:
            self._in_memory = {row: each.clone() for row, each in states}
            return
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        if free < num_bytes:
            raise ConfigError(
                f"{folder}: the states of the training examples take {num_bytes / 1e9:.1f} GB of disk, "
                f"{free / 1e9:.1f} GB are free; choose a folder on another disk with --cache, or fewer examples"
            )
        self._file = tempfile.TemporaryFile(dir=folder)
        weakref.finalize(self, self._file.close)
        for row, each in states:
            self._places[row] = (self._file.tell(), each.shape)
            self._file.write(each.cpu().numpy().tobytes())
        self._file.flush()

    def take(self, rows: Sequence[int], device: torch.device) -> list[Tensor]:
        """The states of some rows, on a device."""
        if self._file is None:
            return [self._in_memory[row] for row in rows]
        return [self._read(*self._places[row]).to(device) for row in rows]

    def _read(self, start: int, shape: torch.Size) -> Tensor:
        assert self._file is not None
        values = np.empty(tuple(shape), dtype=np.float32)
        if os.preadv(self._file.fileno(), [values.data], start) != values.nbytes:
            raise OSError(f"{self._file.name}: a file of states is shorter than it was")
        return torch.from_numpy(values)
