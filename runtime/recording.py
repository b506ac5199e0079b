"""Recording of the operations of a function of tensors, and making them again without Python and autograd in between.

A small step of training takes hundreds of operations of a few microseconds each, and more time than that to find out
which they are: modules, graphs of autograd, replicas. They are the same at every step. A recording makes these
operations with the same weights, in the same order, and so with the same results to the last bit.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

NUM_CALLS_BEFORE = 8
"""Calls of one form before one is recorded, which takes as long as some thirty calls."""
MAX_RECORDINGS, MAX_FORMS = 16, 256
"""Most recordings of a function, and forms of which the calls are counted."""
MAX_BYTES = 2**28
"""Most memory of the results of all operations of a recording: of larger ones, Python takes no time that counts."""
SAME = frozenset(("detach", "alias", "lift_fresh"))
"""Operations whose result is their argument where there is no autograd."""
READS = frozenset((Tensor.tolist, Tensor.numpy, Tensor.__array__))
"""What takes values out of tensors without an operation of torch."""


class Recorded:
    """Calls functions of tensors, and where one is called often with tensors of one form, records it."""

    def __init__(self) -> None:
        self.num_calls: dict[Hashable, int] = {}
        self.replays: dict[Hashable, Callable[..., Any]] = {}

    def __call__(self, form: Hashable, function: Callable[..., Any], inputs: Sequence[Tensor]) -> Any:
        """The outputs of a function: tensors without a graph of autograd, or None, in lists and dictionaries.

        Args:
            form: Functions and inputs with equal forms make the same operations, with inputs of the same shapes.
            function: Depends on nothing that changes between calls but its inputs, and weights, buffers and generators,
                which stay the same objects. It gets the inputs, one by one.
            inputs: The tensors.
        """
        if (replay := self.replays.get(form)) is not None:
            return replay(*inputs)
        number = self.num_calls.get(form, 0)
        if number != NUM_CALLS_BEFORE or len(self.replays) == MAX_RECORDINGS:
            if number or len(self.num_calls) < MAX_FORMS:
                self.num_calls[form] = number + 1
            return function(*inputs)
        self.num_calls[form] = number + 1
        with Recorder(inputs) as recorder, _Watch(recorder):
            outputs = function(*inputs)
        if (replay := recorder.function(outputs)) is not None:
            self.replays[form] = replay
        return outputs


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    """An operation of a recording; tensors and constants have places in a list."""

    operation: Callable[..., Any]
    arguments: tuple[int, ...]
    """Their places."""
    results: tuple[int | None, ...]
    """Places of the tensors that it makes; None: of what it does not make."""
    is_one: bool = True
    """Whether it returns one tensor, and not several."""
    has_effect: bool = False
    """Whether it is made even if nobody needs its results: it writes into a tensor, or draws random numbers."""


class Recorder(TorchDispatchMode):
    """Makes the operations in its block, and records them.

    Args:
        inputs: Tensors that will be others when the recording is called. All else that is used in the block and was not
            made in it is used again as it is then: weights, buffers, generators.
    """

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.reason: str | None = None
        """Why they can't be recorded; None: they can."""
        self.values: list[Any] = []
        """What is the same at each call, by its place; None: it is another each time."""
        self.calls: list[_Call] = []
        self.temporary: set[int] = set()
        """Places of what is another each time."""
        self.num_bytes = 0
        self.kept: list[Tensor] = []  # so that no two tensors have the same memory, or the same id
        self.places: dict[int, int] = {}
        self.of_storage: dict[int, tuple[int, Tensor]] = {}
        self.num_inputs = len(inputs)
        for tensor in inputs:
            self._new(tensor)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled in the block, and torch would import its compiler, which takes seconds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Make an operation."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if self.reason is None and _depends_on_values(func, args):
            self.reason = f"{func} depends on values"
        if self.reason is None and self.num_bytes > MAX_BYTES:
            self.reason = "results are large"
        if self.reason is None:
            if func.namespace != "profiler":
                self._record(func, args, kwargs, result)
        else:
            self.kept.clear()
        return result

    def function(self, outputs: Any) -> Callable[..., Any] | None:
        """What makes the same operations with other inputs and returns these outputs; None if it can't be recorded."""
        if self.reason is not None:
            return None
        returned = self._returned(outputs)
        used, program = set(_leaves(returned)), list[tuple[Any, ...]]()
        for call in reversed(self.calls):
            results = {place for place in call.results if place is not None}
            if call.has_effect or not used.isdisjoint(results):
                uses = results.union(call.arguments)
                ended = tuple(self.temporary.intersection(uses) - used)  # its memory can be used again
                target = call.results[0] if call.is_one else call.results
                program.append((call.operation, _getter(call.arguments), call.is_one, target, ended))
                used |= uses
        program.reverse()
        first, num_inputs = list(self.values[self.num_inputs :]), self.num_inputs

        @torch.no_grad()
        def replay(*inputs: Tensor) -> Any:
            values = [*inputs[:num_inputs], *first]
            for operation, arguments, is_one, target, ended in program:
                result = operation(*arguments(values))
                if is_one:
                    if target is not None:
                        values[target] = result
                else:
                    for place, part in zip(target, result, strict=True):
                        if place is not None:
                            values[place] = part
                for place in ended:
                    values[place] = None
            return _filled(returned, values)

        return replay

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        is_one = not isinstance(result, list | tuple)
        parts = [result] if is_one else result
        arguments = tuple(self._place(each) for each in args)
        if func.overloadpacket.__name__ in SAME:
            self._new(result, arguments[0])
            return
        options = {name: self._place(each) for name, each in kwargs.items()}
        used = {*arguments, *options.values()}
        if func.is_view and self.temporary.isdisjoint(used):  # of weights, which stay where they are
            for part in parts:
                self._constant(part)
            return
        operation = func._op
        if self.temporary.isdisjoint(options.values()):
            operation = partial(operation, **kwargs) if kwargs else operation
        else:
            operation, arguments = _by_place(operation, tuple(options)), (*arguments, *options.values())
        results = [
            self._new(part) if isinstance(part, Tensor) and id(part) not in self.places else None
            for part in parts
        ]
        has_effect = func._schema.is_mutable or torch.Tag.nondeterministic_seeded in func.tags
        self.calls.append(
            _Call(
                operation=operation,
                arguments=arguments,
                results=tuple(results),
                is_one=is_one,
                has_effect=has_effect,
            )
        )

    def _new(self, tensor: Tensor, place: int | None = None) -> int:
        """The place of a tensor that was not there before; given: it is the same as the one of that place."""
        self.kept.append(tensor)
        if place is None:
            place = self._temporary()
            self.num_bytes += tensor.numel() * tensor.element_size()
            self.of_storage.setdefault(tensor.untyped_storage()._cdata, (place, tensor))
        self.places[id(tensor)] = place
        return place

    def _temporary(self) -> int:
        """A place for what is another each time."""
        self.values.append(None)
        self.temporary.add(len(self.values) - 1)
        return len(self.values) - 1

    def _constant(self, value: Any) -> int:
        """The place of what is the same at each call."""
        if (place := self.places.get(id(value))) is None:
            self.values.append(value)
            place = self.places[id(value)] = len(self.values) - 1
        return place

    def _place(self, argument: Any) -> int:
        """The place of an argument; a tensor may be another object for the memory of one that was made."""
        if isinstance(argument, list | tuple) and any(isinstance(each, Tensor) for each in argument):
            place = self._temporary()
            arguments = tuple(self._place(each) for each in argument)
            self.calls.append(_Call(operation=_listed, arguments=arguments, results=(place,)))
            return place
        if not isinstance(argument, Tensor) or id(argument) in self.places:
            return self._constant(argument)
        made = self.of_storage.get(argument.untyped_storage()._cdata)
        if made is None:
            return self._constant(argument)
        place, other = made
        geometry, of_other = (
            (each.size(), each.stride(), each.storage_offset(), each.dtype) for each in (argument, other)
        )
        if geometry == of_other:
            return self._new(argument, place)
        arguments = (place, *map(self._constant, geometry[:3]))
        view = self._new(argument)
        self.calls.append(_Call(operation=torch.as_strided, arguments=arguments, results=(view,)))
        return view

    def _returned(self, outputs: Any) -> Any:
        """Outputs with places instead of tensors."""
        if isinstance(outputs, dict):
            return {name: self._returned(each) for name, each in outputs.items()}
        if isinstance(outputs, list | tuple):
            return [self._returned(each) for each in outputs]
        return self._place(outputs)


def _filled(places: Any, values: Sequence[Any]) -> Any:
    """Outputs with tensors instead of their places."""
    if isinstance(places, dict):
        return {name: _filled(each, values) for name, each in places.items()}
    return [_filled(each, values) for each in places] if isinstance(places, list) else values[places]


def _leaves(places: Any) -> Iterator[int]:
    """The places in outputs."""
    if isinstance(places, int):
        yield places
    else:
        for each in places.values() if isinstance(places, dict) else places:
            yield from _leaves(each)


def _getter(places: tuple[int, ...]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """Gets the values at some places."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: [values[place] for place in places]


def _by_place(operation: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """An operation whose last arguments are those of these names."""
    number = -len(names)
    return lambda *values: operation(*values[:number], **dict(zip(names, values[number:], strict=True)))


def _listed(*values: Any) -> list[Any]:
    return list(values)


class _Watch(TorchFunctionMode):
    """Notices what reads values without an operation."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in READS and self.recorder.reason is None:
            self.recorder.reason = f"{func.__name__} reads values"
        return func(*args, **(kwargs or {}))


def _depends_on_values(func: Any, args: Any) -> bool:
    """Whether an operation reads values, or the shape of its result depends on them."""
    if func.overloadpacket is torch.ops.aten.index:
        return any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1])
    return torch.Tag.data_dependent_output in func.tags or torch.Tag.dynamic_output_shape in func.tags
