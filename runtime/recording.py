"""Recording of the operations of a function of tensors, and making them again without Python and autograd in between.

A small step of training takes hundreds of operations of a few microseconds each, and more time than that to find out
which they are: modules, graphs of autograd, replicas. They are the same at every step. A recording makes these
operations with the same weights, in the same order, and so with the same results to the last bit. Without it a step of
`disc_tiny` takes 2.4 times as long, of `channel` 1.9 times.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ecsuite.runtime.graphs import Outputs, captured
from ecsuite.runtime.operations import RECORDER, Arrays, OtherAnswerError, Recorder, as_array

NUM_CALLS_BEFORE = 8
"""Calls of one form before one is recorded, which takes as long as some thirty calls."""
NUM_CALLS_BEFORE_GRAPH = 2
"""Calls before a CUDA graph is recorded, which takes as long as three calls; earlier calls initialise libraries."""
NUM_CALLS_UNTIL_STAYING = 2
"""Further calls of another function's graph until its outputs were the same tensors twice."""
MAX_RECORDINGS, MAX_FORMS = 16, 256
"""Most recordings of a function, and forms of which the calls are counted."""
MAX_GRAPHS = 64
"""Most graphs of a function; they share their memory, but for that of outputs."""
MAX_OTHER, SHARE_OTHER = 8, 0.25
"""Calls of a recording in which what is outside may be otherwise before it is left; others make up for a share each."""
NUM_CALLS_AFTER = 100
"""Calls after that before there is another one; then the square of it, and so on."""
MAX_BYTES = 2**28
"""Most memory of the results of operations, of all recordings of a function: of larger ones, Python takes no time that
counts."""

Answer = TypeVar("Answer", bound=Hashable)


def outside(function: Callable[..., Arrays], *tensors: Tensor) -> list[Tensor]:
    """Calls a function of arrays, such as a world in numpy; a recording calls it again.

    Where an array has another shape then, the recorded function is called in place of the recording.

    Args:
        function: It gets the tensors as arrays, and gives arrays. It may keep what it needs in the next call, but no
            argument.
        tensors: What it gets.

    Returns:
        What it gives, as tensors of the processor's memory.
    """
    if (recorder := RECORDER.get()) is not None:
        return recorder.outside(function, tensors)
    return [torch.from_numpy(np.array(each)) for each in function(*map(as_array, tensors))]


def asked(question: Callable[[], Answer]) -> Answer:
    """The answer to a question about what is outside, on which the operations that follow may depend.

    A recording asks again. Where the answer is another one, the recorded function is called in its place.
    """
    answer = question()
    if (recorder := RECORDER.get()) is not None:

        def ask_again(*_: Any) -> Arrays:
            if question() != answer:
                raise OtherAnswerError
            return ()

        recorder.outside(ask_again, ())
    return answer


class Recorded:
    """Calls functions of tensors, and where one is called often with tensors of one form, records it.

    On CUDA, a recording is a graph.

    Args:
        optimizer: One that makes a step in the functions.
        is_surveyed: See `captured`.
        inputs_stay: Whether inputs come of another recording. Once that is a graph, they are the same tensors at every
            call, so that a graph that is made later can take them from where they are.
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
        """The inputs of the last call of a form, if they may stay and there is no graph yet."""
        self.num_calls: dict[Hashable, int] = {}
        self.replays: dict[Hashable, Callable[..., Outputs]] = {}
        self.num_other: dict[Hashable, float] = {}
        """Calls of recordings in which what is outside was otherwise, less those that others make up for."""
        self.num_left = Counter[Hashable]()
        """Recordings of a form that were left."""
        self.sizes: dict[Hashable, int] = {}
        self.num_bytes = 0
        """Memory of recordings, and of all of them."""
        self.pool: Any = None
        """Memory that its graphs share."""
        self.reasons: dict[Hashable, str] = {}
        """Why there is no graph of a form."""

    def __call__(self, form: Hashable, function: Callable[..., Outputs], inputs: Sequence[Tensor]) -> Outputs:
        """The outputs of a function: figures by name, and tensors, or None, which the next call may overwrite.

        Args:
            form: Functions and inputs with equal forms make the same operations, with inputs of the same shapes.
            function: Depends on nothing that changes between calls but its inputs, and weights, buffers and generators,
                which stay the same objects. It gets the inputs, one by one, or copies of them. Where it asks what is
                outside, it may be called anew after a part of it was made, so that it changes nothing that was there
                before until it has asked all, and first lets generators begin.
            inputs: The tensors, without a graph of autograd.
        """
        if (replay := self.replays.get(form)) is not None:
            try:
                outputs = replay(*inputs)
            except OtherAnswerError:
                self._note_other(form)
                return function(*inputs)
            if (number := self.num_other.get(form, 0)) > 0:
                self.num_other[form] = number - SHARE_OTHER
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
                del self.replays[next(iter(self.replays))]  # the oldest, as of agents that were replaced
            return self._captured(form, function, inputs)
        recorder = Recorder(inputs, MAX_BYTES - self.num_bytes)
        with recorder:
            figures, tensors = function(*recorder.inputs)
        if (replay := recorder.function(figures, tensors)) is not None:
            self.replays[form], self.sizes[form] = replay, recorder.num_bytes
            self.num_bytes += recorder.num_bytes
        # Copies, as of a replay: the next call writes into what was recorded.
        return {name: value.clone() for name, value in figures.items()}, tensors

    def _note_other(self, form: Hashable) -> None:
        """Note that what is outside is otherwise; if it often is, the recording is left, and another one made later."""
        self.num_other[form] = self.num_other.get(form, 0) + 1
        if self.num_other[form] > MAX_OTHER:
            self.num_left[form] += 1
            self.num_calls[form] = -(NUM_CALLS_AFTER ** self.num_left[form])
            self.num_bytes -= self.sizes.pop(form)
            del self.replays[form], self.num_other[form]

    @property
    def reason(self) -> str | None:
        """Why there is no graph of a form; None: nothing is in the way."""
        return next(iter(self.reasons.values()), None)

    def _captured(
        self, form: Hashable, function: Callable[..., Outputs], inputs: Sequence[Tensor]
    ) -> Outputs:
        """The outputs of a function, of which there is a graph then, if there can be one."""
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
