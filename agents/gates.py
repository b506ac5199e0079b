"""Gates of recurrent cells: what becomes of the outputs of a cell's two maps, with hand-derived gradients.

On CUDA the gates of GRU and LSTM are torch's fused kernels; elsewhere they take few passes over memory.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ecsuite.agents.replicas import with_replicas

State = tuple[Tensor, ...]
"""State of a cell between steps, each entry (batch, hidden); the first entry is the output."""

Gradients = tuple[Tensor | None, ...]
"""Gradients of a state; None: of zeros."""


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
    """Combine the outputs of a cell's two maps; tensors may have replicas before (rows, width)."""

    are_summed = True
    """Whether the outputs of the two maps are added, so that their gradients are the same."""

    def start(self, hidden: Tensor) -> State:
        """The initial state for a hidden vector."""
        return (hidden,)

    @abstractmethod
    def forward(self, inputs: Tensor, hidden: Tensor, state: State) -> tuple[State, State]:
        """The next state, and what `backward` needs beside the state before.

        Args:
            inputs: Outputs of the input map, (rows, num_gates * hidden_size).
            hidden: Outputs of the hidden map, of the same shape.
            state: The state before.
        """

    @abstractmethod
    def backward(
        self, saved: State, state: State, gradients: Gradients, of_inputs: Tensor, of_hidden: Tensor
    ) -> tuple[Tensor, Tensor, Gradients]:
        """The gradients of `forward`.

        Args:
            saved: What it returned for that.
            state: The state before.
            gradients: Of the next state, of which that of the output is there.
            of_inputs: May be filled with the gradient of `inputs`.
            of_hidden: May be filled with that of `hidden`; the same tensor where the two are added.

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
        input_gate, forget, _, output = gates.sigmoid_().chunk(4, -1)  # of all of them, in one pass
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
    """Rows of all replicas."""
    return tensor if tensor.dim() == 2 else tensor.flatten(0, -2)
