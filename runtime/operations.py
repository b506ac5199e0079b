"""Recording of the operations of a function of tensors, and their replay in place.

At replay, results are written to their recorded memory, so nothing is allocated, and views need not be made again.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
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

RECORDER: ContextVar["Recorder | None"] = ContextVar("recorder", default=None)
"""Recorder of the current operations."""


class GuardFailed(Exception):
    """An external value differs from that during recording, so that other operations would follow."""


def as_array(tensor: Tensor) -> NDArray[Any]:
    """Values of a tensor as an array."""
    array: NDArray[Any] = tensor.detach().cpu().numpy()
    return array


@dataclass(frozen=True, kw_only=True, slots=True)
class _Operation:
    """A recorded operation."""

    function: Any
    arguments: Sequence[Any]
    options: Mapping[str, Any]
    made: Mapping[int, Tensor]
    """Results with their own memory, by index among all results."""
    num_results: int
    reads: frozenset[int]
    writes: frozenset[int]
    """Memory that the operation needs, and memory that it changes, including its results."""
    has_effect: bool
    """Whether the operation runs even if its results are unused: it writes into existing memory, or draws numbers."""
    value: Tensor | None
    """Result of the operation, if it is constant."""


class Recorder(TorchDispatchMode):
    """Executes the operations in its block, and records them.

    Args:
        inputs: Tensors that differ between replays.
        max_bytes: Maximum memory of the results of operations.
    """

    def __init__(self, inputs: Sequence[Tensor], max_bytes: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.max_bytes = max_bytes
        self.reason: str | None = None
        """Reason why operations can't be recorded; None: they can."""
        self.inputs = [each.detach().clone() for each in inputs]
        """Copies of the inputs, for use in the block instead of the inputs. Other tensors that were not created in the
        block are used with their values at replay: weights, buffers, generators."""
        self.operations: list[_Operation] = []
        self.num_bytes = 0
        self.written: set[int] = set()
        """Existing memory that operations change."""
        self.kept: list[Tensor] = []
        """Created tensors, kept alive so that their memory is not reused."""
        self.memory: set[int] = set()
        self.aliases: dict[tuple[Any, ...], Tensor] = {}
        """Views without autograd graph of memory allocated in the block, by their layout."""
        self.is_external = False
        """Whether current operations belong to a single operation, which is recorded as a whole."""
        for tensor in self.inputs:
            self._keep(tensor)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in the block, and importing torch's compiler takes seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Execute and record an operation."""
        kwargs = kwargs or {}
        if self.reason is not None or self.is_external or func.namespace == "profiler":
            return func(*args, **kwargs)
        # Before the call: an operation may change the shape of an argument in place.
        arguments, options = tree_map_only(Tensor, self._alias, (args, kwargs))
        result = func(*args, **kwargs)
        if depends_on_values(func, args):
            self.reason = f"{func} depends on values"
        elif self.num_bytes > self.max_bytes:
            self.reason = "results are too large"
        else:
            self._record(func, arguments, options, result)
        if self.reason is not None:
            self.operations.clear()
            self.aliases.clear()
            self.kept.clear()
        return result

    def _record(self, func: Any, arguments: Sequence[Any], options: Mapping[str, Any], result: Any) -> None:
        reads = frozenset(map(_memory, _tensors((arguments, options))))
        results = result if isinstance(result, list | tuple) else (result,)
        made = {
            place: each
            for place, each in enumerate(results)
            if isinstance(each, Tensor) and _memory(each) not in reads | self.memory
        }
        changed = frozenset(_written_memory(func, arguments, options))
        for each in made.values():
            self._keep(each)
        if not (made or changed) or torch.Tag.inplace_view in func.tags:
            return  # views refer to memory that does not move
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
                num_results=len(results),
                reads=reads,
                writes=changed.union(map(_memory, made.values())),
                has_effect=not changed <= self.memory or is_random,
                value=value,
            )
        )

    def __enter__(self) -> "Recorder":
        """Start recording."""
        self.token = RECORDER.set(self)
        super().__enter__()  # type: ignore[no-untyped-call]
        self.watch = _Watch(self)
        self.watch.__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        """Stop recording."""
        self.watch.__exit__(*error)  # type: ignore[no-untyped-call]
        del self.watch  # it would keep the recording alive
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        RECORDER.reset(self.token)

    def external_call(self, function: Callable[..., Arrays], tensors: Sequence[Tensor]) -> list[Tensor]:
        """Call a function of arrays, and record it as one operation; see `external_call`."""
        if not self.written <= self.memory:
            self.reason = "an external call follows a change of existing memory"
        self.is_external = True
        try:
            rooms = [np.array(each) for each in function(*map(as_array, tensors))]
            results = [torch.from_numpy(each) for each in rooms]
        finally:
            self.is_external = False
        arguments = [self._alias(each) for each in tensors]
        for each in results:
            self._keep(each)
        memory = frozenset(map(_memory, results))

        def again() -> None:
            given = function(*(each.numpy() for each in arguments))
            for room, array in zip(rooms, given, strict=True):
                if room.shape != np.shape(array):
                    raise GuardFailed
                room[...] = array

        self.operations.append(
            _Operation(
                function=again, arguments=(), options={}, made={}, num_results=0,
                reads=frozenset(map(_memory, tensors)), writes=memory, has_effect=True, value=None,
            )
        )  # fmt: skip
        return results

    def _keep(self, tensor: Tensor) -> None:
        """Keep a created tensor alive."""
        self.kept.append(tensor)
        self.memory.add(_memory(tensor))
        self.num_bytes += tensor.numel() * tensor.element_size()

    def _alias(self, tensor: Tensor) -> Tensor:
        """Canonical alias of a tensor whose storage was allocated during recording."""
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
        needed, operations = set(outputs), list[_Operation]()
        for operation in reversed(self.operations):
            if operation.value is not None:
                if operation.writes.isdisjoint(self.written | outputs):
                    continue
            elif not operation.has_effect and needed.isdisjoint(operation.writes):
                continue
            needed |= operation.reads
            operations.append(operation)
        try:
            program = _program(operations[::-1], Counter(memory for memory, *_ in self.aliases), self.memory)
        except (AttributeError, NotImplementedError, RuntimeError, TypeError) as error:
            self.reason = " ".join(str(error).split())[:200]
            return None
        inputs = self.inputs

        @torch.no_grad()
        def replay(*given: Tensor) -> Outputs:
            if inputs:
                torch._foreach_copy_(inputs, list(given))
            with _without_rewriting():
                for part in program:
                    part()
            copies = torch._foreach_mul(values, 1) if values else ()
            return dict(zip(names, copies, strict=True)), returned

        return replay


@contextmanager
def _without_rewriting() -> Iterator[None]:
    """Let TorchScript run graphs without rewriting them, and torch's operations without version counters."""
    before = torch._C._get_graph_executor_optimize()
    torch._C._set_graph_executor_optimize(False)
    try:
        with torch._C._AutoDispatchBelowADInplaceOrView():
            yield
    finally:
        torch._C._set_graph_executor_optimize(before)


def _program(
    operations: Sequence[_Operation], num_aliases: Mapping[int, int], memory: Container[int]
) -> list[Callable[[], Any]]:
    """Make functions that replay operations with results in their recorded memory.

    Torch operations become TorchScript graphs, whose interpreter takes a third of Python's time per operation.

    Args:
        operations: Operations in order.
        num_aliases: Number of tensors that share each memory.
        memory: Memory that belongs to the recording.
    """
    program, graph = list[Callable[[], Any]](), _Graph(memory)
    for operation in operations:
        if isinstance(operation.function, torch._ops.OpOverload):
            graph.add(operation, num_aliases)
            continue
        program += [*graph.functions(), operation.function]
        graph = _Graph(memory)
    return program + graph.functions()


class _Graph:
    """A TorchScript graph: tensors of the recording are constants, other tensors are inputs.

    Weights are inputs, since a constant would not follow `weight.data = ...`.

    Args:
        memory: Memory that belongs to the recording.
    """

    def __init__(self, memory: Container[int]) -> None:
        self.graph: Any = torch._C.Graph()
        self.is_empty, self.memory = True, memory
        self.inputs: dict[int, tuple[Tensor, Any]] = {}

    def functions(self) -> list[Callable[[], Any]]:
        """Function that runs the graph's operations; empty without operations."""
        if self.is_empty:
            return []
        self.graph.registerOutput(self.graph.insertConstant(None))
        function = torch._C._create_function_from_graph("recording", self.graph)
        return [partial(function, *(tensor for tensor, _ in self.inputs.values()))]

    def add(self, operation: _Operation, num_aliases: Mapping[int, int]) -> None:
        """Add an operation to the graph."""
        function, arguments, options = operation.function, operation.arguments, operation.options
        made = operation.made
        if operation.value is not None:
            self._node(_COPY, (made[0], operation.value), {})
        elif function.overloadpacket in _COPIES:
            self._node(_COPY, (made[0], arguments[0]), {})
        elif made and (into := _out_variant(function)) is not None and len(into[1]) == len(made):
            self._node(into[0], arguments, {**options, **dict(zip(into[1], made.values(), strict=True))})
        else:
            results = self._node(function, arguments, options)
            if made and len(results) < operation.num_results:  # a single list
                unpack = self.graph.create("prim::ListUnpack", results, operation.num_results)
                results = list(self.graph.insertNode(unpack).outputs())
            for place, tensor in made.items():
                # A result whose memory is not shared may be at a new address each time.
                put = _SET if num_aliases[_memory(tensor)] == 1 else _COPY
                self._node(put, (tensor, results[place]), {})

    def _node(self, function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Any]:
        """Add a call of an operation; returns its results."""
        schema, inputs = function._schema, []
        is_double = any(each.dtype == torch.float64 for each in _tensors((arguments, options)))
        for place, each in enumerate(schema.arguments):
            value = arguments[place] if place < len(arguments) else options.get(each.name, each.default_value)
            inputs.append(
                value if isinstance(value, torch._C.Value) else self._constant(value, each.type, is_double)
            )
        node = self.graph.insertNode(self.graph.create(schema.name, inputs, len(schema.returns)))
        if node.schema() != str(schema):
            raise NotImplementedError(f"TorchScript takes {schema} for {node.schema()}")
        self.is_empty = False
        return list(node.outputs())

    def _constant(self, value: Any, kind: Any, is_double: bool) -> Any:
        """Convert an argument to a constant of a TorchScript type; numbers have the precision of the operation."""
        is_list = isinstance(value, list | tuple)
        if is_list and (not value or "Tensor" in str(kind)):
            parts = [self._constant(each, None, is_double) for each in value]
            node = self.graph.insertNode(self.graph.create("prim::ListConstruct", parts, 1))
            node.output().setType(kind)
            return node.output()
        if isinstance(value, torch.memory_format):
            value = _MEMORY_FORMATS[value]
        elif isinstance(value, float | int) and str(kind) in ("float", "Tensor"):
            is_exact = is_double and isinstance(value, float)
            value = (
                float(value)
                if str(kind) == "float"
                else torch.tensor(value, dtype=torch.float64 if is_exact else None)
            )
        if isinstance(value, Tensor) and _memory(value) not in self.memory:
            if id(value) not in self.inputs:
                self.inputs[id(value)] = (value, self.graph.addInput())
            return self.inputs[id(value)][1]
        return self.graph.insertConstant(tree_map_only(Tensor, _without_gradient, value))


def _without_gradient(tensor: Tensor) -> Tensor:
    """Alias a weight without gradient, as TorchScript graphs require; other tensors are returned unchanged."""
    return tensor.detach() if tensor.requires_grad else tensor


_COPY, _SET = torch.ops.aten.copy_.default, torch.ops.aten.set_.source_Tensor
_COPIES = (torch.ops.aten.clone, torch.ops.aten._to_copy)
"""Operations that copy a tensor, which may write into existing memory."""
_MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}
"""Numbers of memory layouts in TorchScript."""


@cache
def _out_variant(function: Any) -> tuple[Any, Sequence[str]] | None:
    """Variant of an operation that writes into given tensors, and their argument names; None: torch has none."""
    wanted = [(each.name, str(each.type)) for each in function._schema.arguments]
    for name in function.overloadpacket.overloads():
        other = getattr(function.overloadpacket, name)
        results = [each.name for each in other._schema.arguments if each.is_out]
        others = [(each.name, str(each.type)) for each in other._schema.arguments if not each.is_out]
        if results and others == wanted and other.has_kernel_for_dispatch_key(DispatchKey.CPU):
            return other, results
    return None


def _memory(tensor: Tensor) -> int:
    """Identify the memory of a tensor."""
    return int(tensor.untyped_storage()._cdata)


def _tensors(values: Any) -> Iterator[Tensor]:
    """Iterate over all tensors in values."""
    return (each for each in tree_leaves(values) if isinstance(each, Tensor))


def _written_memory(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Iterator[int]:
    """Memory of the arguments that an operation writes into."""
    for place, each in enumerate(function._schema.arguments):
        if each.alias_info is not None and each.alias_info.is_write:
            yield from map(
                _memory, _tensors(arguments[place] if place < len(arguments) else options.get(each.name))
            )


class _Watch(TorchFunctionMode):
    """Detects reads of values without an operation."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in READS and self.recorder.reason is None and not self.recorder.is_external:
            self.recorder.reason = f"{func.__name__} reads values"
        return func(*args, **(kwargs or {}))
