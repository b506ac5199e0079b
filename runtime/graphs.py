"""Graphs of CUDA: the kernels of a function of tensors, which the GPU then starts by itself.

A step of training is some hundred to thousand kernels of a few microseconds, and the processor takes up to ten times as
long to start each. A graph holds them with their arguments and starts them all at once. It is made of one call, so it
has the same kernels at every call, with the same weights, buffers and generators: those stay where they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

Outputs = tuple[Mapping[str, Tensor], Sequence[Tensor | None]]
"""Figures, and what is used before the next call."""


class Survey(TorchDispatchMode):
    """Watches a call on CUDA: from which generators it draws, and why no graph can be made of it.

    Torch itself refuses what waits for the device. It does not see what is read from the processor's memory, which
    would be read again, from the same place, whatever has become of it.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.generators: dict[int, torch.Generator] = {}
        self.reason: str | None = None
        """Why there can be no graph; None: nothing is known against it."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in the block, and torch would import its compiler, which takes seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make an operation."""
        result = func(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs, result))
        # Numbers come as tensors of the CPU without dimensions, and a graph keeps them.
        places = {
            leaf.is_cuda for leaf in leaves if isinstance(leaf, Tensor) and (leaf.is_cuda or leaf.dim())
        }
        if True in places:
            self.generators |= {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Generator)}
        if len(places) > 1:
            self.reason = f"{func} is of tensors of the CPU and of CUDA"
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
    """Call a function, and make a graph of it.

    Args:
        function: As `Recorded` needs it. It is called twice; the second time no kernel runs, only Python.
        inputs: The tensors, on CUDA.
        pool: Memory that graphs share of which one is called at a time; see `torch.cuda.graph_pool_handle`.
        optimizer: One that makes a step in the function.
        staying: The inputs that will in general be the same tensors, which the graph may then read and change where
            they are; others are copied.
        is_surveyed: Whether it may draw from generators of its own, or read the processor's memory; what is compiled
            should not be watched, or it is compiled anew for that.

    Returns:
        The outputs, and what computes them of other inputs of the same shapes; or why there is no graph, as text.
    """
    places = set(map(id, staying))
    kept = [each if id(each) in places else each.detach().clone() for each in inputs]
    survey = Survey()
    with survey if is_surveyed else nullcontext():
        outputs = _copied(function(*kept))
    if survey.reason is not None:
        return outputs, survey.reason
    graph = torch.cuda.CUDAGraph()
    for generator in survey.generators.values():
        graph.register_generator_state(generator)
    try:
        with _capturable(optimizer), torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
            figures, tensors = function(*kept)
    except RuntimeError as error:  # an operation waits for the device, or needs more memory than there is
        _forget_capture(pool, survey.generators.values())
        return outputs, " ".join(str(error).split())[:200]
    names, told = tuple(figures), list(figures.values())
    # A graph writes into the state of an optimizer, also if that was given up: then it must not be memory of others.
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
    """Let torch draw and take memory as before, after a capture that failed, of which it goes on otherwise."""
    place = torch.cuda.current_device()
    for generator in (torch.cuda.default_generators[place], *generators):
        generator.graphsafe_set_state(generator.clone_state())
    with suppress(RuntimeError):  # where it failed before memory was taken, or torch has done this
        torch._C._cuda_endAllocateToPool(place, pool)


@torch.no_grad()
def _copied(outputs: Outputs) -> Outputs:
    """Outputs that nothing overwrites."""
    figures, tensors = outputs
    copies = [None if each is None else each.detach().clone() for each in tensors]
    return dict(zip(figures, _copies(list(figures.values())), strict=True)), copies


def _copies(values: list[Tensor]) -> Sequence[Tensor]:
    """Copies of tensors, by few kernels."""
    return torch._foreach_mul(values, 1) if values else ()


@contextmanager
def _capturable(optimizer: torch.optim.Optimizer | None) -> Any:
    """Let torch make a graph of a step of an optimizer whose state is on the device."""
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
    """Whether an operation reads values, or the shape of its result depends on them."""
    if func.overloadpacket is torch.ops.aten.index:
        return any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1])
    return torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags
