"""Fused recurrent cells: forward and backward of one step, for many replicas at once.

Tensors are (replicas, features, batch). The gates of a cell are then blocks of rows, so memory accesses are contiguous,
and the rows of the state and of the input are stacked so that one product serves both. The input is described by a
`FoldedInput`: its embedding and the biases are folded into the cell's matrices once per update, not once per step.

The cells of `ecsuite.agents.cells` define the computation; tests compare these kernels with them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ecsuite.agents.cells import DAGCell, DgrecvCell, DgsendCell, GRUCell, LSTMCell, RecurrentCell, RNNCell

Parameters = Mapping[str, Tensor]
"""A module's parameters by name, each with a leading replica dimension."""

Saved = tuple[Tensor, ...]
"""Tensors that a forward step saves for its backward step; also the type of states."""

Matrices = list[Tensor]
"""The matrices of a cell or another submodule, or their gradients."""

Groups = list[Matrices]
"""Those of an agent, by submodule."""

StepGradients = tuple[Tensor, Saved]
"""The gradient of `stacked_input`, and of the state's entries except the first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldedInput:
    """Input of a cell: rows u such that the cell's input is `embedding u`."""

    embedding: Tensor | None
    """(replicas, input, rows); None for an input of zeros."""
    bias_coefficients: Tensor
    """(rows,); its product with u is always 1, so a bias can be written as a matrix times u."""


class FusedCell(ABC):
    """One step of a cell.

    A state is a tuple of (replicas, hidden, batch); `stacked_input` is its first entry, and below it the input rows.
    """

    @abstractmethod
    def matrices(self, parameters: Parameters, folded_input: FoldedInput) -> Matrices:
        """The matrices that `forward` multiplies by, with the input folded in; differentiable."""

    @abstractmethod
    def forward(self, matrices: Matrices, stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """The next state, and the tensors that `backward` needs."""

    @abstractmethod
    def backward(
        self, matrices: Matrices, gradients: Matrices, saved: Saved, grad_state: Saved
    ) -> StepGradients:
        """Gradients of a step.

        Args:
            matrices: As in `forward`.
            gradients: Gradients of the matrices, accumulated in place.
            saved: The tensors that `forward` saved.
            grad_state: Gradients of the next state; may be overwritten.
        """


class FusedRNNCell(FusedCell):
    """Elman cell."""

    def matrices(self, parameters: Parameters, folded_input: FoldedInput) -> Matrices:
        """See the base class."""
        return [_stacked_matrix(parameters, folded_input)]

    def forward(self, matrices: Matrices, stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """See the base class."""
        hidden = tanh_(torch.bmm(matrices[0], stacked_input))
        return (hidden,), (stacked_input, hidden)

    def backward(
        self, matrices: Matrices, gradients: Matrices, saved: Saved, grad_state: Saved
    ) -> StepGradients:
        """See the base class."""
        stacked_input, hidden = saved
        grad_sum = torch.ops.aten.tanh_backward(grad_state[0], hidden)
        return _matmul_backward(matrices[0], gradients[0], stacked_input, grad_sum), ()


class FusedGRUCell(FusedCell):
    """Gated recurrent unit in torch's form. The new gate has two products, since the reset gate scales one of them."""

    def matrices(self, parameters: Parameters, folded_input: FoldedInput) -> Matrices:
        """See the base class: the matrix for the whole stacked input, and the input map of the new gate."""
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

    def forward(self, matrices: Matrices, stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """See the base class."""
        size = state[0].shape[-2]
        maps = torch.bmm(matrices[0], stacked_input)
        reset_update, hidden_new = maps[:, : 2 * size], maps[:, 2 * size :]
        reset, update = reset_update.sigmoid_().chunk(2, dim=-2)
        new = tanh_(_input_product(matrices[1], stacked_input[:, size:]).addcmul_(reset, hidden_new))
        return (torch.lerp(new, state[0], update),), (stacked_input, maps, new)

    def backward(
        self, matrices: Matrices, gradients: Matrices, saved: Saved, grad_state: Saved
    ) -> StepGradients:
        """See the base class."""
        stacked_input, maps, new = saved
        size = new.shape[-2]
        reset, update, hidden_new = maps.chunk(3, dim=-2)
        grad_hidden = grad_state[0]
        grad_carry = grad_hidden * update
        grad_new = torch.ops.aten.tanh_backward(grad_hidden - grad_carry, new)
        grad_maps = torch.empty_like(maps)
        torch.mul(grad_new, hidden_new, out=grad_maps[:, :size])
        torch.mul(grad_hidden, stacked_input[:, :size] - new, out=grad_maps[:, size : 2 * size])
        _sigmoid_backward_(grad_maps[:, : 2 * size], maps[:, : 2 * size])
        torch.mul(grad_new, reset, out=grad_maps[:, 2 * size :])
        grad_stacked_input = _matmul_backward(matrices[0], gradients[0], stacked_input, grad_maps)
        rows = stacked_input[:, size:]
        if rows.shape[1] == 1:
            gradients[1] += (grad_new * rows).sum(2, keepdim=True)
            grad_stacked_input[:, size:] += (matrices[1] * grad_new).sum(1, keepdim=True)
        else:
            gradients[1].baddbmm_(grad_new, rows.mT)
            grad_stacked_input[:, size:] += torch.bmm(matrices[1].mT, grad_new)
        grad_stacked_input[:, :size] += grad_carry
        return grad_stacked_input, ()


def _input_product(matrix: Tensor, rows: Tensor) -> Tensor:
    """The product with the input rows.

    A single row is multiplied without a matrix product, here and in the backward step: the sums of that product are in
    another order for one replica than for several, so a run would depend on those beside it.
    """
    return matrix * rows if rows.shape[1] == 1 else torch.bmm(matrix, rows)


class FusedLSTMCell(FusedCell):
    """Long short-term memory. The new gate's rows are doubled: as tanh(x) = 2 sigmoid(2x) - 1, one pass is enough."""

    def matrices(self, parameters: Parameters, folded_input: FoldedInput) -> Matrices:
        """See the base class."""
        stacked = _stacked_matrix(parameters, folded_input)
        size = stacked.shape[-2] // 4
        doubled = stacked.new_ones(4, 1)
        doubled[2] = 2.0
        return [stacked * doubled.repeat_interleave(size, dim=0)]

    def forward(self, matrices: Matrices, stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """See the base class."""
        gates = torch.bmm(matrices[0], stacked_input).sigmoid_()
        input_gate, forget, half_new, output = gates.chunk(4, dim=-2)
        new = (half_new * 2).sub_(1)
        memory = (forget * state[1]).addcmul_(input_gate, new)
        tanh_memory = tanh_(memory.clone())
        return (output * tanh_memory, memory), (stacked_input, gates, new, state[1], tanh_memory)

    def backward(
        self, matrices: Matrices, gradients: Matrices, saved: Saved, grad_state: Saved
    ) -> StepGradients:
        """See the base class."""
        stacked_input, gates, new, old_memory, tanh_memory = saved
        input_gate, forget, _, output = gates.chunk(4, dim=-2)
        grad_hidden, grad_memory = grad_state
        grad_memory = grad_memory + torch.ops.aten.tanh_backward(grad_hidden * output, tanh_memory)
        grad_gates = torch.empty_like(gates)
        grad_input_gate, grad_forget, grad_new, grad_output = grad_gates.chunk(4, dim=-2)
        torch.mul(grad_memory, new, out=grad_input_gate)
        torch.mul(grad_memory, old_memory, out=grad_forget)
        torch.mul(grad_memory, input_gate, out=grad_new).mul_(2)
        torch.mul(grad_hidden, tanh_memory, out=grad_output)
        _sigmoid_backward_(grad_gates, gates)
        return _matmul_backward(matrices[0], gradients[0], stacked_input, grad_gates), (
            grad_memory.mul_(forget),
        )


class FusedDAGCell(FusedCell):
    """A cell of gated nodes, which its class defines: `DAGCell`."""

    def __init__(self, cell: type[DAGCell]) -> None:
        self.nodes = (("tanh", -1), *cell.nodes)
        self.takes_mean = cell.takes_mean

    def matrices(self, parameters: Parameters, folded_input: FoldedInput) -> Matrices:
        """See the base class: one matrix per node."""
        first = parameters["hidden_map.weight"]
        if folded_input.embedding is not None:
            first = torch.cat([first, parameters["input_map.weight"] @ folded_input.embedding], dim=-1)
        elif len(folded_input.bias_coefficients):
            first = torch.cat(
                [first, first.new_zeros(*first.shape[:-1], len(folded_input.bias_coefficients))], dim=-1
            )
        rest = [parameters[f"node_maps.{index}.weight"] for index in range(len(self.nodes) - 1)]
        return [first, *rest]

    def forward(self, matrices: Matrices, stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """See the base class."""
        values, saved = [state[0]], [stacked_input]
        for (activation, predecessor), matrix in zip(self.nodes, matrices, strict=True):
            value = values[predecessor + 1]
            maps = torch.bmm(matrix, value if saved[1:] else stacked_input)
            gate, new = maps.chunk(2, dim=-2)
            gate.sigmoid_()
            _ACTIVATIONS[activation](new)
            values.append(torch.lerp(value, new, gate))
            saved += [value, gate, new]
        output = torch.stack(values[2:]).mean(0) if self.takes_mean else values[-1]
        return (output,), tuple(saved)

    def backward(
        self, matrices: Matrices, gradients: Matrices, saved: Saved, grad_state: Saved
    ) -> StepGradients:
        """See the base class."""
        num_nodes = len(self.nodes)
        grad_values: list[Tensor | None] = [None] * (num_nodes + 1)
        grad_output = grad_state[0] / (num_nodes - 1) if self.takes_mean else grad_state[0]
        for index in range(2 if self.takes_mean else num_nodes, num_nodes + 1):
            grad_values[index] = grad_output
        size = grad_output.shape[-2]
        grad_maps = grad_output.new_empty(len(grad_output), 2 * size, grad_output.shape[-1])
        grad_gate, grad_new = grad_maps.chunk(2, dim=-2)
        for index in reversed(range(num_nodes)):
            (activation, predecessor), grad_value = self.nodes[index], grad_values[index + 1]
            value, gate, new = saved[1 + 3 * index : 4 + 3 * index]
            assert grad_value is not None
            torch.sub(new, value, out=grad_gate).mul_(grad_value)
            _sigmoid_backward_(grad_gate, gate)
            torch.mul(grad_value, gate, out=grad_new)
            grad_predecessor = grad_value - grad_new
            _ACTIVATION_BACKWARD[activation](grad_new, new)
            if index:
                gradients[index].baddbmm_(grad_maps, value.mT)
                grad_predecessor.baddbmm_(matrices[index].mT, grad_maps)
            else:
                grad_stacked_input = _matmul_backward(matrices[0], gradients[0], saved[0], grad_maps)
                grad_stacked_input[:, :size] += grad_predecessor
                grad_predecessor = grad_stacked_input
            accumulated = grad_values[predecessor + 1]
            grad_values[predecessor + 1] = (
                grad_predecessor if accumulated is None else accumulated + grad_predecessor
            )
        assert grad_values[0] is not None
        return grad_values[0], ()


def tanh_(inputs: Tensor) -> Tensor:
    """Hyperbolic tangent in place; 2 sigmoid(2x) - 1 on CPU, where torch's tanh can be ten times slower."""
    return inputs.mul_(2).sigmoid_().mul_(2).sub_(1) if inputs.device.type == "cpu" else inputs.tanh_()


def _folded_input_map(parameters: Parameters, folded_input: FoldedInput) -> Tensor:
    """The input map with the embedding and its own bias folded in, (replicas, gates * hidden, rows)."""
    bias = parameters["input_map.bias"].unsqueeze(-1) * folded_input.bias_coefficients
    if folded_input.embedding is None:
        return bias
    return torch.baddbmm(bias, parameters["input_map.weight"], folded_input.embedding)


def _stacked_matrix(parameters: Parameters, folded_input: FoldedInput) -> Tensor:
    """Hidden and input map side by side, with all biases folded in."""
    input_columns = (
        _folded_input_map(parameters, folded_input)
        + parameters["hidden_map.bias"].unsqueeze(-1) * folded_input.bias_coefficients
    )
    return torch.cat([parameters["hidden_map.weight"], input_columns], dim=-1)


def _matmul_backward(matrix: Tensor, gradient: Tensor, stacked_input: Tensor, grad_product: Tensor) -> Tensor:
    """Backward of `matrix @ stacked_input`: accumulates the matrix gradient, returns that of the stacked input."""
    gradient.baddbmm_(grad_product, stacked_input.mT)
    return torch.bmm(matrix.mT, grad_product)


def _sigmoid_backward_(gradient: Tensor, output: Tensor) -> None:
    torch.ops.aten.sigmoid_backward.grad_input(gradient, output, grad_input=gradient)


def _tanh_backward_(gradient: Tensor, output: Tensor) -> None:
    torch.ops.aten.tanh_backward.grad_input(gradient, output, grad_input=gradient)


_ACTIVATIONS: dict[str, Callable[[Tensor], object]] = {
    "tanh": tanh_,
    "relu": torch.relu_,
    "identity": lambda inputs: inputs,
}

_ACTIVATION_BACKWARD: dict[str, Callable[[Tensor, Tensor], object]] = {
    "tanh": _tanh_backward_,
    "relu": lambda gradient, output: gradient.mul_(output > 0),
    "identity": lambda gradient, output: gradient,
}

FUSED_CELLS: dict[type[RecurrentCell], FusedCell] = {
    RNNCell: FusedRNNCell(),
    GRUCell: FusedGRUCell(),
    LSTMCell: FusedLSTMCell(),
    DgsendCell: FusedDAGCell(DgsendCell),
    DgrecvCell: FusedDAGCell(DgrecvCell),
}
"""The fused kernel of each class of cells that has one."""
