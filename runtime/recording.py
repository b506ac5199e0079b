"""Recording of the operations of a function of tensors, and replay without Python and autograd overhead.

A small training step consists of hundreds of operations of a few microseconds each, and most of its time is spent on
dispatching them: modules, autograd graphs, replicas. The operations are equal at every step. A recording replays them
with the same weights, in the same order, and so with bit-identical results. Without recording, a step of
`disc_tiny` takes 2.4 times as long, of `channel` 1.9 times.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ecsuite.runtime.graphs import Outputs, captured
from ecsuite.runtime.operations import RECORDER, Arrays, GuardFailed, Recorder, as_array

NUM_CALLS_BEFORE = 8
"""Number of calls of one form before recording, which takes as long as some thirty calls."""
NUM_CALLS_BEFORE_GRAPH = 2
"""Number of calls before a CUDA graph is recorded, which takes as long as three calls; they initialise libraries."""
NUM_CALLS_UNTIL_STAYING = 2
"""Number of further calls of a function whose inputs come from another function's graph, until that graph is stable."""
MAX_RECORDINGS, MAX_FORMS = 16, 256
"""Maximum number of recordings of a function, and of forms whose calls are counted."""
MAX_GRAPHS = 64
"""Maximum number of graphs of a function; they share their memory, except for outputs."""
MAX_OTHER, SHARE_OTHER = 8, 0.25
"""Guard failures after which a recording is dropped, and the amount that each successful replay subtracts."""
NUM_CALLS_AFTER = 100
"""Number of calls before the next recording; then its square, and so on."""
MAX_BYTES = 2**28
"""Maximum memory of the results of operations in all recordings of a function: for larger results, Python's overhead
is negligible."""

Answer = TypeVar("Answer", bound=Hashable)


def external_call(function: Callable[..., Arrays], *tensors: Tensor) -> list[Tensor]:
    """Call a function of arrays, such as a world in numpy; a recording calls it again.

    If an array then has another shape, the recorded function is called instead of the recording.

    Args:
        function: Maps the tensors, as arrays, to arrays. It may keep state for the next call, but no argument.
        tensors: Arguments of the function.

    Returns:
        Results as CPU tensors.
    """
    if (recorder := RECORDER.get()) is not None:
        return recorder.external_call(function, tensors)
    return [torch.from_numpy(np.array(each)) for each in function(*map(as_array, tensors))]


def guard(question: Callable[[], Answer]) -> Answer:
    """Evaluate a guard: an external value on which the following operations may depend.

    A recording evaluates it again. If the value differs, the recorded function is called instead.
    """
    answer = question()
    if (recorder := RECORDER.get()) is not None:

        def check_again(*_: Any) -> Arrays:
            if question() != answer:
                raise GuardFailed
            return ()

        recorder.external_call(check_again, ())
    return answer


class Recorded:
    """Calls functions of tensors, and records those that are called often with tensors of one form.

    On CUDA, a recording is a CUDA graph.

    Args:
        optimizer: Optimizer that makes a step in the functions.
        is_surveyed: See `captured`.
        inputs_stay: Whether inputs are outputs of another recording. Once that is a graph, they are the same tensors
            in every call, so that a later graph can read them in place.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        is_surveyed: bool = True,
        inputs_stay: bool = False,
    ) -> None:
        self.optimizer, self.is_surveyed, self.inputs_stay = optimizer, is_surveyed, inputs_stay
        self.last: dict[Hashable, Sequence[Tensor]] = {}
        """Inputs of the last call of a form, if they may stay and there is no graph yet."""
        self.num_calls: dict[Hashable, int] = {}
        self.replays: dict[Hashable, Callable[..., Outputs]] = {}
        self.num_failures: dict[Hashable, float] = {}
        """Guard failures per recording, minus 0.25 for each successful replay."""
        self.num_left = Counter[Hashable]()
        """Number of dropped recordings per form."""
        self.sizes: dict[Hashable, int] = {}
        self.num_bytes = 0
        """Bytes of all recordings."""
        self.pool: Any = None
        """Memory shared by the graphs."""
        self.reasons: dict[Hashable, str] = {}
        """Reason why a form has no graph."""

    def __call__(self, form: Hashable, function: Callable[..., Outputs], inputs: Sequence[Tensor]) -> Outputs:
        """Compute the outputs of a function: figures by name, and tensors or None, which the next call may overwrite.

        Args:
            form: Key: functions and inputs with equal forms run the same operations, with inputs of equal shapes.
            function: Depends only on its inputs, on constants, and on weights, buffers and generators,
                which stay the same objects. It gets the inputs, or copies of them, as arguments. With guards, it may be
                restarted after a part of it has run, so it must not change existing memory before its last guard,
                and must seed generators first.
            inputs: Input tensors, without an autograd graph.
        """
        if (replay := self.replays.get(form)) is not None:
            try:
                outputs = replay(*inputs)
            except GuardFailed:
                self._note_other(form)
                return function(*inputs)
            if (number := self.num_failures.get(form, 0)) > 0:
                self.num_failures[form] = number - SHARE_OTHER
            return outputs
        number, is_graph = self.num_calls.get(form, 0), bool(inputs) and inputs[0].is_cuda
        before, most = (
            (NUM_CALLS_BEFORE_GRAPH + (NUM_CALLS_UNTIL_STAYING if self.inputs_stay else 0), MAX_GRAPHS)
            if is_graph
            else (NUM_CALLS_BEFORE, MAX_RECORDINGS)
        )
        if number == before - 1 and is_graph and self.inputs_stay:
            self.last[form] = inputs
        if number != before or (len(self.replays) == most and not is_graph):
            if number or len(self.num_calls) < MAX_FORMS:
                self.num_calls[form] = number + 1
            return function(*inputs)
        self.num_calls[form] = number + 1
        if is_graph:
            if len(self.replays) == most:
                del self.replays[next(iter(self.replays))]  # the oldest, such as for replaced agents
            return self._captured(form, function, inputs)
        recorder = Recorder(inputs, MAX_BYTES - self.num_bytes)
        with recorder:
            figures, tensors = function(*recorder.inputs)
        if (replay := recorder.function(figures, tensors)) is not None:
            self.replays[form], self.sizes[form] = replay, recorder.num_bytes
            self.num_bytes += recorder.num_bytes
        # Copies, as in a replay: the next call overwrites the recorded memory.
        return {name: value.clone() for name, value in figures.items()}, tensors

    def _note_other(self, form: Hashable) -> None:
        """Count a guard failure; after many, drop the recording, and make another one later."""
        self.num_failures[form] = self.num_failures.get(form, 0) + 1
        if self.num_failures[form] > MAX_OTHER:
            self.num_left[form] += 1
            self.num_calls[form] = -(NUM_CALLS_AFTER ** self.num_left[form])
            self.num_bytes -= self.sizes.pop(form)
            del self.replays[form], self.num_failures[form]

    @property
    def reason(self) -> str | None:
        """Reason why a form has no graph; None: no reason."""
        return next(iter(self.reasons.values()), None)

    def _captured(
        self, form: Hashable, function: Callable[..., Outputs], inputs: Sequence[Tensor]
    ) -> Outputs:
        """Outputs of a function, and a CUDA graph of it if possible."""
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        staying = [each for each, last in zip(inputs, self.last.pop(form, ()), strict=False) if each is last]
        outputs, found = captured(
            function, inputs, self.pool, self.optimizer, staying=staying, is_surveyed=self.is_surveyed
        )
        if isinstance(found, str):
            self.reasons[form], self.pool = found, None
        else:
            self.replays[form] = found
        return outputs
