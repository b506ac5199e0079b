"""Recurrent cells: one step of a memory.

Parameters have the shapes, gate order and meaning of torch's own cells, so weights can be copied across. The gate
functions have hand-written gradients: a step is then two products and a handful of passes over memory.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.agents.linear import Linear

State = tuple[Tensor, ...]
"""What a cell remembers between steps; the first entry is what the rest of the network sees, (batch, hidden)."""

Step = Callable[[Tensor, State | None], State]
"""One step: input (batch, input) and state, None for all zeros, to the next state."""


class _Tanh(torch.autograd.Function):
    """2 sigmoid(2x) - 1 in fp32 on CPU, where torch's tanh is ten times slower than its sigmoid."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor) -> Tensor:
        output = _Tanh.of(inputs)
        ctx.save_for_backward(output)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        output: Tensor = ctx.saved_tensors[0]
        return gradient.addcmul(gradient * output, output, value=-1)

    @staticmethod
    def of(inputs: Tensor) -> Tensor:
        if inputs.device.type != "cpu":
            return inputs.tanh()
        # Doubling is exact in any precision, and gives a tensor of our own to work in.
        return (inputs * 2).float().sigmoid_().mul_(2).sub_(1).to(inputs.dtype)


tanh: Callable[[Tensor], Tensor] = _Tanh.apply
"""Hyperbolic tangent, in the precision of its input."""


class RecurrentCell(nn.Module, ABC):
    """What all cells share: an input map, a hidden map, and an unroll over steps.

    Args:
        input_size: Width of a step's input.
        hidden_size: Width of the state.
    """

    num_gates: int

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input_map = Linear(input_size, self.num_gates * hidden_size)
        self.hidden_map = Linear(hidden_size, self.num_gates * hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def start(self, hidden: Tensor) -> State:
        """The state that begins with the given hidden vector, (batch, hidden)."""
        return (hidden,)

    def unroll(self, dtype: torch.dtype) -> Step:
        """Start a loop over steps in the given precision."""
        from_input, from_hidden = self.input_map.unroll(dtype), self.hidden_map.unroll(dtype)
        rest = self.hidden_map.bias.to(dtype)

        def step(inputs: Tensor, state: State | None) -> State:
            # A state of zeros needs no product: only the bias is left of the hidden map.
            hidden = rest.expand(inputs.shape[0], -1) if state is None else from_hidden(state[0])
            if state is None:
                state = self.start(inputs.new_zeros(inputs.shape[0], self.hidden_size))
            return self.gates(from_input(inputs), hidden, state)

        return step

    @abstractmethod
    def gates(self, inputs: Tensor, hidden: Tensor, state: State) -> State:
        """Combine the two maps, each (batch, num_gates * hidden_size), into the next state."""


class RNNCell(RecurrentCell):
    """Elman cell: h' = tanh(W x + U h + b)."""

    num_gates = 1

    def gates(self, inputs: Tensor, hidden: Tensor, state: State) -> State:
        """See the base class."""
        return (tanh(inputs + hidden),)


class GRUCell(RecurrentCell):
    """Gated recurrent unit (Cho et al. 2014, arXiv 1406.1078), in torch's form: the reset gate acts on U h + b."""

    num_gates = 3

    def gates(self, inputs: Tensor, hidden: Tensor, state: State) -> State:
        """See the base class; gates in torch's order: reset, update, new."""
        return (_gru_gates(inputs, hidden, state[0]),)


class LSTMCell(RecurrentCell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997) with forget gates: the state is (h, c), c is 0 first."""

    num_gates = 4

    def start(self, hidden: Tensor) -> State:
        """See the base class."""
        return (hidden, torch.zeros_like(hidden))

    def gates(self, inputs: Tensor, hidden: Tensor, state: State) -> State:
        """See the base class; gates in torch's order: input, forget, new, output."""
        write, forget, new, output = (inputs + hidden).chunk(4, dim=1)
        memory = forget.sigmoid() * state[1] + write.sigmoid() * tanh(new)
        return (output.sigmoid() * tanh(memory), memory)


class _GRUGates(torch.autograd.Function):
    """reset, update = sigmoid(i + h); new = tanh(i + reset * h); state' = new + update * (state - new)."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, hidden: Tensor, state: Tensor) -> Tensor:
        size = state.shape[1]
        reset_update = (inputs[:, : 2 * size] + hidden[:, : 2 * size]).sigmoid_()
        reset, update = reset_update.chunk(2, dim=1)
        hidden_new = hidden[:, 2 * size :].clone()  # a view would keep all of `hidden` in memory
        new = _Tanh.of(torch.addcmul(inputs[:, 2 * size :], reset, hidden_new))
        ctx.save_for_backward(reset_update, hidden_new, new, state)
        return torch.lerp(new, state, update)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        reset_update, hidden_new, new, state = ctx.saved_tensors
        reset, update = reset_update.chunk(2, dim=1)
        size = state.shape[1]
        to_state = gradient * update
        to_inputs = gradient.new_empty(gradient.shape[0], 3 * size)
        to_new = to_inputs[:, 2 * size :]
        torch.ops.aten.tanh_backward.grad_input(gradient - to_state, new, grad_input=to_new)
        gates = torch.empty_like(reset_update)
        torch.mul(to_new, hidden_new, out=gates[:, :size])
        torch.mul(gradient, state - new, out=gates[:, size:])
        torch.ops.aten.sigmoid_backward.grad_input(gates, reset_update, grad_input=to_inputs[:, : 2 * size])
        to_hidden = to_inputs.clone()
        to_hidden[:, 2 * size :].mul_(reset)
        return to_inputs, to_hidden, to_state


_gru_gates: Callable[[Tensor, Tensor, Tensor], Tensor] = _GRUGates.apply


CELLS: dict[str, type[RecurrentCell]] = {"rnn": RNNCell, "gru": GRUCell, "lstm": LSTMCell}
"""Cells by the names that users write."""
