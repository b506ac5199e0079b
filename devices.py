"""Devices and precision: which to use, and how products are routed."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ecsuite.config import ConfigError, unknown_name

DEVICES = ("auto", "cpu", "cuda")

PRECISIONS = {"bf16": torch.bfloat16, "fp32": torch.float32}
"""Precision of products and activations by name; parameters and optimizer states are always fp32."""


def choose_device(name: str) -> torch.device:
    """The device for `auto`, `cpu` or `cuda`.

    Raises:
        ConfigError: If the name is not known or there is no such device.
    """
    if name not in DEVICES:
        raise unknown_name("device", name, DEVICES)
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "--device cuda: this machine has no CUDA device that torch can use; try --device auto"
        )
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def choose_precision(name: str, device: torch.device) -> str:
    """`bf16` or `fp32` as asked for; for `auto`, bf16 where the hardware multiplies it natively."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if _cpu_has("avx512_bf16") or _cpu_has("amx_tile") else "fp32"


@contextmanager
def routed_products(device: torch.device, precision: str = "fp32") -> Iterator[None]:
    """Send fp32 products where they are fastest; afterwards all is as it was.

    On CPU the setting `medium` sends them through oneDNN, which is more than twice as fast as the default on some
    processors. Where the processor has AMX it also rounds their factors to bf16, so there fp32 keeps the default.

    Args:
        device: Where the products are taken.
        precision: fp32: without losing accuracy. bf16: factors may be rounded to bf16 where that is faster; sums stay
            in fp32.
    """
    before = torch.get_float32_matmul_precision()
    cpu_route = "highest" if precision == "fp32" and _cpu_has("amx_tile") else "medium"
    torch.set_float32_matmul_precision("high" if device.type == "cuda" else cpu_route)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _cpu_has(feature: str) -> bool:
    """Whether torch says so; torch has no public name for this, so one that is gone counts as no."""
    ask = getattr(torch.cpu, f"_is_{feature}_supported", None)
    return bool(ask is not None and ask())
