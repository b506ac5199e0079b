"""The operations of a function of tensors, as they are made, and made again where they were.

Each writes its result where it was the first time, so that nothing is allocated, and that views need not be made again.
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
    num_results: int
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
        results = result if isinstance(result, list | tuple) else (result,)
        made = {
            place: each
            for place, each in enumerate(results)
            if isinstance(each, Tensor) and _memory(each) not in reads | self.memory
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
                num_results=len(results),
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
                function=again, arguments=(), options={}, made={}, num_results=0,
                reads=frozenset(map(_memory, tensors)), writes=memory, has_effect=True, value=None,
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
            with _interpreted():
                for part in program:
                    part()
            copies = torch._foreach_mul(values, 1) if values else ()
            return dict(zip(names, copies, strict=True)), returned

        return replay


@contextmanager
def _interpreted() -> Iterator[None]:
    """Let TorchScript run graphs as they are, which it would else rewrite, and torch's operations note no versions."""
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
    """Make operations again, with their results where they were the first time.

    Those of torch are graphs of TorchScript, whose interpreter takes a third of the time that Python takes for each.

    Args:
        operations: The operations, in their order.
        num_aliases: The number of tensors of each memory.
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
    """A graph of TorchScript, whose tensors are constants, and inputs where they are not of the recording.

    Weights are inputs, since a constant would not follow `weight.data = ...`.

    Args:
        memory: Memory that belongs to the recording.
    """

    def __init__(self, memory: Container[int]) -> None:
        self.graph: Any = torch._C.Graph()
        self.is_empty, self.memory = True, memory
        self.inputs: dict[int, tuple[Tensor, Any]] = {}

    def functions(self) -> list[Callable[[], Any]]:
        """The function that makes its operations; none if there are none."""
        if self.is_empty:
            return []
        self.graph.registerOutput(self.graph.insertConstant(None))
        function = torch._C._create_function_from_graph("recording", self.graph)
        return [partial(function, *(tensor for tensor, _ in self.inputs.values()))]

    def add(self, operation: _Operation, num_aliases: Mapping[int, int]) -> None:
        """Add an operation."""
        function, arguments, options = operation.function, operation.arguments, operation.options
        made = operation.made
        if operation.value is not None:
            self._node(_COPY, (made[0], operation.value), {})
        elif function.overloadpacket in _COPIES:
            self._node(_COPY, (made[0], arguments[0]), {})
        elif made and (into := _into(function)) is not None and len(into[1]) == len(made):
            self._node(into[0], arguments, {**options, **dict(zip(into[1], made.values(), strict=True))})
        else:
            results = self._node(function, arguments, options)
            if made and len(results) < operation.num_results:  # one list
                unpack = self.graph.create("prim::ListUnpack", results, operation.num_results)
                results = list(self.graph.insertNode(unpack).outputs())
            for place, tensor in made.items():
                # Where nothing else is of its memory, a result may lie elsewhere each time.
                put = _SET if num_aliases[_memory(tensor)] == 1 else _COPY
                self._node(put, (tensor, results[place]), {})

    def _node(self, function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Sequence[Any]:
        """Add a call of an operation, and return its results."""
        schema, inputs = function._schema, []
        for place, each in enumerate(schema.arguments):
            value = arguments[place] if place < len(arguments) else options.get(each.name, each.default_value)
            inputs.append(value if isinstance(value, torch._C.Value) else self._constant(value, each.type))
        node = self.graph.insertNode(self.graph.create(schema.name, inputs, len(schema.returns)))
        if node.schema() != str(schema):
            raise NotImplementedError(f"TorchScript takes {schema} for {node.schema()}")
        self.is_empty = False
        return list(node.outputs())

    def _constant(self, value: Any, kind: Any) -> Any:
        """A constant for an argument of a type of TorchScript."""
        is_list = isinstance(value, list | tuple)
        if is_list and (not value or "Tensor" in str(kind)):
            parts = [self._constant(each, None) for each in value]
            node = self.graph.insertNode(self.graph.create("prim::ListConstruct", parts, 1))
            node.output().setType(kind)
            return node.output()
        if isinstance(value, torch.memory_format):
            value = _MEMORY_FORMATS[value]
        elif isinstance(value, float | int) and str(kind) in ("float", "Tensor"):
            value = float(value) if str(kind) == "float" else torch.tensor(value)
        if isinstance(value, Tensor) and _memory(value) not in self.memory:
            if id(value) not in self.inputs:
                self.inputs[id(value)] = (value, self.graph.addInput())
            return self.inputs[id(value)][1]
        return self.graph.insertConstant(tree_map_only(Tensor, _without_gradient, value))


def _without_gradient(tensor: Tensor) -> Tensor:
    """The tensor, or if it is a weight, one of the same memory that a graph of TorchScript may have."""
    return tensor.detach() if tensor.requires_grad else tensor


_COPY, _SET = torch.ops.aten.copy_.default, torch.ops.aten.set_.source_Tensor
_COPIES = (torch.ops.aten.clone, torch.ops.aten._to_copy)
"""Operations that make a copy, which may be one into memory that is there."""
_MEMORY_FORMATS = {torch.contiguous_format: 0, torch.preserve_format: 1, torch.channels_last: 2}
"""Numbers of layouts in TorchScript."""


@cache
def _into(function: Any) -> tuple[Any, Sequence[str]] | None:
    """The form of an operation that writes results into tensors, and their names in it; None: torch has none."""
    wanted = [(each.name, str(each.type)) for each in function._schema.arguments]
    for name in function.overloadpacket.overloads():
        other = getattr(function.overloadpacket, name)
        results = [each.name for each in other._schema.arguments if each.is_out]
        others = [(each.name, str(each.type)) for each in other._schema.arguments if not each.is_out]
        if results and others == wanted and other.has_kernel_for_dispatch_key(DispatchKey.CPU):
            return other, results
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
