"""Recurrent cells: one step from input and state to the next state.

Parameters have the shapes, gate order and meaning of torch's cells, so weights can be copied between them. Gate
functions have explicit gradients, so a step takes two matrix products and few passes over memory.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from ecsuite.agents.linear import Linear, first_derivative_only
from ecsuite.agents.replicas import flattened, with_replicas
from ecsuite.runtime.errors import ConfigError

State = tuple[Tensor, ...]
"""State of a cell between steps, each entry (batch, hidden); the first entry is the output."""

Step = Callable[[Tensor | None, State | None], State]
"""One step: input (batch, input) and state to the next state; one of them may be None, meaning zeros."""


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
        # Doubling is exact in any precision, and allocates a new tensor for the in-place operations.
        return (inputs * 2).float().sigmoid_().mul_(2).sub_(1).to(inputs.dtype)


tanh: Callable[[Tensor], Tensor] = with_replicas(_Tanh, _Tanh.apply)
"""Hyperbolic tangent, in the precision of its input."""


class RecurrentCell(nn.Module, ABC):
    """Base class of cells: an input map, a hidden map, and a function that unrolls them over steps."""

    num_gates: int
    has_bias = True

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.input_map = Linear(input_size, self.num_gates * hidden_size, bias=self.has_bias)
        self.hidden_map = Linear(hidden_size, self.num_gates * hidden_size, bias=self.has_bias)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def start(self, hidden: Tensor) -> State:
        """The initial state for a hidden vector, (batch, hidden)."""
        return (hidden,)

    def summary(self, state: State) -> Tensor:
        """The part of a state that receivers use, (batch, hidden)."""
        return state[0]

    def unroll(self, dtype: torch.dtype) -> Step:
        """Start a loop over steps in the given precision."""
        from_input, from_hidden = self.input_map.unroll(dtype), self.hidden_map.unroll(dtype)
        input_bias, hidden_bias = (_bias_only(each, dtype) for each in (self.input_map, self.hidden_map))

        def step(inputs: Tensor | None, state: State | None) -> State:
            # A map of zeros is its bias, so no product is needed.
            if state is None:
                assert inputs is not None, "a step needs an input or a state"
                state = self.start(inputs.new_zeros(inputs.shape[0], self.hidden_size))
                hidden = hidden_bias.expand(inputs.shape[0], -1)
            else:
                hidden = from_hidden(state[0])
            input_gates = input_bias.expand(len(state[0]), -1) if inputs is None else from_input(inputs)
            return self.gates(input_gates, hidden, state)

        return step

    @abstractmethod
    def gates(self, inputs: Tensor, hidden: Tensor, state: State) -> State:
        """Combine the outputs of the two maps, each (batch, num_gates * hidden_size), into the next state."""


def _bias_only(layer: Linear, dtype: torch.dtype) -> Tensor:
    """Output of a map for an input of zeros, (num_gates * hidden_size,)."""
    if layer.bias is None:
        return layer.weight.new_zeros(layer.out_features, dtype=dtype)
    return layer.bias.to(dtype)


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
    """Long short-term memory (Hochreiter and Schmidhuber 1997) with forget gates; state (h, c), initially c = 0."""

    num_gates = 4

    def start(self, hidden: Tensor) -> State:
        """See the base class."""
        return (hidden, torch.zeros_like(hidden))

    def gates(self, inputs: Tensor, hidden: Tensor, state: State) -> State:
        """See the base class; gates in torch's order: input, forget, new, output."""
        output, memory = _lstm_gates(inputs, hidden, state[1])
        return (output, memory)


class _GRUGates(torch.autograd.Function):
    """reset, update = sigmoid(i + h); new = tanh(i + reset * h); state' = new + update * (state - new)."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, hidden: Tensor, state: Tensor) -> Tensor:
        size = state.shape[1]
        reset_update = (inputs[:, : 2 * size] + hidden[:, : 2 * size]).sigmoid_()
        reset, update = reset_update.chunk(2, dim=1)
        hidden_new = hidden[:, 2 * size :].clone()  # a view would keep all of `hidden` allocated
        new = _Tanh.of(torch.addcmul(inputs[:, 2 * size :], reset, hidden_new))
        ctx.save_for_backward(reset_update, hidden_new, new, state)
        return torch.lerp(new, state, update)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        reset_update, hidden_new, new, state = ctx.saved_tensors
        reset, update = reset_update.chunk(2, dim=1)
        size = state.shape[1]
        grad_state = gradient * update
        grad_inputs = gradient.new_empty(gradient.shape[0], 3 * size)
        grad_new = grad_inputs[:, 2 * size :]
        torch.ops.aten.tanh_backward.grad_input(gradient - grad_state, new, grad_input=grad_new)
        gates = torch.empty_like(reset_update)
        torch.mul(grad_new, hidden_new, out=gates[:, :size])
        torch.mul(gradient, state - new, out=gates[:, size:])
        torch.ops.aten.sigmoid_backward.grad_input(gates, reset_update, grad_input=grad_inputs[:, : 2 * size])
        grad_hidden = grad_inputs.clone()
        grad_hidden[:, 2 * size :].mul_(reset)
        return grad_inputs, grad_hidden, grad_state


_gru_gates: Callable[[Tensor, Tensor, Tensor], Tensor] = with_replicas(_GRUGates, flattened(_GRUGates))


def _sigmoid(part: Tensor) -> Tensor:
    """Of a part of each row; in bf16, where the bits are the same, of a copy: torch is slow at the ends of rows."""
    is_copied = part.dtype == torch.bfloat16 and part.shape[1] % 32 and part.device.type == "cpu"
    return part.clone(memory_format=torch.contiguous_format).sigmoid_() if is_copied else part.sigmoid()


class _LSTMGates(torch.autograd.Function):
    """memory' = sigmoid(forget) * memory + sigmoid(input) * tanh(new); output = sigmoid(output) * tanh(memory')."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, hidden: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        input_gate, forget, new, output = (inputs + hidden).chunk(4, dim=1)
        input_gate, forget, new, output = (
            _sigmoid(input_gate),
            _sigmoid(forget),
            _Tanh.of(new),
            _sigmoid(output),
        )
        next_memory = forget * memory + input_gate * new
        shown = _Tanh.of(next_memory)
        ctx.save_for_backward(input_gate, forget, new, output, memory, shown)
        ctx.set_materialize_grads(False)
        return output * shown, next_memory

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, of_output: Tensor | None, of_memory: Tensor | None) -> tuple[Tensor | None, ...]:
        input_gate, forget, new, output, memory, shown = ctx.saved_tensors
        size = memory.shape[1]
        gradient = memory.new_empty(len(memory), 4 * size)
        of_gate = gradient[:, 3 * size :]
        if of_output is None:
            of_gate.zero_()
        else:
            torch.ops.aten.sigmoid_backward.grad_input(of_output * shown, output, grad_input=of_gate)
            through = of_output * output
            through = through.addcmul(through * shown, shown, value=-1)
            of_memory = through if of_memory is None else of_memory + through
        if of_memory is None:
            return None, None, None
        for place, (factor, gate) in enumerate(((new, input_gate), (memory, forget))):
            part = gradient[:, place * size : (place + 1) * size]
            torch.ops.aten.sigmoid_backward.grad_input(of_memory * factor, gate, grad_input=part)
        of_new = of_memory * input_gate
        torch.addcmul(of_new, of_new * new, new, value=-1, out=gradient[:, 2 * size : 3 * size])
        return gradient, gradient, of_memory * forget


_lstm_gates: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]] = with_replicas(
    _LSTMGates, flattened(_LSTMGates)
)


class DAGCell(RecurrentCell):
    """A cell of gated nodes without biases, found by architecture search (Liu et al. 2019, arXiv 1806.09055).

    With (c, x) the two halves of a map, a node interpolates between its predecessor s_p and an activation:
    s = s_p + sigmoid(c) (activation(x) - s_p). The predecessor of node 0 is the state, its map is the input and hidden
    map, its activation tanh; each other node has its own map (Dagan et al. 2020, arXiv 2001.03361). Weights are
    initialised by Glorot & Bengio's (2010) uniform rule.
    """

    num_gates = 2
    has_bias = False
    nodes: tuple[tuple[str, int], ...]
    """Activation and index of the predecessor of each node after node 0."""
    takes_mean: bool
    """Whether the output is the mean of all nodes but node 0, rather than the last one."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__(input_size, hidden_size)
        node_maps = [Linear(hidden_size, 2 * hidden_size, bias=False) for _ in self.nodes]
        # Input and hidden map are initialised as one matrix of input_size + hidden_size rows.
        bound = (6 / (input_size + 3 * hidden_size)) ** 0.5
        nn.init.uniform_(self.input_map.weight, -bound, bound)
        nn.init.uniform_(self.hidden_map.weight, -bound, bound)
        for layer in node_maps:
            nn.init.xavier_uniform_(layer.weight)
        self.node_maps = nn.ModuleList(node_maps)

    def unroll(self, dtype: torch.dtype) -> Step:
        """See the base class."""
        maps = [cast(Linear, layer).unroll(dtype) for layer in self.node_maps]
        first = super().unroll(dtype)

        def step(inputs: Tensor | None, state: State | None) -> State:
            values = [first(inputs, state)[0]]
            for (activation, predecessor), node_map in zip(self.nodes, maps, strict=True):
                value = values[predecessor]
                values.append(_gated_node(node_map(value), value, activation))
            return (torch.stack(values[1:]).mean(0) if self.takes_mean else values[-1],)

        return step

    def gates(self, inputs: Tensor, hidden: Tensor, state: State) -> State:
        """Node 0; see the base class."""
        return (_gated_node(inputs + hidden, state[0], "tanh"),)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": tanh,
    "relu": torch.relu,
    "identity": lambda inputs: inputs,
}
"""Activations of a node by name."""


def _gated_node(maps: Tensor, value: Tensor, activation: str) -> Tensor:
    gate, new = maps.chunk(2, dim=-1)
    return value + gate.sigmoid() * (ACTIVATIONS[activation](new) - value)


class DgsendCell(DAGCell):
    """The cell that Dagan et al. (2020, arXiv 2001.03361) found for senders."""

    nodes = (("identity", 0),)
    takes_mean = False


class DgrecvCell(DAGCell):
    """The cell that Dagan et al. (2020, arXiv 2001.03361) found for receivers."""

    nodes = (("tanh", 0), ("tanh", 0), ("identity", 0), ("relu", 2))
    takes_mean = True


class SRUCell(RecurrentCell):
    """Simple recurrent unit (Lei et al. 2018, arXiv 1709.02755): element-wise recurrence with a highway output.

    Both gates depend on the previous memory; the state is (h, c). Input and state must have the same width.
    """

    num_gates = 3
    has_bias = False
    output_activation = "identity"

    def __init__(self, input_size: int, hidden_size: int) -> None:
        if input_size != hidden_size:
            raise ConfigError(
                f"sru: expected equal widths of input and state, got embedding_size={input_size} and "
                f"hidden_size={hidden_size}"
            )
        super().__init__(input_size, hidden_size)
        del self.hidden_map
        self.peephole = nn.Parameter(torch.empty(2 * hidden_size))
        self.bias = nn.Parameter(torch.zeros(2 * hidden_size))
        # Unit variance of the sum of the three terms of a gate (Lei et al. 2018, section 3.2).
        nn.init.uniform_(self.input_map.weight, -((3 / input_size) ** 0.5), (3 / input_size) ** 0.5)
        nn.init.uniform_(self.peephole, -(1.5**0.5), 1.5**0.5)
        with torch.no_grad():
            self.input_map.weight[hidden_size:] *= 0.5**0.5

    def start(self, hidden: Tensor) -> State:
        """The initial state for a memory, (batch, hidden); the output is zeros."""
        return (torch.zeros_like(hidden), hidden)

    def summary(self, state: State) -> Tensor:
        """The memory, because the output is mostly the last input."""
        return state[1]

    def unroll(self, dtype: torch.dtype) -> Step:
        """See the base class."""
        from_input = self.input_map.unroll(dtype)
        peephole, bias = self.peephole.to(dtype), self.bias.to(dtype)

        def step(inputs: Tensor | None, state: State | None) -> State:
            if state is None:
                assert inputs is not None, "a step needs an input or a state"
                state = self.start(torch.zeros_like(inputs))
            memory = state[1]
            if inputs is None:
                inputs = torch.zeros_like(memory)
                new, gates = inputs, torch.zeros_like(memory).repeat(1, 2)
            else:
                new, gates = from_input(inputs).split([self.hidden_size, 2 * self.hidden_size], dim=-1)
            gates = (gates + memory.repeat(1, 2) * peephole + bias).sigmoid()
            return self.gates(inputs, torch.cat([new, gates], dim=-1), state)

        return step

    def gates(self, inputs: Tensor, hidden: Tensor, state: State) -> State:
        """See the base class; `hidden` holds the new memory, forget gate and highway gate side by side."""
        new, forget, highway = hidden.chunk(3, dim=-1)
        memory = new + (state[1] - new) * forget
        output = ACTIVATIONS[self.output_activation](memory)
        return (inputs + (output - inputs) * highway, memory)


class TanhSRUCell(SRUCell):
    """A simple recurrent unit with tanh of the memory in the output, for inputs of zeros."""

    output_activation = "tanh"
