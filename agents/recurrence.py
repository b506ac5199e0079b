"""Recurrent steps: gates of cells, and whole sequences of steps as one operation, with hand-derived gradients.

On CUDA the gates of GRU and LSTM are torch's fused kernels; elsewhere they take few passes over memory. With gradients
of torch, a step of `channel` takes 1.15 times as long in fp32, of `disc_small` 0.93 to 1.04 times.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ecsuite.agents.linear import Linear, StepGradients, Unrolled, first_derivative_only, joined, product
from ecsuite.agents.replicas import with_replicas
from ecsuite.agents.shared_states import Places

State = tuple[Tensor, ...]
"""State of a cell between steps, each entry (batch, hidden); the first entry is the output."""

Gradients = tuple[Tensor | None, ...]
"""Gradients of a state; None: zeros."""


class _Tanh(torch.autograd.Function):
    """2 sigmoid(2x) - 1 in fp32 on CPU, where torch's tanh is ten times slower than its sigmoid."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        output = tanh_of(inputs)
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        output: Tensor = ctx.saved_tensors[0]
        return gradient.addcmul(gradient * output, output, value=-1)


tanh: Callable[[Tensor], Tensor] = with_replicas(_Tanh, _Tanh.apply)
"""Hyperbolic tangent, in the precision of its input."""


def tanh_of(inputs: Tensor) -> Tensor:
    """Hyperbolic tangent without gradients."""
    if inputs.device.type != "cpu":
        return inputs.tanh()
    # Doubling is exact in any precision, and allocates a new tensor for the in-place operations.
    return (inputs * 2).float().sigmoid_().mul_(2).sub_(1).to(inputs.dtype)


class Gates(ABC):
    """Combine the outputs of a cell's two maps; tensors are (rows, width), optionally with replicas before."""

    are_summed = True
    """Whether the outputs of the two maps are added, so that both have the same gradient."""

    def start(self, hidden: Tensor) -> State:
        """The initial state for a hidden vector."""
        return (hidden,)

    @abstractmethod
    def forward(self, inputs: Tensor, hidden: Tensor, state: State) -> tuple[State, State]:
        """Compute the next state, and what `backward` needs in addition to the previous state.

        Args:
            inputs: Outputs of the input map, (rows, num_gates * hidden_size).
            hidden: Outputs of the hidden map, of the same shape.
            state: Previous state.
        """

    @abstractmethod
    def backward(
        self, saved: State, state: State, gradients: Gradients, of_inputs: Tensor, of_hidden: Tensor
    ) -> tuple[Tensor, Tensor, Gradients]:
        """Compute the gradients of `forward`.

        Args:
            saved: Second output of `forward`.
            state: Previous state.
            gradients: Gradients of the next state; the gradient of the output is not None.
            of_inputs: Buffer for the gradient of `inputs`.
            of_hidden: Buffer for the gradient of `hidden`; the same tensor if the two are added.

        Returns:
            The gradients of `inputs`, of `hidden`, and of the state; the latter are new tensors.
        """


class ElmanGates(Gates):
    """h' = tanh(i + h)."""

    def forward(self, inputs: Tensor, hidden: Tensor, state: State) -> tuple[State, State]:
        """See the base class."""
        output = tanh_of(inputs + hidden)
        return (output,), (output,)

    def backward(
        self, saved: State, state: State, gradients: Gradients, of_inputs: Tensor, of_hidden: Tensor
    ) -> tuple[Tensor, Tensor, Gradients]:
        """See the base class."""
        _tanh_backward(gradients[0], saved[0], of_inputs)
        return of_inputs, of_inputs, (None,)


class GRUGates(Gates):
    """reset, update = sigmoid(i + h); new = tanh(i + reset * h); state' = new + update * (state - new).

    Gates are in torch's order: reset, update, new.
    """

    are_summed = False

    def forward(self, inputs: Tensor, hidden: Tensor, state: State) -> tuple[State, State]:
        """See the base class."""
        if inputs.is_cuda:
            output, saved = torch.ops.aten._thnn_fused_gru_cell(*map(_flat, (inputs, hidden, state[0])))
            return (output.view_as(state[0]),), (saved,)
        size = state[0].shape[-1]
        reset_update = (inputs[..., : 2 * size] + hidden[..., : 2 * size]).sigmoid_()
        reset, update = reset_update.chunk(2, -1)
        hidden_new = hidden[..., 2 * size :].clone()  # a view would keep all of `hidden` allocated
        new = tanh_of(torch.addcmul(inputs[..., 2 * size :], reset, hidden_new))
        return (torch.lerp(new, state[0], update),), (reset_update, hidden_new, new)

    def backward(
        self, saved: State, state: State, gradients: Gradients, of_inputs: Tensor, of_hidden: Tensor
    ) -> tuple[Tensor, Tensor, Gradients]:
        """See the base class."""
        gradient, size = gradients[0], state[0].shape[-1]
        assert gradient is not None
        if gradient.is_cuda:
            given = torch.ops.aten._thnn_fused_gru_cell_backward(_flat(gradient), saved[0], False)
            return given[0].view_as(of_inputs), given[1].view_as(of_hidden), (given[2].view_as(gradient),)
        reset_update, hidden_new, new = saved
        reset, update = reset_update.chunk(2, -1)
        of_state = gradient * update
        of_new = of_inputs[..., 2 * size :]
        _tanh_backward(gradient - of_state, new, of_new)
        of_gates = torch.empty_like(reset_update)
        torch.mul(of_new, hidden_new, out=of_gates[..., :size])
        torch.mul(gradient, state[0] - new, out=of_gates[..., size:])
        _sigmoid_backward(of_gates, reset_update, of_inputs[..., : 2 * size])
        of_hidden[..., : 2 * size] = of_inputs[..., : 2 * size]
        torch.mul(of_new, reset, out=of_hidden[..., 2 * size :])
        return of_inputs, of_hidden, (of_state,)


class LSTMGates(Gates):
    """memory' = sigmoid(forget) * memory + sigmoid(input) * tanh(new); output = sigmoid(output) * tanh(memory').

    Gates are in torch's order: input, forget, new, output.
    """

    def start(self, hidden: Tensor) -> State:
        """See the base class."""
        return (hidden, torch.zeros_like(hidden))

    def forward(self, inputs: Tensor, hidden: Tensor, state: State) -> tuple[State, State]:
        """See the base class."""
        memory = state[1]
        if inputs.is_cuda:
            given = torch.ops.aten._thnn_fused_lstm_cell(*map(_flat, (inputs, hidden, memory)))
            output, next_memory = (each.view_as(memory) for each in given[:2])
            return (output, next_memory), (next_memory, given[2])
        gates = inputs + hidden
        new = tanh_of(gates.chunk(4, -1)[2])
        input_gate, forget, _, output = gates.sigmoid_().chunk(4, -1)  # all gates in one pass
        next_memory = torch.addcmul(forget * memory, input_gate, new)
        shown = tanh_of(next_memory)
        return (output * shown, next_memory), (gates, new, shown)

    def backward(
        self, saved: State, state: State, gradients: Gradients, of_inputs: Tensor, of_hidden: Tensor
    ) -> tuple[Tensor, Tensor, Gradients]:
        """See the base class."""
        (of_output, of_memory), memory = gradients, state[1]
        assert of_output is not None
        if of_output.is_cuda:
            memories, further = (
                (_flat(memory), _flat(saved[0])),
                None if of_memory is None else _flat(of_memory),
            )
            given = torch.ops.aten._thnn_fused_lstm_cell_backward_impl(
                _flat(of_output), further, *memories, saved[1], False
            )
            of_inputs = given[0].view_as(of_inputs)
            return of_inputs, of_inputs, (None, given[1].view_as(memory))
        gates, new, shown = saved
        input_gate, forget, _, output = gates.chunk(4, -1)
        through = torch.ops.aten.tanh_backward(of_output * output, shown)
        of_memory = through if of_memory is None else of_memory + through
        of_input_gate, of_forget, of_new, of_output_gate = of_inputs.chunk(4, -1)
        torch.mul(of_memory, new, out=of_input_gate)
        torch.mul(of_memory, memory, out=of_forget)
        torch.mul(of_output, shown, out=of_output_gate)
        of_new.zero_()
        _sigmoid_backward(of_inputs, gates, of_inputs)
        _tanh_backward(of_memory * input_gate, new, of_new)
        return of_inputs, of_inputs, (None, of_memory * forget)


class NodeGates(Gates):
    """(gate, new) = i + h; state' = state + sigmoid(gate) (tanh(new) - state): node 0 of a `DAGCell`."""

    def forward(self, inputs: Tensor, hidden: Tensor, state: State) -> tuple[State, State]:
        """See the base class."""
        gate, new = (inputs + hidden).chunk(2, -1)
        gate, new = gate.sigmoid(), tanh_of(new)
        return (state[0] + gate * (new - state[0]),), (gate, new)

    def backward(
        self, saved: State, state: State, gradients: Gradients, of_inputs: Tensor, of_hidden: Tensor
    ) -> tuple[Tensor, Tensor, Gradients]:
        """See the base class."""
        (gate, new), gradient = saved, gradients[0]
        assert gradient is not None
        of_gate, of_new = of_inputs.chunk(2, -1)
        _sigmoid_backward(gradient * (new - state[0]), gate, of_gate)
        through = gradient * gate
        _tanh_backward(through, new, of_new)
        return of_inputs, of_inputs, (gradient - through,)


def _sigmoid_backward(gradient: Tensor, output: Tensor, room: Tensor) -> None:
    torch.ops.aten.sigmoid_backward.grad_input(gradient, output, grad_input=room)


def _tanh_backward(gradient: Tensor | None, output: Tensor, room: Tensor) -> None:
    torch.ops.aten.tanh_backward.grad_input(gradient, output, grad_input=room)


def _flat(tensor: Tensor) -> Tensor:
    """Flatten replicas into rows."""
    return tensor if tensor.dim() == 2 else tensor.flatten(0, -2)


def recurrence(gates: Gates, hidden_map: Linear, dtype: torch.dtype) -> Callable[..., State]:
    """Start a loop over steps in the given precision.

    Returns:
        A function of the gates of the inputs, (rows, number * hidden_size); the previous state, () for zeros; the
        number of rows of each step; and, per step, the index of each row's predecessor in the step before (None: the
        same row). It returns the final state, with the concatenated outputs of all steps as its first entry.
    """
    unrolled = Unrolled(hidden_map.weight, hidden_map.bias, dtype)
    weight, bias = unrolled.weight, unrolled.bias

    def recur(
        inputs: Tensor, state: State, sizes: Sequence[int], followed: Sequence[Places] = (None,)
    ) -> State:
        if unrolled.gradients is None:
            return _steps(gates, sizes, followed, inputs, weight, bias, state, [])
        after: State = _recurrence(
            gates, sizes, followed, unrolled.gradients, unrolled.token, inputs, weight, bias, *state
        )
        return after

    return recur


def _steps(
    gates: Gates,
    sizes: Sequence[int],
    followed: Sequence[Places],
    inputs: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    state: State,
    saved: list[tuple[State, State]],
) -> State:
    """Run the steps; the previous state and the saved tensors of each step are added to `saved`. See `recurrence`."""
    outputs = []
    for rows, places in zip(inputs.split(sizes, -2), followed, strict=True):
        if state:
            state = tuple(_at(part, places) for part in state)
            hidden = product(state[0], weight, bias)
        else:  # a map of zeros is its bias
            state = gates.start(rows.new_zeros(*rows.shape[:-1], weight.shape[-1]))
            hidden = (rows.new_zeros(rows.shape[-1]) if bias is None else bias.unsqueeze(-2)).expand_as(rows)
        before = state
        state, of_step = gates.forward(rows, hidden, before)
        outputs.append(state[0])
        saved.append((before, of_step))
    return (joined(outputs), *state[1:])


class _Recurrence(torch.autograd.Function):
    """One or several steps; see `recurrence`."""

    @staticmethod
    def forward(
        ctx: Any,
        gates: Gates,
        sizes: Sequence[int],
        followed: Sequence[Places],
        gradients: StepGradients,
        token: Tensor,
        inputs: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        *state: Tensor,
    ) -> State:
        saved: list[tuple[State, State]] = []
        after = _steps(gates, sizes, followed, inputs, weight, bias, state, saved)
        ctx.gates, ctx.sizes, ctx.followed = gates, sizes, followed
        ctx.gradients, ctx.number = gradients, gradients.new_step()
        ctx.num_rest = len(after) - 1
        # The output before a step is a view of all outputs, which are stored once.
        of_steps = [tensor for (_, *rest), of_step in saved for tensor in (*rest, *of_step)]
        ctx.save_for_backward(weight, saved[0][0][0], after[0] if len(sizes) > 1 else None, *of_steps)
        ctx.set_materialize_grads(False)
        return after

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, *given: Tensor | None) -> tuple[Tensor | None, ...]:
        _, _, _, _, needs_weight, _, _, _, *of_state = ctx.needs_input_grad
        weight, first, outputs, *tensors = ctx.saved_tensors
        sizes, followed, width = ctx.sizes, (*ctx.followed, None), len(tensors) // len(ctx.sizes)
        if all(each is None for each in given):  # all gradients are zero
            if needs_weight:
                num_before = sum(sizes if of_state else sizes[1:])
                rows = first.new_zeros(*first.shape[:-2], num_before, first.shape[-1]) if num_before else None
                ctx.gradients.put_zeros(ctx.number, rows, weight, sum(sizes))
            return (None,) * len(ctx.needs_input_grad)
        before = [first]
        if outputs is not None:
            before += map(_at, outputs.split(sizes, -2)[:-1], followed[1:-1])
        of_outputs = [None] * len(sizes) if given[0] is None else given[0].split(sizes, -2)
        of_inputs = first.new_empty(*first.shape[:-2], sum(sizes), weight.shape[-2])
        of_hidden = of_inputs if ctx.gates.are_summed else torch.empty_like(of_inputs)
        rooms = list(zip(of_inputs.split(sizes, -2), of_hidden.split(sizes, -2), strict=True))
        of_maps: list[Sequence[Tensor]] = []
        carried: Gradients = (None, *given[1:])
        for place in reversed(range(len(sizes))):
            of_step = tensors[place * width : (place + 1) * width]
            state, saved = (before[place], *of_step[: ctx.num_rest]), tuple(of_step[ctx.num_rest :])
            of_output, *rest = (_summed(each, followed[place + 1], sizes[place]) for each in carried)
            total = _sum(of_outputs[place], of_output)
            total = torch.zeros_like(state[0]) if total is None else total
            *of_map, carried = ctx.gates.backward(saved, state, (total, *rest), *rooms[place])
            of_maps.insert(0, of_map)
            if place > 0 or any(of_state):
                carried = (_plus_product(carried[0], of_map[1], weight), *carried[1:])
        if of_maps[0][0] is not rooms[0][0]:
            of_inputs, of_hidden = (joined(parts) for parts in zip(*of_maps, strict=True))
        if needs_weight:
            rows = before if of_state else before[1:]
            is_in_order = all(places is None for places in followed) and len(rows) == len(sizes) - 1 > 0
            rows = [outputs.narrow(-2, 0, sum(sizes[1:]))] if is_in_order else rows
            ctx.gradients.put(ctx.number, joined(rows) if rows else None, of_hidden)
        of_first = carried if any(of_state) else (None,) * len(of_state)
        return (None, None, None, None, None, of_inputs, None, None, *of_first)


def _at(rows: Tensor, places: Places) -> Tensor:
    """Select the rows at these indices."""
    return rows if places is None else rows.index_select(-2, places)


def _summed(gradient: Tensor | None, places: Places, size: int) -> Tensor | None:
    """Sum gradients of rows at these indices into `size` rows, in fp32."""
    if gradient is None or places is None:
        return gradient
    zeros = gradient.new_zeros(
        size, gradient.shape[-1], dtype=torch.promote_types(gradient.dtype, torch.float32)
    )
    return zeros.index_add_(0, places, gradient.to(zeros.dtype)).to(gradient.dtype)


def _sum(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Sum two gradients; None is zero."""
    return second if first is None else first if second is None else first + second


def _plus_product(gradient: Tensor | None, of_hidden: Tensor, weight: Tensor) -> Tensor:
    """Gradient of the previous output: the direct one, which is overwritten, plus the one through the hidden map."""
    if gradient is None:
        return of_hidden @ weight
    return gradient.addmm_(of_hidden, weight) if weight.dim() == 2 else gradient.baddbmm_(of_hidden, weight)


_recurrence: Callable[..., State] = with_replicas(_Recurrence, _Recurrence.apply)
