"""Tensors and JSON values in one safetensors file with a checksum, and the state of an optimizer as tensors."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from ecsuite.files.atomic_files import write_atomically
from ecsuite.runtime.errors import DamagedError
from ecsuite.runtime.memory import require_memory

COPIES = 2.0
"""Peak memory per byte of a file while it is read: its bytes and its tensors."""


def write_tensors(file: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Write tensors, on any device, and JSON-serialisable values atomically; equal content gives equal bytes."""
    stored, places = {}, set()
    for name, tensor in tensors.items():
        each = tensor.detach().cpu().contiguous()
        # safetensors rejects tensors that share memory, so shared parameters are cloned.
        stored[name] = each.clone() if each.data_ptr() in places else each
        places.add(each.data_ptr())
    text = json.dumps(values, sort_keys=True)
    # One entry, because safetensors writes several entries in any order.
    write_atomically(file, save(stored, metadata={"ecsuite": f"{digest_of(stored, text)} {text}"}))


def read_tensors(file: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the values of a file, and verify its checksum.

    Raises:
        ConfigError: If reading needs more memory than is allowed.
        DamagedError: If the file is damaged, or was not written by `write_tensors`.
    """
    require_memory(COPIES * file.stat().st_size, file)
    data = file.read_bytes()
    try:
        tensors = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        digest, _, text = header["__metadata__"]["ecsuite"].partition(" ")
        if digest != digest_of(tensors, text):
            raise DamagedError("its checksum does not match its content")
        return tensors, dict(json.loads(text))
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError(str(error)) from None


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of an optimizer, named `optimizer.INDEX.NAME`."""
    return {
        f"optimizer.{index}.{name}": tensor
        for index, entries in optimizer.state_dict()["state"].items()
        for name, tensor in entries.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Give an optimizer the state that `optimizer_tensors` returned; other tensors are ignored."""
    # Fused Adam reads a weight and its moments in memory order, so they must have the same strides.
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    states: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        owner, _, rest = name.partition(".")
        if owner == "optimizer":
            index, _, key = rest.partition(".")
            parameter = parameters[int(index)]
            fits = tensor.shape == parameter.shape
            states.setdefault(int(index), {})[key] = (
                torch.empty_like(parameter).copy_(tensor) if fits else tensor
            )
    optimizer.load_state_dict({"state": states, "param_groups": optimizer.state_dict()["param_groups"]})


def digest_of(tensors: Mapping[str, Tensor], text: str = "") -> str:
    """SHA-256 of tensors with their names and shapes, and of a text."""
    digest = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.numpy().data)
    return digest.hexdigest()
