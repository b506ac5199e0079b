"""What fused senders and receivers have in common: the kernel of their recurrent cells, layers, and interpolation.

Tensors are (replicas, features, batch).
"""

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import RecurrentCell
from ecsuite.eval.icy.fast.recurrent_kernels import (
    FUSED_CELLS,
    FoldedInput,
    FusedCell,
    Groups,
    Parameters,
    Saved,
)


class FusedAgent:
    """What fused senders and receivers have in common: the kernel of their recurrent cells, and its sizes."""

    def __init__(self, cell: FusedCell, agent: nn.Module) -> None:
        cells = recurrent_cells(agent)
        self.cell, self.num_layers = cell, len(cells)
        self.has_bias, self.size = cells[0].has_bias, cells[0].hidden_size
        self.num_states = len(cells[0].start(torch.zeros(1, self.size)))

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

    def zero_state(self, like: Tensor) -> Saved:
        """A state of zeros for so many replicas and examples, (replicas, …, batch)."""
        shape = (len(like), self.size, like.shape[-1])
        return tuple(like.new_zeros(shape) for _ in range(self.num_states))

    def bias_row(self, like: Tensor) -> Tensor | None:
        """A row of ones for the biases of a cell without other input rows that sum to 1; None without biases."""
        return like.new_ones(len(like), 1, like.shape[-1]) if self.has_bias else None


def recurrent_cells(agent: nn.Module) -> list[RecurrentCell]:
    """The cells of a sender or receiver."""
    return [module for module in agent.modules() if isinstance(module, RecurrentCell)]


def common_fused_cell(agent: nn.Module) -> FusedCell | None:
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
    bias_coefficients[size:] = 1
    embedding = torch.eye(size, size + has_bias, device=weight.device, dtype=weight.dtype)
    return FoldedInput(embedding=embedding.expand(len(weight), -1, -1), bias_coefficients=bias_coefficients)


def submodule_parameters(parameters: Parameters, prefix: str) -> Parameters:
    """The parameters of a submodule, without the prefix of their names."""
    return {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}


def concat_rows(upper: Tensor, lower: Tensor | None) -> Tensor:
    """Stack rows of two tensors (replicas, rows, batch)."""
    return upper if lower is None else torch.cat([upper, lower], dim=1)


def lerp_states(old: Saved, new: Saved, weight: Tensor) -> Saved:
    """Interpolate all parts of a state from old to new, weight (replicas, 1, batch)."""
    return tuple(torch.lerp(old_part, new_part, weight) for old_part, new_part in zip(old, new, strict=True))


def lerp_backward(grad_mixed: Saved, old: Saved, new: Saved, weight: Tensor) -> tuple[Saved, Saved, Tensor]:
    """Gradients of `lerp_states`: of the old state, the new state and the weight."""
    grad_new = tuple(part * weight for part in grad_mixed)
    grad_old = tuple(part - grad_part for part, grad_part in zip(grad_mixed, grad_new, strict=True))
    grad_weight = torch.zeros_like(weight)
    for part, old_part, new_part in zip(grad_mixed, old, new, strict=True):
        grad_weight += (new_part - old_part).mul_(part).sum(1, keepdim=True)
    return grad_old, grad_new, grad_weight
