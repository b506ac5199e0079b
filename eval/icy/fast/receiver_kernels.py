"""Reading by hand: recurrent receivers over cells that have kernels, many replicas of one at once.

A receiver's module defines what it understands; this is the same written out for speed. Symbols are ids, so nothing
flows back into them.
"""

from abc import ABC, abstractmethod
from typing import Any, cast

import torch
from torch import Tensor

from ecsuite.agents.cells import RecurrentCell
from ecsuite.agents.hierarchical import HierarchicalReceiver
from ecsuite.agents.receivers import Receiver, RecurrentReceiver
from ecsuite.eval.icy.fast.recurrent_kernels import (
    FoldedInput,
    FusedCell,
    Parameters,
    Saved,
    concat_rows,
    fused_cell_of,
    layer_below,
    lerp_backward,
    lerp_states,
    submodule_parameters,
)
from ecsuite.eval.icy.fast.supervised_batches import grouped

Groups = list[list[Tensor]]


def make_fused_receiver(receiver: Receiver) -> "FusedReceiver | None":
    """The fast way for a receiver to read; None where there is none."""
    if not isinstance(receiver, RecurrentReceiver | HierarchicalReceiver) or receiver.embed.bias is not None:
        return None
    if isinstance(receiver, HierarchicalReceiver):
        if receiver.stop_mode != "each" or receiver.reset:
            return None
        cells = [receiver.lower, receiver.upper]
    else:
        cells = [cast(RecurrentCell, cell) for cell in receiver.cells]
    cell = fused_cell_of(type(cells[0]))
    if cell is None:
        return None
    kind = HierarchicalReceiverKernel if isinstance(receiver, HierarchicalReceiver) else MultiLayerReceiver
    return kind(cell, cells)


class FusedReceiver(ABC):
    """How one kind of receiver reads.

    Args:
        cell: The kernel of its cells.
        cells: Its cells, for their sizes.
    """

    def __init__(self, cell: FusedCell, cells: list[RecurrentCell]) -> None:
        self.cell, self.num_layers = cell, len(cells)
        self.has_bias, self.size = cells[0].has_bias, cells[0].hidden_size
        self.num_states = len(cells[0].start(torch.zeros(1, self.size)))

    def read(self, parameters: Parameters, symbols: Tensor) -> Tensor:
        """What is understood in the end, (replicas, hidden, batch), differentiable in the parameters.

        Args:
            parameters: Of the receiver.
            symbols: Ids, (length, replicas, batch).
        """
        weight = parameters["embed.weight"]
        length, replicas, batch = symbols.shape
        feedback = weight.new_zeros(length, replicas, weight.shape[-1], batch)
        feedback.scatter_(2, symbols[:, :, None], 1.0)
        groups = self.groups(parameters)
        sizes = [len(group) for group in groups]
        state: Tensor = _read(self, feedback, sizes, *(matrix for group in groups for matrix in group))
        return state

    @abstractmethod
    def groups(self, parameters: Parameters) -> Groups:
        """The matrices, by what they belong to."""

    @abstractmethod
    def forward(self, feedback: Tensor, groups: Groups) -> tuple[Tensor, list[Any]]:
        """Read symbols, one-hot (length, replicas, rows, batch): what is understood, and a tape for `backward`."""

    @abstractmethod
    def backward(self, tape: list[Any], groups: Groups, gradients: Groups, to_state: Tensor) -> None:
        """Add the gradients of the matrices in place."""

    def feedback(self, parameters: Parameters) -> FoldedInput:
        """What enters the lowest layer: symbols, one-hot."""
        weight = parameters["embed.weight"]
        return FoldedInput(embedding=weight, ones=weight.new_ones(weight.shape[-1]))

    def zeros(self, feedback: Tensor) -> Saved:
        """A state of zeros."""
        shape = (feedback.shape[1], self.size, feedback.shape[3])
        return tuple(feedback.new_zeros(shape) for _ in range(self.num_states))

    def one(self, feedback: Tensor) -> Tensor | None:
        """The row that biases are folded in by, in layers above the lowest."""
        return feedback.new_ones(feedback.shape[1], 1, feedback.shape[3]) if self.has_bias else None


class MultiLayerReceiver(FusedReceiver):
    """Recurrent receivers of one or more layers."""

    def groups(self, parameters: Parameters) -> Groups:
        """See the base class: a group a layer."""
        beneath = layer_below(parameters["cells.0.hidden_map.weight"], has_bias=self.has_bias)
        sources = [self.feedback(parameters)] + [beneath] * (self.num_layers - 1)
        return [
            self.cell.matrices(submodule_parameters(parameters, f"cells.{layer}."), source)
            for layer, source in enumerate(sources)
        ]

    def forward(self, feedback: Tensor, groups: Groups) -> tuple[Tensor, list[Any]]:
        """See the base class."""
        one = self.one(feedback)
        states = [self.zeros(feedback) for _ in groups]
        tape = []
        for symbols in feedback:
            beside: Tensor | None = symbols
            step = []
            for layer, matrices in enumerate(groups):
                stacked_input = concat_rows(states[layer][0], beside)
                states[layer], saved = self.cell.forward(matrices, stacked_input, states[layer])
                step.append(saved)
                beside = concat_rows(states[layer][0], one)
            tape.append(step)
        return states[-1][0], tape

    def backward(self, tape: list[Any], groups: Groups, gradients: Groups, to_state: Tensor) -> None:
        """See the base class."""
        nothing = tuple(torch.zeros_like(to_state) for _ in range(self.num_states))
        to_states = [nothing for _ in groups]
        to_output = to_state.clone()
        for step in reversed(tape):
            for layer in reversed(range(len(groups))):
                to_hidden, *rest = to_states[layer]
                to_stacked_input, rest_before = self.cell.backward(
                    groups[layer], gradients[layer], step[layer], (to_output + to_hidden, *rest)
                )
                to_states[layer] = (to_stacked_input[:, : self.size], *rest_before)
                to_output = to_stacked_input[:, self.size : 2 * self.size]
            to_output = nothing[0]  # only the last state is asked for


class HierarchicalReceiverKernel(FusedReceiver):
    """HU-receiver, as `HierarchicalReceiver` defines it, with each example's own stopness and without reset."""

    def groups(self, parameters: Parameters) -> Groups:
        """See the base class: the stopness, the lower and the upper cell."""
        beneath = layer_below(parameters["lower.hidden_map.weight"], has_bias=self.has_bias)
        return [
            [parameters["stop.weight"], parameters["stop.bias"].unsqueeze(-1)],
            self.cell.matrices(submodule_parameters(parameters, "lower."), self.feedback(parameters)),
            self.cell.matrices(submodule_parameters(parameters, "upper."), beneath),
        ]

    def forward(self, feedback: Tensor, groups: Groups) -> tuple[Tensor, list[Any]]:
        """See the base class."""
        (stop, bias), low, up = groups
        one = self.one(feedback)
        lower, upper = self.zeros(feedback), self.zeros(feedback)
        tape = []
        for symbols in feedback:
            lower, low_saved = self.cell.forward(low, concat_rows(lower[0], symbols), lower)
            stopness = torch.baddbmm(bias, stop, lower[0]).sigmoid_()
            stacked_input = concat_rows(upper[0], concat_rows(lower[0], one))
            stepped, up_saved = self.cell.forward(up, stacked_input, upper)
            tape.append((lower[0], low_saved, stopness, upper, stepped, up_saved))
            upper = lerp_states(upper, stepped, stopness)
        return upper[0], tape

    def backward(self, tape: list[Any], groups: Groups, gradients: Groups, to_state: Tensor) -> None:
        """See the base class."""
        (stop, _), low, up = groups
        (to_stop, to_bias), to_low, to_up = gradients
        nothing = tuple(torch.zeros_like(to_state) for _ in range(self.num_states))
        to_upper, to_lower = (to_state, *nothing[1:]), nothing
        for lower, low_saved, stopness, upper, stepped, up_saved in reversed(tape):
            to_old, to_stepped, to_stopness = lerp_backward(to_upper, upper, stepped, stopness)
            to_stacked_input, rest = self.cell.backward(up, to_up, up_saved, to_stepped)
            to_upper = tuple(
                torch.add(*parts)
                for parts in zip(to_old, (to_stacked_input[:, : self.size], *rest), strict=True)
            )
            to_logit = torch.ops.aten.sigmoid_backward(to_stopness, stopness)
            to_bias += to_logit.sum(2, keepdim=True)
            to_stop.baddbmm_(to_logit, lower.mT)
            to_spelt = to_lower[0] + to_stacked_input[:, self.size : 2 * self.size]
            to_spelt.baddbmm_(stop.mT, to_logit)
            to_stacked_input, rest = self.cell.backward(low, to_low, low_saved, (to_spelt, *to_lower[1:]))
            to_lower = (to_stacked_input[:, : self.size], *rest)


class _Read(torch.autograd.Function):
    """Runs a `FusedReceiver`."""

    @staticmethod
    def forward(
        ctx: Any, fused_receiver: FusedReceiver, feedback: Tensor, sizes: list[int], *matrices: Tensor
    ) -> Tensor:
        state, ctx.tape = fused_receiver.forward(feedback, grouped(matrices, sizes))
        ctx.fused_receiver, ctx.sizes = fused_receiver, sizes
        ctx.save_for_backward(*matrices)
        return state

    @staticmethod
    def backward(ctx: Any, to_state: Tensor) -> tuple[Tensor | None, ...]:
        matrices = ctx.saved_tensors
        gradients = [torch.zeros_like(matrix) for matrix in matrices]
        ctx.fused_receiver.backward(
            ctx.tape, grouped(matrices, ctx.sizes), grouped(gradients, ctx.sizes), to_state
        )
        return None, None, None, *gradients


_read: Any = _Read.apply
