"""Selection of device, precision and kernels, and isolation of a computation from its environment."""

import os
import platform
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ecsuite.runtime.compiler import leave_compiler_out
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.runtime.memory import kept_memory
from ecsuite.runtime.provenance import own_commit, processor
from ecsuite.runtime.randomness import initial_weights
from ecsuite.version import __version__

DEVICES = ("auto", "cpu", "cuda", "mps")

PRECISIONS = {"bf16": torch.bfloat16, "tf32": torch.float32, "fp32": torch.float32}
"""Type of activations for each precision; parameters and optimizer states are always fp32.

Factors of matrix products are rounded to bf16 (7 bits of mantissa), tf32 (10 bits; CUDA only), or not at all.
"""
WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
"""Environment variable for separate cuBLAS memory per stream, which makes the order of sums deterministic."""


_is_elsewhere: ContextVar[bool] = ContextVar("is_elsewhere", default=False)


@contextmanager
def planned_elsewhere() -> Iterator[None]:
    """Context for planning work elsewhere: `cuda` counts as available, with native bf16 if there is no GPU here."""
    token = _is_elsewhere.set(True)
    try:
        yield
    finally:
        _is_elsewhere.reset(token)


def require_device_name(name: str) -> None:
    """Raise `ConfigError` if the device name is unknown, whether or not the device is available."""
    look_up("device", name, dict.fromkeys(DEVICES))


def choose_device(name: str) -> torch.device:
    """Choose the device for `auto` (CUDA, else the CPU), `cpu`, `cuda` or `mps` (the GPU of a Mac).

    Raises:
        ConfigError: If the name is unknown or the device is not available.
    """
    require_device_name(name)
    leave_compiler_out()  # all training code calls this function first
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    is_missing = {"cuda": not torch.cuda.is_available(), "mps": not torch.backends.mps.is_available()}
    if is_missing.get(name, False) and not (name == "cuda" and _is_elsewhere.get()):
        raise ConfigError(
            f"device {name}: this machine has no {name.upper()} device that torch can use: try auto"
        )
    return torch.device(name)


def hardware(device: torch.device) -> str:
    """Describe the machine: CUDA device, if used, processor, and number of cores of the machine.

    The number of cores available to the process is not part of it, so that a machine always has the same name.
    """
    number = os.cpu_count() or 1
    name = f"{processor()}, {number} core{'s' * (number > 1)}"
    return f"{torch.cuda.get_device_name(device)}; {name}" if device.type == "cuda" else name


def versions(device: torch.device) -> dict[str, Any]:
    """Versions and hardware that two runs must share to be bit-identical; the commit is None if unknown."""
    return {
        "ecsuite": __version__,
        "commit": own_commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": device.type,
        "hardware": hardware(device),
        "num_threads": torch.get_num_threads(),
    }


def choose_precision(name: str, device: torch.device) -> str:
    """Resolve `auto` to bf16 if the hardware supports bf16 products natively, else to fp32.

    Raises:
        ConfigError: If the precision is tf32 and the device is not CUDA.
    """
    if name == "tf32" and device.type != "cuda":
        raise ConfigError(f"precision tf32: expected a CUDA device, got {device.type}: try fp32 or auto")
    if name != "auto":
        return name
    if device.type == "cuda" and _is_elsewhere.get() and not torch.cuda.is_available():
        return "bf16"
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    if device.type == "mps":
        return "fp32"
    return "bf16" if _cpu_has("avx512_bf16") or _cpu_has("amx_tile") else "fp32"


def products_precision(name: str, device: torch.device) -> str:
    """Precision of fp32 products under `routed_products`, as stated in signatures of results.

    Args:
        name: fp32: factors are never rounded. Any other name: they are rounded if that is faster.
        device: Device of the products.

    Returns:
        tf32 on CUDA, bf16 on CPUs with AMX, else fp32.

    Raises:
        ConfigError: If the precision is tf32 and the device is not CUDA.
    """
    if choose_precision(name, device) == "fp32" or device.type == "mps":
        return "fp32"
    return "tf32" if device.type == "cuda" else "bf16" if _cpu_has("amx_tile") else "fp32"


@contextmanager
def routed_products(device: torch.device, precision: str = "fp32") -> Iterator[None]:
    """Select the fastest implementation of fp32 matrix products; the previous setting is restored on exit.

    On CPU, the setting `medium` selects oneDNN, which is more than twice as fast as the default on some processors. On
    processors with AMX it also rounds factors to bf16, so fp32 keeps the default setting there. On CUDA, factors
    of products and convolutions are rounded to TF32 unless the precision is fp32.

    Args:
        device: Device of the products.
        precision: See `products_precision`; sums are always in fp32.

    Raises:
        ConfigError: If the body uses an operation that MPS lacks; the message names it.
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
        with kept_memory() if device.type == "cpu" else nullcontext():
            yield
    except NotImplementedError as error:
        if device.type != "mps":
            raise
        raise _missing_operation(error) from error
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


@contextmanager
def default_products(device: torch.device) -> Iterator[None]:
    """Use torch's default library for small products inside `routed_products`, if the setting rounds nothing.

    oneDNN takes at least 15 µs to start a product, three times as long as a product of 0.2 million operations takes,
    and an eighth of the time of a product of 8 million.
    """
    if device.type != "cpu" or _cpu_has("amx_tile"):
        yield
        return
    chosen = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(chosen)


def unrounded_products(device: torch.device) -> AbstractContextManager[None]:
    """Compute products in fp32 even on CUDA, where torch by default rounds the factors of convolutions to TF32."""
    return nullcontext() if device.type == "cpu" else routed_products(device)


@contextmanager
def deterministic_kernels(device: torch.device, *, is_asked: bool) -> Iterator[None]:
    """On CUDA, let torch use only deterministic kernels, if `is_asked`; restored on exit.

    On CPU, kernels are always deterministic with a fixed number of threads.

    Raises:
        ConfigError: If CUDA was used before without the memory that this needs, or has no deterministic kernel of an
            operation; the message names it.
    """
    if not is_asked or device.type != "cuda":
        yield
        return
    if WORKSPACE not in os.environ and torch.cuda.is_initialized():
        raise ConfigError(
            f"training.deterministic: set {WORKSPACE}=:4096:8 before this program first uses CUDA"
        )
    os.environ.setdefault(WORKSPACE, ":4096:8")
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.use_deterministic_algorithms(True)
    try:
        yield
    except RuntimeError as error:
        found = re.search(r"(\w+) does not have a deterministic implementation", str(error))
        if found is None:
            raise
        raise ConfigError(
            f"training.deterministic: torch has no deterministic {found[1]}, which an agent needs: train without it, "
            "or on the CPU, which is deterministic"
        ) from error
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@contextmanager
def computing(
    device: torch.device, precision: str = "fp32", *, seed: int, num_threads: int = 1
) -> Iterator[None]:
    """Isolate a computation from global settings of torch, and restore them on exit; other threads wait.

    Args:
        device: Device of the products.
        precision: See `products_precision`.
        seed: Seed of torch's global generators, from which dropout draws.
        num_threads: Number of threads of products on the CPU, on which sums depend.
    """
    with initial_weights(seed, device), routed_products(device, precision), fixed_threads(num_threads):
        yield


@contextmanager
def fixed_threads(number: int) -> Iterator[None]:
    """Compute with this number of threads; the previous number is restored on exit."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy a tensor to a device; the CPU does not wait for CUDA, operations on the device do."""
    # Torch has copied pageable memory when it returns. For MPS this is not guaranteed.
    return tensor.to(device, non_blocking=device.type == "cuda")


def global_generators(device: torch.device) -> list[torch.Generator]:
    """Torch's global generators from which a computation on a device may draw, as dropout does."""
    if device.type == "cuda":
        return [torch.default_generator, torch.cuda.default_generators[device.index]]
    if device.type == "mps":
        return [torch.default_generator, torch.mps._get_default_mps_generator()]
    return [torch.default_generator]


def free_memory(device: torch.device) -> int:
    """Bytes of free memory on a device other than the CPU."""
    if device.type == "cuda":
        torch.cuda.empty_cache()  # reserved but unused memory
        return torch.cuda.mem_get_info()[0]
    torch.mps.empty_cache()
    return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()


def _missing_operation(error: NotImplementedError) -> Exception:
    """Error for an operation that MPS lacks; torch falls back to the CPU only on request."""
    found = re.search(r"operator '([^']+)'", str(error))
    if found is None:
        return error
    return ConfigError(
        f"device mps: torch has no {found[1]} for MPS: set PYTORCH_ENABLE_MPS_FALLBACK=1, so that it is computed "
        "on the CPU, or use the device cpu"
    )


def _cpu_has(feature: str) -> bool:
    """Whether the CPU has a feature according to torch's private functions; False if torch lacks the function."""
    is_supported = getattr(torch.cpu, f"_is_{feature}_supported", None)
    return bool(is_supported is not None and is_supported())
