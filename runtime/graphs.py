"""CUDA graphs: kernels of a function of tensors that are launched together.

A training step consists of a hundred to a thousand kernels of a few microseconds, and the CPU takes up to ten times as
long to launch each kernel. A graph launches all of them at once. It is captured from one call, so it
has the same kernels in every call, with the same weights, buffers and generators, which must not move in memory.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Outputs = tuple[Mapping[str, Tensor], Sequence[Tensor | None]]
"""Figures, and tensors that are used before the next call."""


class Survey(TorchDispatchMode):
    """Monitors a call on CUDA: its random generators, and reasons why it can't be captured as a graph.

    Torch itself rejects synchronisation with the device. It does not detect reads of CPU memory, which
    would be read again at the same address, whatever its content.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.generators: dict[int, torch.Generator] = {}
        self.reason: str | None = None
        """Reason why there can be no graph; None: no reason known."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in the block, and importing torch's compiler takes seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Execute an operation."""
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs, result))
        # Python numbers are CPU tensors without dimensions, which a graph stores.
        places = {
            leaf.is_cuda for leaf in leaves if isinstance(leaf, Tensor) and (leaf.is_cuda or leaf.dim())
        }
        if True in places:
            self.generators |= {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Generator)}
        if len(places) > 1:
            self.reason = f"{func} combines tensors of the CPU and of CUDA"
        elif depends_on_values(func, args):
            self.reason = f"{func} depends on values"
        return result


def captured(
    function: Callable[..., Outputs],
    inputs: Sequence[Tensor],
    pool: Any = None,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    staying: Sequence[Tensor] = (),
    is_surveyed: bool = True,
) -> tuple[Outputs, Callable[..., Outputs] | str]:
    """Call a function, and capture it as a CUDA graph.

    Args:
        function: See `Recorded`. It is called twice; the second time only Python runs, without kernels.
        inputs: Input tensors on CUDA.
        pool: Memory shared by graphs that are not called concurrently; see `torch.cuda.graph_pool_handle`.
        optimizer: Optimizer that makes a step in the function.
        staying: Inputs that are usually the same tensors, which the graph may read and change in
            place; other inputs are copied.
        is_surveyed: Whether the function may use its own generators, or read CPU memory; compiled functions
            should not be monitored, as they would be recompiled.

    Returns:
        Outputs, and a function of other inputs of equal shapes, or the reason why there is no graph, as text.
    """
    places = set(map(id, staying))
    kept = [each if id(each) in places else each.detach().clone() for each in inputs]
    survey = Survey()
    with survey if is_surveyed else nullcontext():
        outputs = _copy_outputs(function(*kept))
    if survey.reason is not None:
        return outputs, survey.reason
    graph = torch.cuda.CUDAGraph()
    for generator in survey.generators.values():
        graph.register_generator_state(generator)
    try:
        with _capturable(optimizer), torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            figures, tensors = function(*kept)
    except RuntimeError as error:  # an operation synchronises, or needs too much memory
        _forget_capture(pool, survey.generators.values())
        return outputs, " ".join(str(error).split())[:200]
    names, told = tuple(figures), list(figures.values())
    # A graph writes into the optimizer's state, even after it was dropped: keep that memory alive.
    held = [] if optimizer is None else [tuple(state.values()) for state in optimizer.state.values()]

    @torch.no_grad()
    def replay(*given: Tensor, _: object = held) -> Outputs:
        other = [(room, each) for room, each in zip(kept, given, strict=True) if room is not each]
        if other:
            rooms, values = zip(*other, strict=True)
            torch._foreach_copy_(rooms, values)
        graph.replay()
        return dict(zip(names, _copies(told), strict=True)), tensors

    return outputs, replay


def _forget_capture(pool: Any, generators: Iterable[torch.Generator]) -> None:
    """Reset torch's random numbers and memory after a failed capture, so that the run can continue."""
    place = torch.cuda.current_device()
    for generator in (torch.cuda.default_generators[place], *generators):
        generator.graphsafe_set_state(generator.clone_state())
    with suppress(RuntimeError):  # the capture failed before allocation, or torch has reset it
        torch._C._cuda_endAllocateToPool(place, pool)


@torch.no_grad()
def _copy_outputs(outputs: Outputs) -> Outputs:
    """Copy outputs, so that they are not overwritten."""
    figures, tensors = outputs
    copies = [None if each is None else each.detach().clone() for each in tensors]
    return dict(zip(figures, _copies(list(figures.values())), strict=True)), copies


def _copies(values: list[Tensor]) -> Sequence[Tensor]:
    """Copy tensors with few kernels."""
    return torch._foreach_mul(values, 1) if values else ()


@contextmanager
def _capturable(optimizer: torch.optim.Optimizer | None) -> Any:
    """Allow graphs of an optimizer step whose state is on the device."""
    groups = [] if optimizer is None else [group for group in optimizer.param_groups if "capturable" in group]
    before = [group["capturable"] for group in groups]
    for group in groups:
        group["capturable"] = True
    try:
        yield
    finally:
        for group, value in zip(groups, before, strict=True):
            group["capturable"] = value


def depends_on_values(func: Any, args: Any) -> bool:
    """Whether an operation reads values, or its result's shape depends on values."""
    if func.overloadpacket is torch.ops.aten.index:
        return any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1])
    return torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags
