"""The pretended device, as long as a context is open.

Finds: operations over tensors of two devices; `.numpy()` of a tensor of the device; generators of another device;
products of integers, which CUDA lacks; operations that torch refuses where deterministic ones are asked for; on MPS,
numbers of 64 bits; and it counts by line how often the processor waits for the device, and what is started there.

Can't find: wrong or slow kernels; rounding, as of TF32; indices out of bounds; races of copies that nothing waits for;
memory; what `torch.compile` makes (it does nothing here); which kernel attention takes; the numbers that the device's
generators draw; what processes do that were started by a test. `torch.inference_mode` is `torch.no_grad` here.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
from torch.utils import _foreach_utils

from pretended_cuda import native
from pretended_cuda.generators import Generator
from pretended_cuda.graphs import Graph, capturing
from pretended_cuda.log import Log
from pretended_cuda.tensors import Operations, Pretended


def _returns(value):
    return lambda *_, **__: value


@contextmanager
def pretended(kind="cuda", *, has_bf16=True, memory=(2**34, 2**34), missing=()) -> Iterator[Log]:
    """As if there were one such device, cuda or mps.

    Args:
        kind: cuda or mps.
        has_bf16: Whether the device has products of bf16.
        memory: Free and total bytes that it reports.
        missing: Names of operations that an MPS device lacks.
    """
    pretend = native.load().pretend
    pretend(native.TYPES[kind])
    log, place, generator = Log(), torch.device(kind, 0), Generator(kind)
    with ExitStack() as stack:
        enter = stack.enter_context
        stack.callback(pretend, native.TYPES["cpu"])
        torch._C._set_only_lift_cpu_tensors(True)  # a tensor made of numbers is a copy, and is seen here
        stack.callback(torch._C._set_only_lift_cpu_tensors, False)
        swap = torch.__future__.set_swap_module_params_on_conversion  # parameters stay the same objects when moved
        swap(True)
        stack.callback(swap, False)
        enter(patch.object(torch, "Generator", Generator))
        enter(patch.object(torch.nn.Module, "compile", _returns(None)))
        enter(patch.object(torch.inference_mode, "__enter__", _no_gradients))
        enter(patch.object(torch.inference_mode, "__exit__", _gradients_as_before))
        enter(
            patch.object(
                _foreach_utils, "_foreach_supported_types",
                [*_foreach_utils._foreach_supported_types, Pretended],
            )
        )  # fmt: skip
        drawn = {
            "manual_seed": generator.manual_seed,
            "get_rng_state": lambda *_: generator.get_state(),
            "set_rng_state": lambda state, *_: generator.set_state(state), "empty_cache": _returns(None),
            "synchronize": _returns(None), "device_count": _returns(1),
        }  # fmt: skip
        if kind == "cuda":
            says = {
                "is_available": True, "is_initialized": True, "current_device": 0, "_lazy_init": None,
                "is_bf16_supported": has_bf16, "get_device_capability": (9, 0), "get_device_name": "pretended",
                "mem_get_info": memory, "max_memory_allocated": 0, "reset_peak_memory_stats": None,
            }  # fmt: skip
            says = {name: _returns(value) for name, value in says.items()}
            says |= {"manual_seed_all": generator.manual_seed, "default_generators": (generator,)}
            enter(patch.multiple(torch.cuda, **drawn, **says))
        else:
            says = {
                "recommended_max_memory": _returns(memory[0]),
                "driver_allocated_memory": _returns(0),
                "_get_default_mps_generator": _returns(generator),
            }
            enter(patch.multiple(torch.mps, **drawn, **says))
            enter(patch.object(torch.backends.mps, "is_available", _returns(True)))
            enter(patch.object(torch.backends.mps, "is_macos_or_newer", _returns(True)))
            # Torch's own chooses a kernel by the type of device, and the CPU's build knows none for MPS.
            enter(patch.object(torch.nn.functional, "scaled_dot_product_attention", _attention))
        operations = Operations(log, place, generator, missing)
        if kind == "cuda":
            made = {"CUDAGraph": Graph, "graph": capturing(operations), "graph_pool_handle": object}
            enter(patch.multiple(torch.cuda, **made))
            enter(patch.object(torch._C, "_cuda_endAllocateToPool", _returns(None), create=True))
        enter(operations)
        yield log


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **options):
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(~attn_mask, -torch.inf)
    attend = torch.ops.aten._scaled_dot_product_attention_math
    return attend(query, key, value, attn_mask, dropout_p, is_causal, **options)[0]


def _no_gradients(self):
    self.before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)


def _gradients_as_before(self, *_):
    torch.set_grad_enabled(self.before)
