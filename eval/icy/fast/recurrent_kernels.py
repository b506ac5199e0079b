"""Recurrent cells written out: one step forward and backward, for many replicas at once.

Tensors are (replicas, features, batch). The gates of a cell are then blocks of rows, so everything runs over contiguous
memory, and the state and what enters beside it are stacked into one column that takes one product. What enters is a
`FoldedInput`; maps and biases that it meets are folded into the cell's matrices once an update, not once a step.

The cells of `ecsuite.agents.cells` are the definition; tests hold these kernels to them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from ecsuite.agents.cells import (
    DAGCell,
    GRUCell,
    LSTMCell,
    RecurrentCell,
    RNNCell,
)

Parameters = Mapping[str, Tensor]
"""A module's parameters by name, each with a leading replica dimension."""

Saved = tuple[Tensor, ...]
"""What a forward step leaves for its backward step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldedInput:
    """What enters a cell beside its state: rows u such that the cell's input is `embedding u`."""

    embedding: Tensor | None
    """(replicas, input, rows); None for an input of zeros."""
    ones: Tensor
    """(rows,): its product with u is always 1, so that biases can be folded in."""


class FusedCell(ABC):
    """One step of a cell.

    A state is a tuple of (replicas, hidden, batch); `stacked_input` is its first entry with the source's rows below it.
    """

    @abstractmethod
    def matrices(self, parameters: Parameters, source: FoldedInput) -> list[Tensor]:
        """What `forward` multiplies by, with the source folded in; differentiable."""

    @abstractmethod
    def forward(self, matrices: list[Tensor], stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """The next state, and what `backward` needs."""

    @abstractmethod
    def backward(
        self, matrices: list[Tensor], gradients: list[Tensor], saved: Saved, to_state: Saved
    ) -> tuple[Tensor, Saved]:
        """Gradients of a step.

        Args:
            matrices: As in `forward`.
            gradients: Their gradients, added to in place.
            saved: What `forward` left.
            to_state: Gradients of the next state; may be overwritten.

        Returns:
            The gradient of the column, and of the state's entries but the first.
        """


class FusedRNNCell(FusedCell):
    """Elman's cell."""

    def matrices(self, parameters: Parameters, source: FoldedInput) -> list[Tensor]:
        """See the base class."""
        return [_stacked(parameters, source)]

    def forward(self, matrices: list[Tensor], stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """See the base class."""
        hidden = tanh_(torch.bmm(matrices[0], stacked_input))
        return (hidden,), (stacked_input, hidden)

    def backward(
        self, matrices: list[Tensor], gradients: list[Tensor], saved: Saved, to_state: Saved
    ) -> tuple[Tensor, Saved]:
        """See the base class."""
        stacked_input, hidden = saved
        to_sum = torch.ops.aten.tanh_backward(to_state[0], hidden)
        return _through(matrices[0], gradients[0], stacked_input, to_sum), ()


class FusedGRUCell(FusedCell):
    """Gated recurrent unit, in torch's form. The new gate's two parts are apart, since reset acts on one of them."""

    def matrices(self, parameters: Parameters, source: FoldedInput) -> list[Tensor]:
        """See the base class: all that meets the state, and the input's part of the new gate."""
        entering = _entering(parameters, source)
        gates = 2 * entering.shape[-2] // 3
        new_bias = parameters["hidden_map.bias"][..., gates:, None] * source.ones
        beside = torch.cat(
            [
                entering[..., :gates, :] + parameters["hidden_map.bias"][..., :gates, None] * source.ones,
                new_bias,
            ],
            dim=-2,
        )
        return [torch.cat([parameters["hidden_map.weight"], beside], dim=-1), entering[..., gates:, :]]

    def forward(self, matrices: list[Tensor], stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """See the base class."""
        size = state[0].shape[-2]
        maps = torch.bmm(matrices[0], stacked_input)
        reset_update, hidden_new = maps[:, : 2 * size], maps[:, 2 * size :]
        reset, update = reset_update.sigmoid_().chunk(2, dim=-2)
        new = tanh_(torch.bmm(matrices[1], stacked_input[:, size:]).addcmul_(reset, hidden_new))
        return (torch.lerp(new, state[0], update),), (stacked_input, maps, new)

    def backward(
        self, matrices: list[Tensor], gradients: list[Tensor], saved: Saved, to_state: Saved
    ) -> tuple[Tensor, Saved]:
        """See the base class."""
        stacked_input, maps, new = saved
        size = new.shape[-2]
        reset, update, hidden_new = maps.chunk(3, dim=-2)
        to_hidden = to_state[0]
        kept = to_hidden * update
        to_new = torch.ops.aten.tanh_backward(to_hidden - kept, new)
        to_maps = torch.empty_like(maps)
        torch.mul(to_new, hidden_new, out=to_maps[:, :size])
        torch.mul(to_hidden, stacked_input[:, :size] - new, out=to_maps[:, size : 2 * size])
        _sigmoid_backward_(to_maps[:, : 2 * size], maps[:, : 2 * size])
        torch.mul(to_new, reset, out=to_maps[:, 2 * size :])
        to_stacked_input = _through(matrices[0], gradients[0], stacked_input, to_maps)
        gradients[1].baddbmm_(to_new, stacked_input[:, size:].mT)
        to_stacked_input[:, size:] += torch.bmm(matrices[1].mT, to_new)
        to_stacked_input[:, :size] += kept
        return to_stacked_input, ()


class FusedLSTMCell(FusedCell):
    """Long short-term memory. The new gate's rows are doubled: tanh(x) = 2 sigmoid(2x) - 1 makes one pass of four."""

    def matrices(self, parameters: Parameters, source: FoldedInput) -> list[Tensor]:
        """See the base class."""
        stacked = _stacked(parameters, source)
        size = stacked.shape[-2] // 4
        doubled = stacked.new_ones(4, 1).index_fill(0, torch.tensor(2, device=stacked.device), 2.0)
        return [stacked * doubled.repeat_interleave(size, dim=0)]

    def forward(self, matrices: list[Tensor], stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """See the base class."""
        gates = torch.bmm(matrices[0], stacked_input).sigmoid_()
        write, forget, half_new, output = gates.chunk(4, dim=-2)
        new = (half_new * 2).sub_(1)
        memory = (forget * state[1]).addcmul_(write, new)
        seen = tanh_(memory.clone())
        return (output * seen, memory), (stacked_input, gates, new, state[1], seen)

    def backward(
        self, matrices: list[Tensor], gradients: list[Tensor], saved: Saved, to_state: Saved
    ) -> tuple[Tensor, Saved]:
        """See the base class."""
        stacked_input, gates, new, before, seen = saved
        write, forget, _, output = gates.chunk(4, dim=-2)
        to_hidden, to_memory = to_state
        to_memory = to_memory + torch.ops.aten.tanh_backward(to_hidden * output, seen)
        to_gates = torch.empty_like(gates)
        to_write, to_forget, to_new, to_output = to_gates.chunk(4, dim=-2)
        torch.mul(to_memory, new, out=to_write)
        torch.mul(to_memory, before, out=to_forget)
        torch.mul(to_memory, write, out=to_new).mul_(2)
        torch.mul(to_hidden, seen, out=to_output)
        _sigmoid_backward_(to_gates, gates)
        return _through(matrices[0], gradients[0], stacked_input, to_gates), (to_memory.mul_(forget),)


class FusedDAGCell(FusedCell):
    """A cell of gated nodes: `DAGCell`.

    Args:
        cell: The cell class, for its nodes and whether their mean or the last is the output.
    """

    def __init__(self, cell: type[DAGCell]) -> None:
        self.nodes = (("tanh", -1), *cell.nodes)
        self.takes_mean = len(cell.nodes) > 1

    def matrices(self, parameters: Parameters, source: FoldedInput) -> list[Tensor]:
        """See the base class: one matrix for each node."""
        first = parameters["hidden_map.weight"]
        if source.embedding is not None:
            first = torch.cat([first, parameters["input_map.weight"] @ source.embedding], dim=-1)
        elif len(source.ones):
            first = torch.cat([first, first.new_zeros(*first.shape[:-1], len(source.ones))], dim=-1)
        rest = [parameters[f"node_maps.{index}.weight"] for index in range(len(self.nodes) - 1)]
        return [first, *rest]

    def forward(self, matrices: list[Tensor], stacked_input: Tensor, state: Saved) -> tuple[Saved, Saved]:
        """See the base class."""
        values, saved = [state[0]], [stacked_input]
        for (activation, predecessor), matrix in zip(self.nodes, matrices, strict=True):
            value = values[predecessor + 1]
            maps = torch.bmm(matrix, value if saved[1:] else stacked_input)
            gate, new = maps.chunk(2, dim=-2)
            gate.sigmoid_()
            _ACTIVATE[activation](new)
            values.append(torch.lerp(value, new, gate))
            saved += [value, gate, new]
        output = torch.stack(values[2:]).mean(0) if self.takes_mean else values[-1]
        return (output,), tuple(saved)

    def backward(
        self, matrices: list[Tensor], gradients: list[Tensor], saved: Saved, to_state: Saved
    ) -> tuple[Tensor, Saved]:
        """See the base class."""
        num_nodes = len(self.nodes)
        to_values: list[Tensor | None] = [None] * (num_nodes + 1)
        shared = to_state[0] / (num_nodes - 1) if self.takes_mean else to_state[0]
        for index in range(2 if self.takes_mean else num_nodes, num_nodes + 1):
            to_values[index] = shared
        size = shared.shape[-2]
        to_maps = shared.new_empty(len(shared), 2 * size, shared.shape[-1])
        to_gate, to_new = to_maps.chunk(2, dim=-2)
        for index in reversed(range(num_nodes)):
            (activation, predecessor), to_value = self.nodes[index], to_values[index + 1]
            value, gate, new = saved[1 + 3 * index : 4 + 3 * index]
            assert to_value is not None
            torch.sub(new, value, out=to_gate).mul_(to_value)
            _sigmoid_backward_(to_gate, gate)
            torch.mul(to_value, gate, out=to_new)
            below = to_value - to_new
            _DEACTIVATE_[activation](to_new, new)
            if index:
                gradients[index].baddbmm_(to_maps, value.mT)
                below.baddbmm_(matrices[index].mT, to_maps)
            else:
                to_stacked_input = _through(matrices[0], gradients[0], saved[0], to_maps)
                to_stacked_input[:, :size] += below
                below = to_stacked_input
            earlier = to_values[predecessor + 1]
            to_values[predecessor + 1] = below if earlier is None else earlier + below
        assert to_values[0] is not None
        return to_values[0], ()


def tanh_(inputs: Tensor) -> Tensor:
    """Hyperbolic tangent in place, as 2 sigmoid(2x) - 1 on CPU, where torch's tanh can be ten times slower."""
    return inputs.mul_(2).sigmoid_().mul_(2).sub_(1) if inputs.device.type == "cpu" else inputs.tanh_()


def fused_cell_of(cell: type[RecurrentCell]) -> FusedCell | None:
    """The kernel of a cell; None for a cell that has none."""
    if issubclass(cell, DAGCell):
        return FusedDAGCell(cell)
    return _FUSED_CELLS[cell]() if cell in _FUSED_CELLS else None


def layer_below(weight: Tensor, *, has_bias: bool) -> FoldedInput:
    """What enters a layer from the one below: its output, and a one if cells have biases.

    Args:
        weight: Any hidden map's weight, (replicas, gates * hidden, hidden), for its sizes.
        has_bias: Whether there are biases to fold in.
    """
    size = weight.shape[-1]
    ones = weight.new_zeros(size + has_bias)
    ones[size:] = 1
    embedding = torch.eye(size, size + has_bias, device=weight.device, dtype=weight.dtype)
    return FoldedInput(embedding=embedding.expand(len(weight), -1, -1), ones=ones)


def submodule_parameters(parameters: Parameters, prefix: str) -> Parameters:
    """The parameters of a submodule."""
    return {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}


def concat_rows(upper: Tensor, lower: Tensor | None) -> Tensor:
    """Rows above rows."""
    return upper if lower is None else torch.cat([upper, lower], dim=1)


def lerp_states(old: Saved, new: Saved, share: Tensor) -> Saved:
    """Each part of a state on its way from old to new, share (replicas, 1, batch)."""
    return tuple(torch.lerp(before, after, share) for before, after in zip(old, new, strict=True))


def lerp_backward(to_blend: Saved, old: Saved, new: Saved, share: Tensor) -> tuple[Saved, Saved, Tensor]:
    """Gradients of `lerp_states`: of the old and the new state, and of the share."""
    to_new = tuple(part * share for part in to_blend)
    to_old = tuple(part - moved for part, moved in zip(to_blend, to_new, strict=True))
    to_share = torch.zeros_like(share)
    for part, before, after in zip(to_blend, old, new, strict=True):
        to_share += (after - before).mul_(part).sum(1, keepdim=True)
    return to_old, to_new, to_share


_FUSED_CELLS: dict[type[RecurrentCell], type[FusedCell]] = {
    RNNCell: FusedRNNCell,
    GRUCell: FusedGRUCell,
    LSTMCell: FusedLSTMCell,
}


def _entering(parameters: Parameters, source: FoldedInput) -> Tensor:
    """The input map with the source and its own bias folded in, (replicas, gates * hidden, rows)."""
    bias = parameters["input_map.bias"].unsqueeze(-1) * source.ones
    if source.embedding is None:
        return bias
    return torch.baddbmm(bias, parameters["input_map.weight"], source.embedding)


def _stacked(parameters: Parameters, source: FoldedInput) -> Tensor:
    """Hidden and input map side by side, all biases folded in."""
    beside = _entering(parameters, source) + parameters["hidden_map.bias"].unsqueeze(-1) * source.ones
    return torch.cat([parameters["hidden_map.weight"], beside], dim=-1)


def _through(matrix: Tensor, gradient: Tensor, stacked_input: Tensor, to_product: Tensor) -> Tensor:
    """Backward of `matrix @ stacked_input`: adds to the matrix's gradient, gives the column's."""
    gradient.baddbmm_(to_product, stacked_input.mT)
    return torch.bmm(matrix.mT, to_product)


def _sigmoid_backward_(gradient: Tensor, output: Tensor) -> None:
    torch.ops.aten.sigmoid_backward.grad_input(gradient, output, grad_input=gradient)


def _tanh_backward_(gradient: Tensor, output: Tensor) -> None:
    torch.ops.aten.tanh_backward.grad_input(gradient, output, grad_input=gradient)


_ACTIVATE: dict[str, Callable[[Tensor], object]] = {
    "tanh": tanh_,
    "relu": torch.relu_,
    "identity": lambda inputs: inputs,
}

_DEACTIVATE_: dict[str, Callable[[Tensor, Tensor], object]] = {
    "tanh": _tanh_backward_,
    "relu": lambda gradient, output: gradient.mul_(output > 0),
    "identity": lambda gradient, output: gradient,
}
