"""Fused recurrent receivers with manually derived gradients, for many replicas at once.

The modules in `agents` define the computation. Symbols are ids, so no gradient flows into them.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.agents.hierarchical import HierarchicalReceiver
from ecsuite.agents.linear import first_derivative_only
from ecsuite.agents.receivers import RecurrentReceiver
from ecsuite.eval.icy.fast.agent_kernels import (
    FusedAgent,
    common_fused_cell,
    concat_rows,
    layer_below,
    lerp_backward,
    lerp_states,
    submodule_parameters,
)
from ecsuite.eval.icy.fast.recurrent_kernels import FoldedInput, Groups, Parameters
from ecsuite.eval.icy.fast.supervised_batches import grouped


def make_fused_receiver(receiver: nn.Module) -> "FusedReceiver | None":
    """The fused implementation of a receiver, or None if there is none."""
    # Exactly these classes: a subclass may compute something else.
    fused_class: type[FusedReceiver]
    if type(receiver) is RecurrentReceiver:
        fused_class, is_supported = MultiLayerFusedReceiver, True
    elif type(receiver) is HierarchicalReceiver:
        fused_class = HierarchicalFusedReceiver
        is_supported = receiver.stop_mode == "each" and not receiver.reset
    else:
        return None
    cell = common_fused_cell(receiver)
    is_supported = is_supported and receiver.embed.bias is None
    return fused_class(cell, receiver) if is_supported and cell is not None else None


class FusedReceiver(FusedAgent, ABC):
    """Fused forward and backward pass of one type of receiver."""

    def final_state(self, parameters: Parameters, symbols: Tensor) -> Tensor:
        """The state after the last symbol, (replicas, hidden, batch), differentiable in the parameters.

        Args:
            parameters: Parameters of the receiver.
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
        """The matrices, grouped by submodule."""

    @abstractmethod
    def forward(self, feedback: Tensor, groups: Groups) -> tuple[Tensor, list[Any]]:
        """Encode one-hot symbols (length, replicas, rows, batch): the final state, and a tape for `backward`."""

    @abstractmethod
    def backward(self, tape: list[Any], groups: Groups, gradients: Groups, grad_state: Tensor) -> None:
        """Accumulate the gradients of the matrices in place."""

    def feedback(self, parameters: Parameters) -> FoldedInput:
        """Input of the lowest layer: one-hot symbols."""
        weight = parameters["embed.weight"]
        return FoldedInput(embedding=weight, bias_coefficients=weight.new_ones(weight.shape[-1]))


class MultiLayerFusedReceiver(FusedReceiver):
    """Recurrent receivers of one or more layers."""

    def groups(self, parameters: Parameters) -> Groups:
        """See the base class: one group per layer."""
        return self.layer_matrices(parameters, self.feedback(parameters))

    def forward(self, feedback: Tensor, groups: Groups) -> tuple[Tensor, list[Any]]:
        """See the base class."""
        bias_row = self.bias_row(feedback[0])
        states = [self.zero_state(feedback[0]) for _ in groups]
        tape = []
        for symbols in feedback:
            layer_input: Tensor | None = symbols
            step = []
            for layer, matrices in enumerate(groups):
                stacked_input = concat_rows(states[layer][0], layer_input)
                states[layer], saved = self.cell.forward(matrices, stacked_input, states[layer])
                step.append(saved)
                layer_input = concat_rows(states[layer][0], bias_row)
            tape.append(step)
        return states[-1][0], tape

    def backward(self, tape: list[Any], groups: Groups, gradients: Groups, grad_state: Tensor) -> None:
        """See the base class."""
        zero_gradient = tuple(torch.zeros_like(grad_state) for _ in range(self.num_states))
        grad_states = [zero_gradient for _ in groups]
        grad_output = grad_state.clone()
        for step in reversed(tape):
            for layer in reversed(range(len(groups))):
                grad_hidden, *rest = grad_states[layer]
                grad_stacked_input, rest_before = self.cell.backward(
                    groups[layer], gradients[layer], step[layer], (grad_output + grad_hidden, *rest)
                )
                grad_states[layer] = (grad_stacked_input[:, : self.size], *rest_before)
                grad_output = grad_stacked_input[:, self.size : 2 * self.size]
            grad_output = zero_gradient[0]  # the loss depends on the last state only


class HierarchicalFusedReceiver(FusedReceiver):
    """HU-receiver as in `HierarchicalReceiver`, with stopness per example and without reset."""

    def groups(self, parameters: Parameters) -> Groups:
        """See the base class: the stopness, the lower and the upper cell."""
        lower_layer = layer_below(parameters["lower.hidden_map.weight"], has_bias=self.has_bias)
        return [
            [parameters["stop.weight"], parameters["stop.bias"].unsqueeze(-1)],
            self.cell.matrices(submodule_parameters(parameters, "lower."), self.feedback(parameters)),
            self.cell.matrices(submodule_parameters(parameters, "upper."), lower_layer),
        ]

    def forward(self, feedback: Tensor, groups: Groups) -> tuple[Tensor, list[Any]]:
        """See the base class."""
        (stop, bias), lower_matrices, upper_matrices = groups
        bias_row = self.bias_row(feedback[0])
        lower, upper = self.zero_state(feedback[0]), self.zero_state(feedback[0])
        tape = []
        for symbols in feedback:
            lower, lower_saved = self.cell.forward(lower_matrices, concat_rows(lower[0], symbols), lower)
            stopness = torch.baddbmm(bias, stop, lower[0]).sigmoid_()
            stacked_input = concat_rows(upper[0], concat_rows(lower[0], bias_row))
            stepped, upper_saved = self.cell.forward(upper_matrices, stacked_input, upper)
            tape.append((lower[0], lower_saved, stopness, upper, stepped, upper_saved))
            upper = lerp_states(upper, stepped, stopness)
        return upper[0], tape

    def backward(self, tape: list[Any], groups: Groups, gradients: Groups, grad_state: Tensor) -> None:
        """See the base class."""
        (stop, _), lower_matrices, upper_matrices = groups
        (grad_stop, grad_bias), grad_lower_matrices, grad_upper_matrices = gradients
        zero_gradient = tuple(torch.zeros_like(grad_state) for _ in range(self.num_states))
        grad_upper, grad_lower = (grad_state, *zero_gradient[1:]), zero_gradient
        for lower, lower_saved, stopness, upper, stepped, upper_saved in reversed(tape):
            grad_old, grad_stepped, grad_stopness = lerp_backward(grad_upper, upper, stepped, stopness)
            grad_stacked_input, rest = self.cell.backward(
                upper_matrices, grad_upper_matrices, upper_saved, grad_stepped
            )
            grad_upper = tuple(
                torch.add(*parts)
                for parts in zip(grad_old, (grad_stacked_input[:, : self.size], *rest), strict=True)
            )
            grad_logit = torch.ops.aten.sigmoid_backward(grad_stopness, stopness)
            grad_bias += grad_logit.sum(2, keepdim=True)
            grad_stop.baddbmm_(grad_logit, lower.mT)
            grad_new_lower = grad_lower[0] + grad_stacked_input[:, self.size : 2 * self.size]
            grad_new_lower.baddbmm_(stop.mT, grad_logit)
            grad_stacked_input, rest = self.cell.backward(
                lower_matrices, grad_lower_matrices, lower_saved, (grad_new_lower, *grad_lower[1:])
            )
            grad_lower = (grad_stacked_input[:, : self.size], *rest)


class _Read(torch.autograd.Function):
    """Autograd function that runs a `FusedReceiver`."""

    @staticmethod
    def forward(
        ctx: Any, fused_receiver: FusedReceiver, feedback: Tensor, sizes: list[int], *matrices: Tensor
    ) -> Tensor:
        state, ctx.tape = fused_receiver.forward(feedback, grouped(matrices, sizes))
        ctx.fused_receiver, ctx.sizes = fused_receiver, sizes
        ctx.save_for_backward(*matrices)
        return state

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad_state: Tensor) -> tuple[Tensor | None, ...]:
        matrices = ctx.saved_tensors
        gradients = [torch.zeros_like(matrix) for matrix in matrices]
        ctx.fused_receiver.backward(
            ctx.tape, grouped(matrices, ctx.sizes), grouped(gradients, ctx.sizes), grad_state
        )
        return None, None, None, *gradients


_read: Any = _Read.apply
