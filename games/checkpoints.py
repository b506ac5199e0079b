"""Checkpoints: everything that is needed to resume a run, in one safetensors file with a checksum.

No random state is saved: the examples, their order and the channel's noise are pure functions of the seed and the
step. A checkpoint is written to a temporary file and renamed, and the previous one is kept.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from ecsuite.config import DamagedError
from ecsuite.corpus import write_atomically

RENAMED = {"question.": "receiver_projection.", "task.encode.": "receiver_perception."}
"""Present names of weights by the names that version 0.1.0 gave them."""
NUM_KEPT = 2
"""Number of checkpoints kept: the newest, and the previous one in case the newest is damaged."""


def save_checkpoint(
    folder: Path, step: int, model: nn.Module, optimizer: torch.optim.Optimizer, **state: Any
) -> None:
    """Write a checkpoint, then remove all but the newest two.

    Args:
        folder: The run folder.
        step: Steps done.
        model: Its parameters and buffers are saved.
        optimizer: Its state is saved.
        **state: Further values to save; they must be JSON-serialisable.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for index, entries in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": tensor for name, tensor in entries.items()}
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    values = json.dumps({"step": step, **state}, sort_keys=True)
    # One entry, because safetensors writes several in any order, and equal runs make equal bytes.
    metadata = {"ecsuite": f"{_digest(tensors, values)} {values}"}
    write_atomically(folder / f"checkpoint-{step:09d}.safetensors", save(tensors, metadata=metadata))
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
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, note: Callable[[str], None]
) -> dict[str, Any] | None:
    """Restore the newest undamaged checkpoint.

    Args:
        folder: The run folder.
        model: Receives parameters and buffers.
        optimizer: Receives its state.
        note: Called with a message for each damaged checkpoint that is skipped.

    Returns:
        The values saved beside the tensors, including `step`; None if there is no checkpoint.

    Raises:
        DamagedError: If there are checkpoints and all are damaged.
    """
    found = checkpoints(folder)
    for file in found:
        try:
            tensors, values = _read(file)
            _restore(tensors, model, optimizer)
        except DamagedError as error:
            note(f"{file.name} is damaged: {error}; trying the previous checkpoint")
        else:
            return values
    if found:
        raise DamagedError(f"{folder}: none of its {len(found)} checkpoints can be read; nothing was changed")
    return None


def _read(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the other values of one checkpoint, after checking its checksum."""
    data = file.read_bytes()
    try:
        tensors = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        digest, _, values = header["__metadata__"]["ecsuite"].partition(" ")
        if digest != _digest(tensors, values):
            raise DamagedError("its checksum does not match its content")
        return tensors, json.loads(values)
    except (SafetensorError, KeyError, ValueError) as error:
        raise DamagedError(str(error)) from None


def _restore(tensors: dict[str, Tensor], model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Load the tensors of a checkpoint into the model and the optimizer."""
    weights, states = {}, dict[int, dict[str, Tensor]]()
    for name, tensor in tensors.items():
        owner, _, rest = name.partition(".")
        if owner == "model":
            for former, present in RENAMED.items():
                rest = present + rest.removeprefix(former) if rest.startswith(former) else rest
            weights[rest] = tensor
        else:
            index, _, key = rest.partition(".")
            states.setdefault(int(index), {})[key] = tensor
    try:
        model.load_state_dict(weights)
    except RuntimeError:
        raise DamagedError("its tensors do not fit this model") from None
    # Fused Adam reads a weight and its moments in memory order, so they must have the same strides.
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, state in states.items():
        for name, tensor in state.items():
            if tensor.shape == parameters[number].shape:
                state[name] = torch.empty_like(parameters[number]).copy_(tensor)
    optimizer.load_state_dict({"state": states, "param_groups": optimizer.state_dict()["param_groups"]})


def _digest(tensors: dict[str, Tensor], values: str) -> str:
    """SHA-256 of everything in a checkpoint."""
    digest = hashlib.sha256(values.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
