"""Weights as text, so that a trained agent can be part of a job's cached result."""

import base64
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn


def pack(weights: Mapping[str, Tensor]) -> str:
    """Encode parameters as base64 of their fp32 values, little-endian, in the order of their names."""
    flat = [weights[name].detach().cpu().float().flatten() for name in sorted(weights)]
    numbers = torch.cat(flat).numpy() if flat else np.zeros(0, dtype=np.float32)
    return base64.b64encode(numbers.astype("<f4").tobytes()).decode()


def unpack(text: str, module: nn.Module) -> None:
    """Load parameters that `pack` encoded into a module with the same parameter names and shapes."""
    numbers = torch.from_numpy(np.frombuffer(base64.b64decode(text), dtype="<f4").astype(np.float32))
    named = sorted(module.named_parameters())
    parts = numbers.split([parameter.numel() for _, parameter in named])
    with torch.no_grad():
        for (_, parameter), part in zip(named, parts, strict=True):
            parameter.copy_(part.view_as(parameter))
