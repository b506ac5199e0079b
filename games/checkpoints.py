"""Checkpoints: everything that is needed to resume a run, in one safetensors file with a checksum.

No random state is saved: the examples, their order and the channel's noise are pure functions of the seed and the
step. A checkpoint is written to a temporary file and renamed, and the previous one is kept.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ecsuite.files.tensor_files import optimizer_tensors, read_tensors, restore_optimizer, write_tensors
from ecsuite.runtime.errors import DamagedError

NUM_KEPT = 2
"""Number of checkpoints kept: the newest, and the previous one in case the newest is damaged."""


def save_checkpoint(
    folder: Path,
    step: int,
    state: Mapping[str, Tensor],
    optimizer: torch.optim.Optimizer | None,
    **values: Any,
) -> None:
    """Write a checkpoint of a play and its optimizer after `step` steps, then remove all but the newest two.

    Args:
        folder: The run folder.
        step: Steps done.
        state: The tensors of the play.
        optimizer: Its state is saved; None: nothing is trained.
        **values: Further values to save, JSON-serialisable.
    """
    tensors = {f"model.{name}": tensor for name, tensor in state.items()}
    tensors |= {} if optimizer is None else optimizer_tensors(optimizer)
    write_tensors(folder / f"checkpoint-{step:09d}.safetensors", tensors, {"step": step, **values})
    remove_old_checkpoints(folder)


def remove_old_checkpoints(folder: Path) -> None:
    """Remove all but the newest two."""
    for old in checkpoints(folder)[NUM_KEPT:]:
        old.unlink()


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run folder, newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def newest_step(folder: Path) -> int:
    """The number of steps of the newest checkpoint, which may be damaged; 0 if there is none."""
    steps = [file.stem.removeprefix("checkpoint-") for file in checkpoints(folder)]
    return max((int(step) for step in steps if step.isdecimal()), default=0)


def load_checkpoint(
    folder: Path,
    restore: Callable[[Mapping[str, Tensor]], object],
    note: Callable[[str], None],
    optimizer: torch.optim.Optimizer | None = None,
) -> dict[str, Any] | None:
    """Restore a play and its optimizer from the newest undamaged checkpoint.

    Args:
        folder: The run folder.
        restore: Takes the tensors of the play.
        note: Told of each damaged checkpoint.
        optimizer: Takes its state.

    Returns:
        The values saved beside the tensors, including `step`; None if there is no checkpoint.

    Raises:
        DamagedError: If there are checkpoints and all are damaged.
    """
    found = _first_undamaged(folder, note, lambda tensors: _restore(tensors, restore, optimizer))
    return None if found is None else found[1]


def newest_weights(folder: Path, note: Callable[[str], None]) -> dict[str, Tensor] | None:
    """The weights in the newest undamaged checkpoint, by name; `note` is told of each damaged one.

    Returns:
        None if there is no checkpoint.

    Raises:
        DamagedError: If there are checkpoints and all are damaged.
    """
    found = _first_undamaged(folder, note, lambda tensors: None)
    return None if found is None else weights_in(found[0])


def _first_undamaged(
    folder: Path, note: Callable[[str], None], use: Callable[[Mapping[str, Tensor]], None]
) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Tensors and values of the newest checkpoint that can be read and used; see `load_checkpoint`."""
    found = checkpoints(folder)
    for file in found:
        try:
            tensors, values = read_tensors(file)
            use(tensors)
        except DamagedError as error:
            note(f"{file.name} is damaged: {error}; trying the previous checkpoint")
        else:
            return tensors, values
    if found:
        raise DamagedError(f"{folder}: none of its {len(found)} checkpoints can be read; nothing was changed")
    return None


def weights_in(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those tensors of a checkpoint that are the model's."""
    return {name.removeprefix("model."): each for name, each in tensors.items() if name.startswith("model.")}


def _restore(
    tensors: Mapping[str, Tensor],
    restore: Callable[[Mapping[str, Tensor]], object],
    optimizer: torch.optim.Optimizer | None,
) -> None:
    """Load the tensors of a checkpoint into a play and its optimizer."""
    try:
        restore(weights_in(tensors))
    except (RuntimeError, KeyError):
        raise DamagedError("its tensors do not fit this model") from None
    if optimizer is not None:
        restore_optimizer(optimizer, tensors)
