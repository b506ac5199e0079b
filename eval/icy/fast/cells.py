"""Fused recurrent cells and layers over a sequence of steps, for many replicas at once, in reused memory.

Tensors of a step are (replicas, features, batch). The gates of a cell are then blocks of rows, so memory accesses are
contiguous, and the rows of the state and of the input are stacked so that one product serves both. The input is
described by a `FoldedInput`: its embedding and the biases are folded into the cell's matrices once per update, not once
per step. The gradient of what a step has computed replaces it, so that little memory is needed.

The cells of `ecsuite.agents.cells` define the computation; tests compare these kernels with them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import DAGCell, DgrecvCell, DgsendCell, GRUCell, LSTMCell, RecurrentCell, RNNCell
from ecsuite.runtime.devices import default_products

Parameters = Mapping[str, Tensor]
"""A module's parameters by name, each with a leading replica dimension."""

State = tuple[Tensor, ...]
"""The entries of a cell's state, each (replicas, hidden, batch), or their gradients."""

Matrices = list[Tensor]
"""The matrices of a cell or another submodule, or their gradients."""

Groups = list[Matrices]
"""The matrices of an agent, by submodule."""

_MINUS_ONE = torch.tensor(-1.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldedInput:
    """Input of a cell: rows u such that the cell's input is `embedding u`."""

    embedding: Tensor | None
    """(replicas, input, rows); None for an input of zeros."""
    bias_coefficients: Tensor
    """(rows,); its product with u is always 1, so a bias can be written as a matrix times u."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SequenceSizes:
    """Sizes and device of a sequence."""

    replicas: int
    hidden: int
    length: int
    """Number of steps."""
    batch: int
    device: torch.device

    def zeros(self, rows: int) -> Tensor:
        """A tensor of a step, (replicas, rows, batch)."""
        return torch.zeros(self.replicas, rows, self.batch, device=self.device)

    def states(self, num_entries: int) -> list[State]:
        """Entries of a state for each step and the one after it."""
        return [tuple(self.zeros(self.hidden) for _ in range(num_entries)) for _ in range(self.length + 1)]


class Steps:
    """Memory of each step and the one after it, (replicas, rows, batch) each."""

    def __init__(self, sizes: SequenceSizes, rows: int) -> None:
        self.parts = [sizes.zeros(rows) for _ in range(sizes.length + 1)]

    def __getitem__(self, step: int) -> Tensor:
        """The memory of a step."""
        return self.parts[step]

    def rows(self, start: int, stop: int | None = None) -> list[Tensor]:
        """Some of the rows, by step."""
        return [part[:, start:stop] for part in self.parts]


class FusedCell(ABC):
    """A cell over a sequence of steps.

    Args:
        sizes: Sizes of the sequence.
        num_rows: Number of input rows.
    """

    num_entries: ClassVar[int] = 1
    """Number of entries of the cell's state."""

    def __init__(self, sizes: SequenceSizes, num_rows: int) -> None:
        self.sizes = sizes
        self.inputs = Steps(sizes, sizes.hidden + num_rows)
        """The stacked input of each step: the first entry of the state before it, and below it the input rows."""
        self.hidden, self.rows = self.inputs.rows(0, sizes.hidden), self.inputs.rows(sizes.hidden)
        self.grad_input = sizes.zeros(sizes.hidden + num_rows)
        """The gradient of the stacked input of the step that `backward` processed last."""
        self.grad_hidden, self.grad_rows = self.grad_input.split([sizes.hidden, num_rows], dim=1)

    def set_rows(self, value: float, *, first: int = 0) -> None:
        """Set the input rows of all steps, from one of them on."""
        for rows in self.rows:
            rows[:, first:].fill_(value)

    @staticmethod
    def matrices(parameters: Parameters, folded_input: FoldedInput) -> Matrices:
        """The matrices that `forward` multiplies by, with the input folded in; differentiable.

        By default one: hidden and input map side by side, with all biases folded in.
        """
        input_columns = (
            _folded_input_map(parameters, folded_input)
            + parameters["hidden_map.bias"].unsqueeze(-1) * folded_input.bias_coefficients
        )
        return [torch.cat([parameters["hidden_map.weight"], input_columns], dim=-1)]

    @abstractmethod
    def forward(self, step: int, matrices: Matrices, state: State, after: State) -> None:
        """Write the state after a step.

        Args:
            step: Number of the step.
            matrices: Matrices of the cell.
            state: The state before it, whose first entry is part of the stacked input; `backward` reads it again.
            after: Where the next state is written.
        """

    @abstractmethod
    def backward(self, step: int, matrices: Matrices, state: State, grad_after: State) -> State:
        """Write the gradient of the stacked input of a step.

        Args:
            step: Number of the step.
            matrices: As in `forward`.
            state: As in `forward`.
            grad_after: Gradients of the next state; may be overwritten, and the first may be `grad_hidden`.

        Returns:
            The gradients of the state's entries except the first.
        """

    @abstractmethod
    def factors(self) -> list[tuple[Sequence[Tensor], Sequence[Tensor]]]:
        """Per matrix: the gradients of its products by step, and the operands it was multiplied with by step."""

    def gradients(self) -> Matrices:
        """The gradients of the matrices, after `backward` of all steps.

        The steps of one matrix follow each other, so that its gradient stays in the processor's cache.
        """
        return [_summed(products, operands, self.sizes.length) for products, operands in self.factors()]


class _FusedRNNCell(FusedCell):
    """Elman cell."""

    def __init__(self, sizes: SequenceSizes, num_rows: int) -> None:
        super().__init__(sizes, num_rows)
        self.sums = Steps(sizes, sizes.hidden)

    def forward(self, step: int, matrices: Matrices, state: State, after: State) -> None:
        after[0].copy_(tanh_(torch.bmm(matrices[0], self.inputs[step], out=self.sums[step])))

    def backward(self, step: int, matrices: Matrices, state: State, grad_after: State) -> State:
        grad_sum = self.sums[step]
        _tanh_backward(grad_after[0], grad_sum, grad_sum)
        torch.bmm(matrices[0].mT, grad_sum, out=self.grad_input)
        return ()

    def factors(self) -> list[tuple[Sequence[Tensor], Sequence[Tensor]]]:
        return [(self.sums.parts, self.inputs.parts)]


class _FusedGRUCell(FusedCell):
    """Gated recurrent unit in torch's form. The new gate has two products, since the reset gate scales one of them."""

    def __init__(self, sizes: SequenceSizes, num_rows: int) -> None:
        super().__init__(sizes, num_rows)
        self.maps, self.new = Steps(sizes, 3 * sizes.hidden), Steps(sizes, sizes.hidden)
        self.gates = self.maps.rows(0, 2 * sizes.hidden)
        self.parts = [part.chunk(3, dim=1) for part in self.maps.parts]
        self.grad_gates = sizes.zeros(2 * sizes.hidden)

    @staticmethod
    def matrices(parameters: Parameters, folded_input: FoldedInput) -> Matrices:
        """The matrix for the whole stacked input, and the input map of the new gate."""
        input_matrix = _folded_input_map(parameters, folded_input)
        gates = 2 * input_matrix.shape[-2] // 3
        new_bias = parameters["hidden_map.bias"][..., gates:, None] * folded_input.bias_coefficients
        input_columns = torch.cat(
            [
                input_matrix[..., :gates, :]
                + parameters["hidden_map.bias"][..., :gates, None] * folded_input.bias_coefficients,
                new_bias,
            ],
            dim=-2,
        )
        return [
            torch.cat([parameters["hidden_map.weight"], input_columns], dim=-1),
            input_matrix[..., gates:, :],
        ]

    def forward(self, step: int, matrices: Matrices, state: State, after: State) -> None:
        torch.bmm(matrices[0], self.inputs[step], out=self.maps[step])
        self.gates[step].sigmoid_()
        reset, update, hidden_new = self.parts[step]
        # A single row is multiplied without a matrix product, here and in `backward`: the sums of that product are in
        # another order for one replica than for several, so a run would depend on the runs in its batch.
        product = torch.mul if self.rows[step].shape[1] == 1 else torch.bmm
        with default_products(self.sizes.device):
            new = product(matrices[1], self.rows[step], out=self.new[step])
        tanh_(new.addcmul_(reset, hidden_new))
        torch.lerp(new, state[0], update, out=after[0])

    def backward(self, step: int, matrices: Matrices, state: State, grad_after: State) -> State:
        reset, update, hidden_new = self.parts[step]
        new, grad_hidden = self.new[step], grad_after[0]
        grad_reset, grad_update = self.grad_gates.chunk(2, dim=1)
        grad_carry = grad_hidden * update
        torch.sub(state[0], new, out=grad_update).mul_(grad_hidden)
        _tanh_backward(grad_hidden - grad_carry, new, new)  # now the gradient of the argument of tanh
        torch.mul(new, hidden_new, out=grad_reset)
        torch.mul(new, reset, out=hidden_new)
        _sigmoid_backward(self.grad_gates, self.gates[step], self.gates[step])
        torch.bmm(matrices[0].mT, self.maps[step], out=self.grad_input)
        if self.rows[step].shape[1] == 1:
            self.grad_rows.add_((matrices[1] * new).sum(1, keepdim=True))
        else:
            with default_products(self.sizes.device):
                self.grad_rows.baddbmm_(matrices[1].mT, new)
        self.grad_hidden.add_(grad_carry)
        return ()

    def factors(self) -> list[tuple[Sequence[Tensor], Sequence[Tensor]]]:
        return [(self.maps.parts, self.inputs.parts), (self.new.parts, self.rows)]


class _FusedLSTMCell(FusedCell):
    """Long short-term memory. On CPU, as tanh(x) = 2 sigmoid(2x) - 1, one pass gives all gates."""

    num_entries = 2

    def __init__(self, sizes: SequenceSizes, num_rows: int) -> None:
        super().__init__(sizes, num_rows)
        self.gates = Steps(sizes, 4 * sizes.hidden)
        self.parts = [part.chunk(4, dim=1) for part in self.gates.parts]
        self.input_forget = self.gates.rows(0, 2 * sizes.hidden)
        self.tanh_memory = [sizes.zeros(sizes.hidden) for _ in range(sizes.length)]
        self.grad_gates = sizes.zeros(4 * sizes.hidden)
        self.grad_parts = self.grad_gates.chunk(4, dim=1)

    def forward(self, step: int, matrices: Matrices, state: State, after: State) -> None:
        gates = torch.bmm(matrices[0], self.inputs[step], out=self.gates[step])
        input_gate, forget, new, output = self.parts[step]
        if gates.device.type != "cpu":
            self.input_forget[step].sigmoid_()
            new.tanh_()
            output.sigmoid_()
            memory = torch.mul(forget, state[1], out=after[1]).addcmul_(input_gate, new)
            torch.mul(output, torch.tanh(memory, out=self.tanh_memory[step]), out=after[0])
            return
        new.add_(new)
        gates.sigmoid_()
        torch.add(_MINUS_ONE, new, alpha=2, out=new)
        memory = torch.mul(forget, state[1], out=after[1]).addcmul_(input_gate, new)
        tanh_memory = torch.add(memory, memory, out=self.tanh_memory[step]).sigmoid_()
        torch.add(_MINUS_ONE, tanh_memory, alpha=2, out=tanh_memory)
        torch.mul(output, tanh_memory, out=after[0])

    def backward(self, step: int, matrices: Matrices, state: State, grad_after: State) -> State:
        input_gate, forget, new, output = self.parts[step]
        grad_input_gate, grad_forget, grad_new, grad_output = self.grad_parts
        tanh_memory, (grad_hidden, grad_memory) = self.tanh_memory[step], grad_after
        torch.mul(grad_hidden, output, out=grad_new)
        _tanh_backward(grad_new, tanh_memory, grad_new)
        grad_memory.add_(grad_new)
        torch.mul(grad_memory, new, out=grad_input_gate)
        torch.mul(grad_memory, state[1], out=grad_forget)
        torch.mul(grad_memory, input_gate, out=grad_new)
        torch.mul(grad_hidden, tanh_memory, out=grad_output)
        grad_memory.mul_(forget)
        _tanh_backward(grad_new, new, new)
        _sigmoid_backward(self.grad_gates[:, : 2 * self.sizes.hidden], *[self.input_forget[step]] * 2)
        _sigmoid_backward(grad_output, output, output)
        torch.bmm(matrices[0].mT, self.gates[step], out=self.grad_input)
        return (grad_memory,)

    def factors(self) -> list[tuple[Sequence[Tensor], Sequence[Tensor]]]:
        return [(self.gates.parts, self.inputs.parts)]


class _FusedDAGCell(FusedCell):
    """A cell of gated nodes, which its class defines: `DAGCell`."""

    cell: ClassVar[type[DAGCell]]

    def __init__(self, sizes: SequenceSizes, num_rows: int) -> None:
        super().__init__(sizes, num_rows)
        self.nodes = (("tanh", -1), *self.cell.nodes)
        self.maps = [Steps(sizes, 2 * sizes.hidden) for _ in self.nodes]
        """Products of each node, then its gate and its activation."""
        self.parts = [[part.chunk(2, dim=1) for part in maps.parts] for maps in self.maps]
        self.values = [Steps(sizes, sizes.hidden) for _ in self.nodes[: None if self.cell.takes_mean else -1]]
        """The value of each node, except the last node if its value is the next state."""
        self.grad_gate = sizes.zeros(sizes.hidden)

    @staticmethod
    def matrices(parameters: Parameters, folded_input: FoldedInput) -> Matrices:
        """One matrix per node."""
        first = parameters["hidden_map.weight"]
        if folded_input.embedding is not None:
            first = torch.cat([first, parameters["input_map.weight"] @ folded_input.embedding], dim=-1)
        elif len(folded_input.bias_coefficients):
            first = torch.cat(
                [first, first.new_zeros(*first.shape[:-1], len(folded_input.bias_coefficients))], dim=-1
            )
        num_others = sum(name.startswith("node_maps.") for name in parameters)
        return [first, *(parameters[f"node_maps.{index}.weight"] for index in range(num_others))]

    def forward(self, step: int, matrices: Matrices, state: State, after: State) -> None:
        for index, (activation, predecessor) in enumerate(self.nodes):
            operand = self.values[predecessor][step] if index else self.inputs[step]
            torch.bmm(matrices[index], operand, out=self.maps[index][step])
            gate, new = self.parts[index][step]
            gate.sigmoid_()
            _ACTIVATIONS[activation](new)
            before = self.values[predecessor][step] if index else state[0]
            value = after[0] if index == len(self.values) else self.values[index][step]
            torch.lerp(before, new, gate, out=value)
        if self.cell.takes_mean:
            torch.mean(torch.stack([value[step] for value in self.values[1:]]), 0, out=after[0])

    def backward(self, step: int, matrices: Matrices, state: State, grad_after: State) -> State:
        number = len(self.nodes)
        grad_values: list[Tensor | None] = [None] * number
        if self.cell.takes_mean:
            grad_values[1:] = [grad_after[0] / (number - 1)] * (number - 1)
        else:
            grad_values[-1] = grad_after[0]
        for index in reversed(range(number)):
            (activation, predecessor), grad_value = self.nodes[index], grad_values[index]
            assert grad_value is not None
            gate, new = self.parts[index][step]
            before = self.values[predecessor][step] if index else state[0]
            torch.sub(new, before, out=self.grad_gate).mul_(grad_value)
            grad_before = torch.addcmul(grad_value, grad_value, gate, value=-1)
            _ACTIVATION_BACKWARD[activation](grad_value, gate, new)
            _sigmoid_backward(self.grad_gate, gate, gate)
            if index:
                grad_before.baddbmm_(matrices[index].mT, self.maps[index][step])
                others = grad_values[predecessor]
                grad_values[predecessor] = grad_before if others is None else others + grad_before
            else:
                torch.bmm(matrices[0].mT, self.maps[0][step], out=self.grad_input)
                self.grad_hidden.add_(grad_before)
        return ()

    def factors(self) -> list[tuple[Sequence[Tensor], Sequence[Tensor]]]:
        operands = [self.inputs, *(self.values[predecessor] for _, predecessor in self.nodes[1:])]
        return [(maps.parts, operand.parts) for maps, operand in zip(self.maps, operands, strict=True)]


class _FusedDgsendCell(_FusedDAGCell):
    """The cell for senders."""

    cell = DgsendCell


class _FusedDgrecvCell(_FusedDAGCell):
    """The cell for receivers."""

    cell = DgrecvCell


def tanh_(inputs: Tensor) -> Tensor:
    """Hyperbolic tangent in place; 2 sigmoid(2x) - 1 on CPU, where torch's tanh can be ten times slower."""
    if inputs.device.type != "cpu":
        return inputs.tanh_()
    inputs.add_(inputs).sigmoid_()
    return torch.add(_MINUS_ONE, inputs, alpha=2, out=inputs)


def _summed(grad_products: Sequence[Tensor], operands: Sequence[Tensor], length: int) -> Tensor:
    """The gradient of a matrix: the sum over steps."""
    if operands[0].shape[1] == 1:  # without a matrix product: see `_FusedGRUCell.forward`
        sums = [(grad_products[step] * operands[step]).sum(2, keepdim=True) for step in range(length)]
        return torch.stack(sums).sum(0)
    total = torch.bmm(grad_products[length - 1], operands[length - 1].mT)
    for step in reversed(range(length - 1)):
        total.baddbmm_(grad_products[step], operands[step].mT)
    return total


def _folded_input_map(parameters: Parameters, folded_input: FoldedInput) -> Tensor:
    """The input map with the embedding and its own bias folded in, (replicas, gates * hidden, rows)."""
    bias = parameters["input_map.bias"].unsqueeze(-1) * folded_input.bias_coefficients
    if folded_input.embedding is None:
        return bias
    return torch.baddbmm(bias, parameters["input_map.weight"], folded_input.embedding)


def _sigmoid_backward(gradient: Tensor, output: Tensor, out: Tensor) -> None:
    torch.ops.aten.sigmoid_backward.grad_input(gradient, output, grad_input=out)


def _tanh_backward(gradient: Tensor, output: Tensor, out: Tensor) -> None:
    torch.ops.aten.tanh_backward.grad_input(gradient, output, grad_input=out)


_ACTIVATIONS: dict[str, Callable[[Tensor], object]] = {
    "tanh": tanh_,
    "relu": torch.relu_,
    "identity": lambda inputs: inputs,
}

_ACTIVATION_BACKWARD: dict[str, Callable[[Tensor, Tensor, Tensor], object]] = {
    "tanh": lambda gradient, gate, output: _tanh_backward(gradient * gate, output, output),
    "relu": lambda gradient, gate, output: torch.mul(gradient * gate, output > 0, out=output),
    "identity": lambda gradient, gate, output: torch.mul(gradient, gate, out=output),
}
"""Functions that replace a node's activation (3rd argument) by its gradient, given the node's gradient and gate."""

FUSED_CELLS: dict[type[RecurrentCell], type[FusedCell]] = {
    RNNCell: _FusedRNNCell,
    GRUCell: _FusedGRUCell,
    LSTMCell: _FusedLSTMCell,
    DgsendCell: _FusedDgsendCell,
    DgrecvCell: _FusedDgrecvCell,
}
"""The fused kernel of each class of cells that has one."""

SMALL_PRODUCT = 10_000_000
"""Multiplications and additions of one replica's product from which oneDNN is faster despite its start-up."""


class Layer:
    """A cell over a sequence of steps, its matrices, and its states."""

    def __init__(self, cell: type[FusedCell], sizes: SequenceSizes, num_rows: int) -> None:
        self.cell = cell(sizes, num_rows)
        self.matrices: Matrices = []
        others = sizes.states(cell.num_entries - 1)
        self.states: list[State] = [
            (hidden, *rest) for hidden, rest in zip(self.cell.hidden, others, strict=True)
        ]
        """The state before each step, and the last one."""

    def products(self) -> AbstractContextManager[None]:
        """Select the library of the matrix products: for small products the one that starts faster."""
        largest = max(matrix[0].numel() for matrix in self.matrices)
        is_small = 2 * largest * self.cell.sizes.batch < SMALL_PRODUCT
        return default_products(self.cell.sizes.device) if is_small else nullcontext()

    def forward(self, step: int, after: State | None = None) -> None:
        """Write the state after a step into `after`, by default into the state before the next step."""
        with self.products():
            self.cell.forward(step, self.matrices, self.states[step], after or self.states[step + 1])

    def backward(self, step: int, grad_after: State) -> State:
        """The gradient of the state before a step; `grad_after`, of the state after it, may be overwritten."""
        with self.products():
            others = self.cell.backward(step, self.matrices, self.states[step], grad_after)
        return (self.cell.grad_hidden, *others)

    def gradients(self) -> Matrices:
        """The gradients of the matrices, after `backward` of all steps."""
        with self.products():
            return self.cell.gradients()

    def begin_backward(self) -> State:
        """Gradient of the last state before the first step back: zero."""
        self.cell.grad_input.zero_()
        return (self.cell.grad_hidden, *(torch.zeros_like(entry) for entry in self.states[0][1:]))


class Layers:
    """The layers of an agent over one sequence; each gets the outputs of the layer below."""

    def __init__(self, cell: type[FusedCell], sizes: SequenceSizes, groups: Groups) -> None:
        self.sizes = sizes
        self.layers = [Layer(cell, sizes, group[0].shape[-1] - sizes.hidden) for group in groups]
        self.gradients: list[State] = []
        """Gradients of the layers' states at the current step of `backward`."""

    def forward(self, step: int) -> Tensor:
        """Write the states after a step; returns the output of the last layer."""
        for below, layer in enumerate(self.layers, start=-1):
            if below >= 0:
                layer.cell.rows[step][:, : self.sizes.hidden].copy_(self.layers[below].states[step + 1][0])
            layer.forward(step)
        return self.layers[-1].states[step + 1][0]

    def begin_backward(self) -> None:
        """Set the gradients of the last states to zero."""
        self.gradients = [layer.begin_backward() for layer in self.layers]

    def backward(self, step: int) -> None:
        """Backward pass of one step; the caller has added the gradient of its output to `gradients[-1]`."""
        above: Layer | None = None
        for index, layer in reversed(list(enumerate(self.layers))):
            if above is not None:
                self.gradients[index][0].add_(above.cell.grad_rows[:, : self.sizes.hidden])
            self.gradients[index] = layer.backward(step, self.gradients[index])
            above = layer


class HierarchicalLayers(Layers):
    """Two layers; the state of the upper one is interpolated by the stopness of the lower one."""

    def __init__(self, cell: type[FusedCell], sizes: SequenceSizes, groups: Groups) -> None:
        super().__init__(cell, sizes, groups)
        self.stepped = sizes.states(cell.num_entries)
        """The states that the upper cell would have if the lower one had stopped, after each step."""


class FusedAgent:
    """Base class of fused senders and receivers: their recurrent cells, and reused memory."""

    def __init__(self, cell: type[FusedCell], agent: nn.Module) -> None:
        cells = recurrent_cells(agent)
        self.cell, self.num_layers = cell, len(cells)
        self.has_bias, self.size = cells[0].has_bias, cells[0].hidden_size
        self._free: list[Layers] = []

    def borrow_layers(self, replicas: int, length: int, batch: int, groups: Groups) -> Layers:
        """Layers with these matrices, in memory that `release` returned if it has these sizes."""
        device = groups[0][0].device
        sizes = SequenceSizes(replicas=replicas, hidden=self.size, length=length, batch=batch, device=device)
        self._free = [layers for layers in self._free if layers.sizes == sizes]
        layers = self._free.pop() if self._free else self.make_layers(sizes, groups)
        for layer, matrices in zip(layers.layers, groups, strict=True):
            layer.matrices = matrices
        return layers

    def make_layers(self, sizes: SequenceSizes, groups: Groups) -> Layers:
        """New layers of these sizes, with the constant input rows."""
        return self.with_biases(Layers(self.cell, sizes, groups))

    def with_biases(self, layers: Layers) -> Layers:
        """Fill the bias row of all layers but the lowest, if cells have biases."""
        for layer in layers.layers[1:]:
            layer.cell.set_rows(1, first=self.size)
        return layers

    def release(self, layers: Layers) -> None:
        """Return the memory of a sequence for reuse."""
        self._free.append(layers)

    def layer_matrices(self, parameters: Parameters, lowest: FoldedInput) -> Groups:
        """Matrices of each of the `cells` of an agent; `lowest` is the input of the first."""
        inputs = [lowest]
        if self.num_layers > 1:
            between = layer_below(parameters["cells.0.hidden_map.weight"], has_bias=self.has_bias)
            inputs += [between] * (self.num_layers - 1)
        return [
            self.cell.matrices(submodule_parameters(parameters, f"cells.{layer}."), layer_input)
            for layer, layer_input in enumerate(inputs)
        ]


def recurrent_cells(agent: nn.Module) -> list[RecurrentCell]:
    """The cells of a sender or receiver."""
    return [module for module in agent.modules() if isinstance(module, RecurrentCell)]


def common_fused_cell(agent: nn.Module) -> type[FusedCell] | None:
    """The fused kernel of all cells of an agent, or None if there is none or they are of several classes."""
    # Exactly these classes: a subclass may compute something else.
    first, *others = {type(cell) for cell in recurrent_cells(agent)}
    return None if others else FUSED_CELLS.get(first)


def layer_below(weight: Tensor, *, has_bias: bool) -> FoldedInput:
    """Input from the layer below: its output, and a row of ones if cells have biases.

    `weight`: a hidden map's, (replicas, gates * hidden, hidden); only its sizes are used.
    """
    size = weight.shape[-1]
    bias_coefficients = weight.new_zeros(size + has_bias)
    bias_coefficients[size:].fill_(1)
    embedding = torch.eye(size, size + has_bias, device=weight.device, dtype=weight.dtype)
    return FoldedInput(embedding=embedding.expand(len(weight), -1, -1), bias_coefficients=bias_coefficients)


def submodule_parameters(parameters: Parameters, prefix: str) -> Parameters:
    """The parameters of a submodule, without the prefix of their names."""
    return {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}


def lerp_states(old: State, new: State, weight: Tensor, out: State) -> None:
    """Interpolate all entries of a state from old to new, weight (replicas, 1, batch)."""
    for old_entry, new_entry, out_entry in zip(old, new, out, strict=True):
        torch.lerp(old_entry, new_entry, weight, out=out_entry)


def lerp_backward(grad_mixed: State, old: State, new: State, weight: Tensor) -> tuple[State, State, Tensor]:
    """Gradients of the old state, the new state and the weight of `lerp_states`."""
    grad_new = tuple(entry * weight for entry in grad_mixed)
    grad_old = tuple(entry - grad_entry for entry, grad_entry in zip(grad_mixed, grad_new, strict=True))
    grad_weight = torch.zeros_like(weight)
    for entry, old_entry, new_entry in zip(grad_mixed, old, new, strict=True):
        grad_weight += (new_entry - old_entry).mul_(entry).sum(1, keepdim=True)
    return grad_old, grad_new, grad_weight


def add_states(one: State, other: State) -> State:
    """The sum of two gradients of a state."""
    return tuple(torch.add(*entries) for entries in zip(one, other, strict=True))


def head_gradients(grad_rows: Tensor, outputs: Sequence[Tensor]) -> Matrices:
    """Gradients of an output layer: grad_rows (length, replicas, rows, batch), an output (replicas, hidden, batch)."""
    wide = grad_rows.permute(1, 2, 0, 3).flatten(2)
    return [torch.bmm(wide, torch.cat(list(outputs), dim=2).mT), wide.sum(2, keepdim=True)]


def grouped(flat: Iterable[Tensor], sizes: list[int]) -> Groups:
    """Split tensors into groups of the given sizes."""
    iterator = iter(flat)
    return [[next(iterator) for _ in range(size)] for size in sizes]
