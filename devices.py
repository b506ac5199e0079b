"""Selection of device and precision, and of the implementation of fp32 matrix products."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ecsuite.config import ConfigError, unknown_name

DEVICES = ("auto", "cpu", "cuda")

PRECISIONS = {"bf16": torch.bfloat16, "fp32": torch.float32}
"""Precision of matrix products and activations by name; parameters and optimizer states are always fp32."""


def choose_device(name: str) -> torch.device:
    """The device for `auto`, `cpu` or `cuda`.

    Raises:
        ConfigError: If the name is unknown or the device is not available.
    """
    if name not in DEVICES:
        raise unknown_name("device", name, DEVICES)
    if name == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "--device cuda: this machine has no CUDA device that torch can use; try --device auto"
        )
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def choose_precision(name: str, device: torch.device) -> str:
    """Resolve `auto` to bf16 where the hardware supports bf16 products natively, else to fp32."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    return "bf16" if _cpu_has("avx512_bf16") or _cpu_has("amx_tile") else "fp32"


def products_precision(name: str, device: torch.device) -> str:
    """The precision that fp32 products have under `routed_products`; this is what results are signed with.

    Args:
        name: fp32: factors are never rounded. Any other name: they are rounded where that is faster.
        device: Device of the products.

    Returns:
        tf32 on CUDA (factors of 10 bits after the point), bf16 on CPUs with AMX (7 bits), else fp32.
    """
    if name == "fp32":
        return name
    return "tf32" if device.type == "cuda" else "bf16" if _cpu_has("amx_tile") else "fp32"


@contextmanager
def routed_products(device: torch.device, precision: str = "fp32") -> Iterator[None]:
    """Select the fastest implementation of fp32 matrix products; the previous setting is restored on exit.

    On CPU the setting `medium` selects oneDNN, which is more than twice as fast as the default on some processors. On
    processors with AMX it also rounds the factors to bf16, so there fp32 keeps the default setting. On CUDA the factors
    of products and convolutions are rounded to TF32 unless the precision is fp32.

    Args:
        device: Device of the products.
        precision: See `products_precision`; sums are always in fp32.
    """
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    is_exact = precision == "fp32"
    if device.type == "cuda":
        setting = "highest" if is_exact else "high"
        torch.backends.cudnn.allow_tf32 = not is_exact
    else:
        setting = "highest" if is_exact and _cpu_has("amx_tile") else "medium"
    torch.set_float32_matmul_precision(setting)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


@contextmanager
def computing(
    device: torch.device, precision: str = "fp32", *, seed: int, num_threads: int = 1
) -> Iterator[None]:
    """Fix what a computation must not take from its surroundings, and restore it on exit.

    Args:
        device: Device of the products.
        precision: See `products_precision`.
        seed: Seed of torch's global generators, from which dropout draws.
        num_threads: Threads of products on the CPU; sums depend on their number.
    """
    devices = [torch.cuda.current_device()] if device.type == "cuda" else []
    with (
        routed_products(device, precision),
        torch.random.fork_rng(devices=devices),
        fixed_threads(num_threads),
    ):
        torch.manual_seed(seed)
        yield


@contextmanager
def fixed_threads(number: int) -> Iterator[None]:
    """Compute with this number of threads; the previous one is restored on exit."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _cpu_has(feature: str) -> bool:
    """Whether the CPU has a feature according to torch's private functions; False if torch lacks the function."""
    is_supported = getattr(torch.cpu, f"_is_{feature}_supported", None)
    return bool(is_supported is not None and is_supported())
