"""What fused senders and receivers have in common: their recurrent layers, in memory that is kept, and interpolation.

Tensors are (replicas, features, batch).
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import RecurrentCell
from ecsuite.eval.icy.fast.recurrent_kernels import (
    FUSED_CELLS,
    FoldedInput,
    FusedCell,
    Groups,
    Matrices,
    Parameters,
    Sizes,
    State,
)
from ecsuite.runtime.devices import default_products

SMALL_PRODUCT = 10_000_000
"""Multiplications and additions of a product of one replica from which on oneDNN's start is worth its time."""


class Layer:
    """A cell over a sequence of steps, its matrices, and its states."""

    def __init__(self, cell: type[FusedCell], sizes: Sizes, num_rows: int) -> None:
        self.cell = cell(sizes, num_rows)
        self.matrices: Matrices = []
        others = sizes.states(cell.num_entries - 1)
        self.states: list[State] = [
            (hidden, *rest) for hidden, rest in zip(self.cell.hidden, others, strict=True)
        ]
        """The state before each step, and the last one."""

    def products(self) -> AbstractContextManager[None]:
        """Where products are computed: small ones by the library that begins them sooner."""
        numbers = max(matrix[0].numel() for matrix in self.matrices)
        is_small = 2 * numbers * self.cell.sizes.batch < SMALL_PRODUCT
        return default_products(self.cell.sizes.device) if is_small else nullcontext()

    def forward(self, step: int, after: State | None = None) -> None:
        """Write the state after a step, if no other place is given, where it is the one before the next step."""
        with self.products():
            self.cell.forward(step, self.matrices, self.states[step], after or self.states[step + 1])

    def backward(self, step: int, grad_after: State) -> State:
        """The gradient of the state before a step from that of the one after it, which may be overwritten."""
        with self.products():
            others = self.cell.backward(step, self.matrices, self.states[step], grad_after)
        return (self.cell.grad_hidden, *others)

    def gradients(self) -> Matrices:
        """The gradients of the matrices, after `backward` of all steps."""
        with self.products():
            return self.cell.gradients()

    def begin_backward(self) -> State:
        """The gradient of the last state, which nothing reads."""
        self.cell.grad_input.zero_()
        return (self.cell.grad_hidden, *(torch.zeros_like(entry) for entry in self.states[0][1:]))


class Layers:
    """The layers of an agent in one sequence: each gets the outputs of the one below."""

    def __init__(self, cell: type[FusedCell], sizes: Sizes, groups: Groups) -> None:
        self.sizes = sizes
        self.layers = [Layer(cell, sizes, group[0].shape[-1] - sizes.hidden) for group in groups]
        self.gradients: list[State] = []
        """Of the layers' states, while `backward` goes from step to step."""

    def forward(self, step: int) -> Tensor:
        """Write the states after a step; returns the output of the last layer."""
        for below, layer in enumerate(self.layers, start=-1):
            if below >= 0:
                layer.cell.rows[step][:, : self.sizes.hidden].copy_(self.layers[below].states[step + 1][0])
            layer.forward(step)
        return self.layers[-1].states[step + 1][0]

    def begin_backward(self) -> None:
        """Nothing reads the last states."""
        self.gradients = [layer.begin_backward() for layer in self.layers]

    def backward(self, step: int) -> None:
        """Go back by a step; the gradient of its output has been added to that of the last layer's state."""
        above: Layer | None = None
        for index, layer in reversed(list(enumerate(self.layers))):
            if above is not None:
                self.gradients[index][0].add_(above.cell.grad_rows[:, : self.sizes.hidden])
            self.gradients[index] = layer.backward(step, self.gradients[index])
            above = layer


class HierarchicalLayers(Layers):
    """Two layers, whose upper one moves as far as the lower one has stopped."""

    def __init__(self, cell: type[FusedCell], sizes: Sizes, groups: Groups) -> None:
        super().__init__(cell, sizes, groups)
        self.stepped = sizes.states(cell.num_entries)
        """The states that the upper cell would have if the lower one had stopped, after each step."""


class FusedAgent:
    """What fused senders and receivers have in common: the kernel of their recurrent cells, and its sizes."""

    def __init__(self, cell: type[FusedCell], agent: nn.Module) -> None:
        cells = recurrent_cells(agent)
        self.cell, self.num_layers = cell, len(cells)
        self.has_bias, self.size = cells[0].has_bias, cells[0].hidden_size
        self._kept: list[Layers] = []

    def layers_of(self, replicas: int, length: int, batch: int, groups: Groups) -> Layers:
        """Layers with these matrices, in memory that was given back by `keep` if it has these sizes."""
        device = groups[0][0].device
        sizes = Sizes(replicas=replicas, hidden=self.size, length=length, batch=batch, device=device)
        self._kept = [layers for layers in self._kept if layers.sizes == sizes]
        layers = self._kept.pop() if self._kept else self.make_layers(sizes, groups)
        for layer, matrices in zip(layers.layers, groups, strict=True):
            layer.matrices = matrices
        return layers

    def make_layers(self, sizes: Sizes, groups: Groups) -> Layers:
        """Layers of these sizes, with what is the same in all sequences."""
        return self.with_biases(Layers(self.cell, sizes, groups))

    def with_biases(self, layers: Layers) -> Layers:
        """Layers, of which those that get the outputs of others have the row of the biases, if cells have biases."""
        for layer in layers.layers[1:]:
            layer.cell.set_rows(1, first=self.size)
        return layers

    def keep(self, layers: Layers) -> None:
        """Keep the memory of a sequence that is not needed any more for the next one."""
        self._kept.append(layers)

    def layer_matrices(self, parameters: Parameters, lowest: FoldedInput) -> Groups:
        """The matrices of each of the `cells` of an agent, of which the lowest has the input `lowest`."""
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

    The weight is that of a hidden map, (replicas, gates * hidden, hidden), for its sizes.
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
    """Gradients of `lerp_states`: of the old state, the new state and the weight."""
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
