"""The GPUs of this machine, by the names that `CUDA_VISIBLE_DEVICES` takes; nothing is started on them."""

import os

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The environment variable by which CUDA chooses devices; read when a process first uses CUDA."""


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that this process may use: those of `CUDA_VISIBLE_DEVICES`, else all, as `0`, `1`."""
    chosen = os.environ.get(VISIBLE)
    if chosen is not None:
        names = [name.strip() for name in chosen.split(",") if name.strip()]
        # As CUDA reads it: what follows an invalid number is not visible.
        return tuple(names[: names.index("-1")] if "-1" in names else names)
    import torch

    return tuple(str(number) for number in range(torch.cuda.device_count()))
