"""Recurrent cells: one step from input and state to the next state.

Parameters have the shapes, gate order and meaning of torch's cells, so weights can be copied between them. Gradients
are hand-derived, so a step takes two matrix products and few passes over memory.
"""

from collections.abc import Callable
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from ecsuite.agents.linear import Linear, SymbolEmbedding
from ecsuite.agents.recurrence import (
    ElmanGates,
    Gates,
    GRUGates,
    LSTMGates,
    NodeGates,
    State,
    recurrence,
    tanh,
)
from ecsuite.agents.shared_states import Beginnings, select_states
from ecsuite.runtime.errors import ConfigError

Map = Callable[[Tensor], Tensor]
"""A function of rows."""

Step = Callable[[Tensor | None, State | None], State]
"""One step: input (batch, input) and state to the next state; one of them may be None, meaning zeros."""


class RecurrentCell(nn.Module):
    """Base class of cells: an input map, a hidden map, and the gates that combine their outputs."""

    num_gates: ClassVar[int]
    """Number of outputs of a map per unit of the state."""
    gates: ClassVar[Gates]
    """Gates that combine the outputs of the two maps."""
    has_bias = True

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size, width = hidden_size, self.num_gates * hidden_size
        self.input_map = Linear(input_size, width, bias=self.has_bias)
        self.hidden_map = Linear(hidden_size, width, bias=self.has_bias)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(hidden_size**-0.5), hidden_size**-0.5)

    def start(self, hidden: Tensor) -> State:
        """The initial state for a hidden vector, (batch, hidden)."""
        return self.gates.start(hidden)

    def summary(self, state: State) -> Tensor:
        """The part of a state that receivers use, (batch, hidden)."""
        return state[0]

    def reader(self, dtype: torch.dtype, embed: SymbolEmbedding | None = None) -> Map:
        """Make a function that preprocesses inputs, or symbols to embed first, of any number of steps at once.

        Returns:
            A function from (..., input_size), or from symbols, to the inputs of `advance`, (..., width).
        """
        return self.input_map.unroll(dtype) if embed is None else embed.unroll_into(self.input_map, dtype)

    def advance(self, dtype: torch.dtype) -> Step:
        """Start a loop over steps: from preprocessed input and state to the next state; see `unroll`."""
        recur, bias = recurrence(self.gates, self.hidden_map, dtype), self.input_map.bias

        def step(read: Tensor | None, state: State | None) -> State:
            if read is None:  # the map of a zero input is its bias
                assert state is not None, "a step needs an input or a state"
                width = self.input_map.out_features
                read = state[0].new_zeros(width) if bias is None else bias.to(dtype)
                read = read.expand(len(state[0]), -1)
            return recur(read, state or (), (len(read),))

        return step

    def unroll(self, dtype: torch.dtype) -> Step:
        """Start a loop over steps in the given precision."""
        read, advance = self.reader(dtype), self.advance(dtype)
        return lambda inputs, state: advance(None if inputs is None else read(inputs), state)

    def run(self, read: Tensor, dtype: torch.dtype, begun: Beginnings) -> tuple[Tensor, Tensor]:
        """Run all steps from a state of zeros.

        Args:
            read: Preprocessed symbols, (*symbols.shape, width); see `reader`.
            dtype: Precision of the computation.
            begun: Beginnings of the messages.

        Returns:
            Outputs and summaries of the states, (*symbols.shape, hidden).
        """
        recur = recurrence(self.gates, self.hidden_map, dtype)
        if begun.sizes is not None:
            outputs, *_ = recur(read, (), begun.sizes, begun.followed)
        else:
            sizes = (read.shape[1],) * len(read)
            outputs = recur(read.flatten(0, 1), (), sizes, begun.followed)[0].unflatten(0, read.shape[:2])
        return outputs, outputs


def stepwise(
    cell: RecurrentCell, read: Tensor, dtype: torch.dtype, begun: Beginnings
) -> tuple[Tensor, Tensor]:
    """`RecurrentCell.run` for a cell whose step consists of more than its gates."""
    step, states = cell.advance(dtype), list[State]()
    for inputs, places in zip(begun.steps(read), begun.followed, strict=True):
        states.append(step(inputs, select_states(states[-1], places) if states else None))
    outputs = begun.joined([state[0] for state in states])
    summaries = [cell.summary(state) for state in states]
    return outputs, outputs if summaries[0] is states[0][0] else begun.joined(summaries)


class RNNCell(RecurrentCell):
    """Elman cell: h' = tanh(W x + U h + b)."""

    num_gates, gates = 1, ElmanGates()


class GRUCell(RecurrentCell):
    """Gated recurrent unit (Cho et al. 2014, arXiv 1406.1078), in torch's form: the reset gate acts on U h + b."""

    num_gates, gates = 3, GRUGates()


class LSTMCell(RecurrentCell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997) with forget gates; state (h, c), initially c = 0."""

    num_gates, gates = 4, LSTMGates()


class DAGCell(RecurrentCell):
    """Cell of gated nodes without biases, from an architecture search (Liu et al. 2019, arXiv 1806.09055).

    With (c, x) the two halves of a map, a node interpolates between its predecessor s_p and an activation:
    s = s_p + sigmoid(c) (activation(x) - s_p). The predecessor of node 0 is the state, its map is the input and hidden
    map, its activation tanh; each other node has its own map (Dagan et al. 2020, arXiv 2001.03361). Weights are
    initialised by Glorot & Bengio's (2010) uniform rule.
    """

    num_gates, gates = 2, NodeGates()
    has_bias = False
    run = stepwise
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

    def advance(self, dtype: torch.dtype) -> Step:
        """See the base class."""
        maps = [cast(Linear, layer).unroll(dtype) for layer in self.node_maps]
        first = super().advance(dtype)

        def step(read: Tensor | None, state: State | None) -> State:
            values = [first(read, state)[0]]
            for (activation, predecessor), node_map in zip(self.nodes, maps, strict=True):
                value = values[predecessor]
                values.append(_gated_node(node_map(value), value, activation))
            return (torch.stack(values[1:]).mean(0) if self.takes_mean else values[-1],)

        return step


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
    run = stepwise
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
        """The initial state for a memory, (batch, hidden), with an output of zeros."""
        return (torch.zeros_like(hidden), hidden)

    def summary(self, state: State) -> Tensor:
        """The memory, because the output is mostly the last input."""
        return state[1]

    def reader(self, dtype: torch.dtype, embed: SymbolEmbedding | None = None) -> Map:
        """See the base class; the input is passed on unchanged."""
        return (lambda inputs: inputs) if embed is None else embed.unroll(dtype)

    def advance(self, dtype: torch.dtype) -> Step:
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
            forget, highway = (gates + memory.repeat(1, 2) * peephole + bias).sigmoid().chunk(2, dim=-1)
            memory = new + (memory - new) * forget
            output = ACTIVATIONS[self.output_activation](memory)
            return (inputs + (output - inputs) * highway, memory)

        return step


class TanhSRUCell(SRUCell):
    """A simple recurrent unit with tanh of the memory in the output, for inputs of zeros."""

    output_activation = "tanh"
