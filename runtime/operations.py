"""The operations of a function of tensors, as they are made, and made again where they were.

Each writes its result where it was the first time, so that nothing is allocated, and that views need not be made again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._C import DispatchKey
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from ecsuite.runtime.graphs import Outputs, depends_on_values

READS = frozenset((Tensor.tolist, Tensor.numpy, Tensor.__array__))
"""Methods that read values of tensors without an operation of torch."""

Arrays = Sequence[NDArray[Any]]

RECORDER: ContextVar["Recorder | None"] = ContextVar("what records", default=None)
"""Recorder of the current operations."""


class OtherAnswerError(Exception):
    """An external value differs from that during recording, so that other operations would follow."""


def as_array(tensor: Tensor) -> NDArray[Any]:
    """The values of a tensor."""
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


@dataclass(frozen=True, kw_only=True, slots=True)
class _Operation:
    """An operation of a recording."""

    function: Any
    arguments: Sequence[Any]
    options: Mapping[str, Any]
    made: Mapping[int, Tensor]
    """The results that have memory of their own, by their place among all results."""
    reads: frozenset[int]
    writes: frozenset[int]
    """Memory that it needs, and that it changes, also that of its results."""
    has_effect: bool
    """Whether it is made even if nobody needs its results: it writes into what was there before, or draws numbers."""
    value: Tensor | None
    """Its result, if that is always the same."""


class Recorder(TorchDispatchMode):
    """Makes the operations in its block, and records them.

    Args:
        inputs: Tensors that will be others when the recording is called.
        max_bytes: Most memory of the results of operations.
    """

    def __init__(self, inputs: Sequence[Tensor], max_bytes: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.max_bytes = max_bytes
        self.reason: str | None = None
        """Why they can't be recorded; None: they can."""
        self.inputs = [each.detach().clone() for each in inputs]
        """Copies of the inputs, to be used in the block instead of them. All other tensors that were not created in the
        block are used with their values at replay: weights, buffers, generators."""
        self.operations: list[_Operation] = []
        self.num_bytes = 0
        self.written: set[int] = set()
        """Memory that operations change which did not make it."""
        self.kept: list[Tensor] = []
        """Created tensors, kept alive so that no two have the same memory."""
        self.memory: set[int] = set()
        self.aliases: dict[tuple[Any, ...], Tensor] = {}
        """Tensors without a graph of autograd of the memory that was made, by what they are of it."""
        self.is_outside = False
        """Whether what is made now belongs to one operation, which is recorded as a whole."""
        for tensor in self.inputs:
            self._keep(tensor)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in the block, and torch would import its compiler, which takes seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make an operation."""
        kwargs = kwargs or {}
        if self.reason is not None or self.is_outside or func.namespace == "profiler":
            return func(*args, **kwargs)
        # As the arguments are now: an operation may change the shape of one in place.
        arguments, options = tree_map_only(Tensor, self._alias, (args, kwargs))
        result = func(*args, **kwargs)
        if depends_on_values(func, args):
            self.reason = f"{func} depends on values"
        elif self.num_bytes > self.max_bytes:
            self.reason = "results are large"
        else:
            self._record(func, arguments, options, result)
        if self.reason is not None:
            self.operations.clear()
            self.aliases.clear()
            self.kept.clear()
        return result

    def _record(self, func: Any, arguments: Sequence[Any], options: Mapping[str, Any], result: Any) -> None:
        reads = frozenset(map(_memory, _tensors((arguments, options))))
        made = {
            place: each
            for place, each in enumerate(_tensors(result))
            if _memory(each) not in reads | self.memory
        }
        changed = frozenset(_changed(func, arguments, options))
        for each in made.values():
            self._keep(each)
        if not (made or changed) or torch.Tag.inplace_view in func.tags:
            return  # views are of memory that stays where it is
        is_random = torch.Tag.nondeterministic_seeded in func.tags
        name, value = func.overloadpacket.__name__, None
        if name.startswith("empty") or name in ("new_empty", "new_empty_strided"):
            return
        is_same = not reads or name.endswith("_like") or name.startswith("new_")
        if is_same and not changed and not is_random:
            value = made[0].detach().clone()
        self.written |= changed
        self.operations.append(
            _Operation(
                function=func,
                arguments=arguments,
                options=options,
                made={place: self._alias(each) for place, each in made.items()},
                reads=reads,
                writes=changed.union(map(_memory, made.values())),
                has_effect=not changed <= self.memory or is_random,
                value=value,
            )
        )

    def __enter__(self) -> "Recorder":
        """Record from now on."""
        self.token = RECORDER.set(self)
        super().__enter__()  # type: ignore[no-untyped-call]
        self.watch = _Watch(self)
        self.watch.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        """Record no more."""
        self.watch.__exit__(*error)  # type: ignore[no-untyped-call]
        del self.watch  # which would keep what was recorded
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        RECORDER.reset(self.token)

    def outside(self, function: Callable[..., Arrays], tensors: Sequence[Tensor]) -> list[Tensor]:
        """Call a function of arrays, and record it as one operation; see `outside`."""
        if not self.written <= self.memory:
            self.reason = "what is outside is asked after something was changed"
        self.is_outside = True
        try:
            rooms = [np.array(each) for each in function(*map(as_array, tensors))]
            results = [torch.from_numpy(each) for each in rooms]
        finally:
            self.is_outside = False
        arguments = [self._alias(each) for each in tensors]
        for each in results:
            self._keep(each)
        memory = frozenset(map(_memory, results))

        def again() -> None:
            given = function(*(each.numpy() for each in arguments))
            for room, array in zip(rooms, given, strict=True):
                if room.shape != np.shape(array):
                    raise OtherAnswerError
                room[...] = array

        self.operations.append(
            _Operation(
                function=again, arguments=(), options={}, made={}, reads=frozenset(map(_memory, tensors)),
                writes=memory, has_effect=True, value=None,
            )
        )  # fmt: skip
        return results

    def _keep(self, tensor: Tensor) -> None:
        """Note what was made."""
        self.kept.append(tensor)
        self.memory.add(_memory(tensor))
        self.num_bytes += tensor.numel() * tensor.element_size()

    def _alias(self, tensor: Tensor) -> Tensor:
        """The tensor of its memory, if that was made here, for all that are the same of it."""
        if _memory(tensor) not in self.memory:
            return tensor
        key = (_memory(tensor), tensor.size(), tensor.stride(), tensor.storage_offset(), tensor.dtype)
        if key not in self.aliases:
            self.aliases[key] = tensor.detach()
        return self.aliases[key]

    def function(
        self, figures: Mapping[str, Tensor], tensors: Sequence[Tensor | None]
    ) -> Callable[..., Outputs] | None:
        """A function that replays the recorded operations on new inputs; None if recording failed."""
        if self.reason is not None:
            return None
        names, values = tuple(figures), [self._alias(each) for each in figures.values()]
        returned = [None if each is None else self._alias(each) for each in tensors]
        outputs = frozenset(map(_memory, _tensors((values, returned))))
        num_aliases = Counter(memory for memory, *_ in self.aliases)
        needed, program = set(outputs), list[Callable[[], Any]]()
        for operation in reversed(self.operations):
            if operation.has_effect or not needed.isdisjoint(operation.writes):
                if operation.value is None:
                    needed |= operation.reads
                    program.append(_again(operation, num_aliases))
                elif not operation.writes.isdisjoint(self.written | outputs):
                    program.append(partial(operation.made[0].copy_, operation.value))
        program.reverse()
        inputs = self.inputs

        @torch.no_grad()
        def replay(*given: Tensor) -> Outputs:
            if inputs:
                torch._foreach_copy_(inputs, list(given))
            for operation in program:
                operation()
            copies = torch._foreach_mul(values, 1) if values else ()
            return dict(zip(names, copies, strict=True)), returned

        return replay


def _again(operation: _Operation, num_aliases: Mapping[int, int]) -> Callable[[], Any]:
    """Makes an operation again, with its results where they were the first time."""
    if not isinstance(operation.function, torch._ops.OpOverload):
        outside_again: Callable[[], Any] = operation.function
        return outside_again
    function, made = (
        partial(operation.function._op, *operation.arguments, **operation.options),
        operation.made,
    )
    if not made:
        return function
    if (into := _into(operation.function)) is not None and len(into[1]) == len(made):
        results = dict(zip(into[1], made.values(), strict=True))
        return partial(into[0], *operation.arguments, **operation.options, **results)
    # Where nothing else is of its memory, a result may lie elsewhere each time.
    put: dict[int, Any] = {
        place: tensor.set_ if num_aliases[_memory(tensor)] == 1 else tensor.copy_
        for place, tensor in made.items()
    }

    def again() -> None:
        results = list(_tensors(function()))
        for place, each in put.items():
            each(results[place])

    return again


@cache
def _into(function: Any) -> tuple[Callable[..., Any], Sequence[str]] | None:
    """The form of an operation that writes results into tensors, and their names in it; None: torch has none."""
    wanted = [(each.name, str(each.type)) for each in function._schema.arguments]
    for name in function.overloadpacket.overloads():
        other = getattr(function.overloadpacket, name)
        results = [each.name for each in other._schema.arguments if each.is_out]
        others = [(each.name, str(each.type)) for each in other._schema.arguments if not each.is_out]
        if results and others == wanted and other.has_kernel_for_dispatch_key(DispatchKey.CPU):
            return other._op, results
    return None


def _memory(tensor: Tensor) -> int:
    """Which memory a tensor is of."""
    return int(tensor.untyped_storage()._cdata)


def _tensors(values: Any) -> Iterator[Tensor]:
    """All tensors in values."""
    return (each for each in tree_leaves(values) if isinstance(each, Tensor))


def _changed(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Iterator[int]:
    """The memory of the arguments that an operation writes into."""
    for place, each in enumerate(function._schema.arguments):
        if each.alias_info is not None and each.alias_info.is_write:
            yield from map(
                _memory, _tensors(arguments[place] if place < len(arguments) else options.get(each.name))
            )


class _Watch(TorchFunctionMode):
    """Notices what reads values without an operation."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in READS and self.recorder.reason is None and not self.recorder.is_outside:
            self.recorder.reason = f"{func.__name__} reads values"
        return func(*args, **(kwargs or {}))
