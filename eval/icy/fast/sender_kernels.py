"""Fused step-by-step senders with manually derived gradients.

The softmax of a step's logits is the input of the next step, and gradients flow through it.
"""

from abc import abstractmethod

import torch
from torch import Tensor

from ecsuite.agents.message import EOS
from ecsuite.agents.senders import Decoder
from ecsuite.eval.icy.fast.agent_kernels import (
    FusedAgent,
    concat_rows,
    lerp_backward,
    lerp_states,
    submodule_parameters,
)
from ecsuite.eval.icy.fast.recurrent_kernels import FoldedInput, FusedCell, Groups, Parameters, Saved
from ecsuite.eval.icy.fast.supervised_batches import FusedSender, SupervisedBatch, fused_loss


class StepwiseFusedSender(FusedAgent, FusedSender):
    """Base class of fused step-by-step senders."""

    def __init__(self, cell: FusedCell, sender: Decoder) -> None:
        super().__init__(cell, sender)
        self.is_autoregressive = sender.embed is not None

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """See the base class."""
        start = torch.bmm(parameters["perceive.weight"], examples.features)
        return fused_loss(self, examples, start, [self.head(parameters), *self.layers(parameters)])

    @abstractmethod
    def layers(self, parameters: Parameters) -> Groups:
        """The matrices of each layer."""

    def feedback(self, parameters: Parameters) -> FoldedInput:
        """Input of the layer that gets the previous symbol: its weights, which sum to 1, or no input."""
        if not self.is_autoregressive:
            return self.no_input(parameters)
        weight = parameters["embed.weight"]
        return FoldedInput(
            embedding=weight + parameters["embed.bias"].unsqueeze(-1),
            bias_coefficients=weight.new_ones(weight.shape[-1]),
        )

    def no_input(self, parameters: Parameters) -> FoldedInput:
        """Constant input of a cell without feedback: only the bias term, if cells have biases."""
        return FoldedInput(
            embedding=None, bias_coefficients=parameters["scores.weight"].new_ones(int(self.has_bias))
        )

    def first_feedback(self, examples: SupervisedBatch) -> Tensor | None:
        """The rows of `feedback` at the first step: EOS serves as the start symbol."""
        if not self.is_autoregressive:
            return self.bias_row(examples.features)
        replicas, _, batch = examples.features.shape
        rows = examples.features.new_zeros(replicas, examples.num_symbols, batch)
        rows[:, EOS] = 1
        return rows


class MultiLayerFusedSender(StepwiseFusedSender):
    """Recurrent senders of one or more layers."""

    def layers(self, parameters: Parameters) -> Groups:
        """See the base class."""
        return self.layer_matrices(parameters, self.feedback(parameters))

    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, gradients: Groups | None
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        (head, bias), *layers = groups
        size, length = start.shape[1], len(examples.messages)
        bias_row, feedback = self.bias_row(start), self.first_feedback(examples)
        states = [(start, *self.zero_state(start)[1:]), *(self.zero_state(start) for _ in layers[1:])]
        tape: list[list[Saved]] = []
        outputs, weights = [], []
        for _ in range(length):
            layer_input = feedback
            tape.append([])
            for layer, matrices in enumerate(layers):
                stacked_input = concat_rows(states[layer][0], layer_input)
                states[layer], saved = self.cell.forward(matrices, stacked_input, states[layer])
                tape[-1].append(saved)
                layer_input = concat_rows(states[layer][0], bias_row)
            outputs.append(states[-1][0])
            weights.append(torch.baddbmm(bias, head, outputs[-1]).softmax(1))
            if self.is_autoregressive:
                feedback = weights[-1]

        probabilities = torch.stack(weights)
        loss = examples.cross_entropy(probabilities)
        if gradients is None:
            return loss, None
        targets = examples.targets()
        (grad_head, grad_bias), *grad_layers = gradients
        grad_states = [self.zero_state(start) for _ in layers]
        grad_feedback: Tensor | None = None
        for time in reversed(range(length)):
            grad_logits = _logits_backward(
                weights[time], targets[time], examples.symbol_weight, grad_feedback
            )
            grad_bias += grad_logits.sum(2, keepdim=True)
            grad_head.baddbmm_(grad_logits, outputs[time].mT)
            grad_output = torch.bmm(head.mT, grad_logits)
            for layer in reversed(range(len(layers))):
                grad_hidden, *rest = grad_states[layer]
                # Free saved activations immediately, so that the allocator reuses their memory for the next gradients.
                grad_stacked_input, rest_before = self.cell.backward(
                    layers[layer],
                    grad_layers[layer],
                    tape[time].pop(),
                    (grad_output.add_(grad_hidden), *rest),
                )
                grad_states[layer] = (grad_stacked_input[:, :size], *rest_before)
                grad_output = (
                    grad_stacked_input[:, size : 2 * size].clone() if layer else grad_stacked_input[:, size:]
                )
            grad_feedback = grad_output if self.is_autoregressive else None
        return loss, grad_states[0][0]


class HierarchicalFusedSender(StepwiseFusedSender):
    """HUSendA and HUSendZ as in `HierarchicalSender`."""

    def head(self, parameters: Parameters) -> list[Tensor]:
        """See the base class: the rows of the logits, and below them the row of the stopness."""
        weight = torch.cat([parameters["scores.weight"], parameters["stop.weight"]], dim=1)
        bias = torch.cat([parameters["scores.bias"], parameters["stop.bias"]], dim=1)
        return [weight, bias.unsqueeze(-1)]

    def layers(self, parameters: Parameters) -> Groups:
        """See the base class."""
        return [
            self.cell.matrices(submodule_parameters(parameters, "upper."), self.no_input(parameters)),
            self.cell.matrices(submodule_parameters(parameters, "lower."), self.feedback(parameters)),
        ]

    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, gradients: Groups | None
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        (head, bias), upper_matrices, lower_matrices = groups
        size, length, num_symbols = start.shape[1], len(examples.messages), examples.num_symbols
        bias_row, feedback = self.bias_row(start), self.first_feedback(examples)
        upper, lower = (start, *self.zero_state(start)[1:]), self.zero_state(start)
        stopness = start.new_ones(len(start), 1, start.shape[2])
        tape, weights = [], []
        for _ in range(length):
            stepped, upper_saved = self.cell.forward(upper_matrices, concat_rows(upper[0], bias_row), upper)
            new_upper = lerp_states(upper, stepped, stopness)
            initial_lower = lerp_states(lower, new_upper, stopness)
            new_lower, lower_saved = self.cell.forward(
                lower_matrices, concat_rows(initial_lower[0], feedback), initial_lower
            )
            rows = torch.baddbmm(bias, head, new_lower[0])
            weights.append(rows[:, :num_symbols].softmax(1))
            tape.append((upper, stepped, new_upper, lower, new_lower[0], stopness, upper_saved, lower_saved))
            upper, lower, stopness = new_upper, new_lower, rows[:, num_symbols:].sigmoid()
            if self.is_autoregressive:
                feedback = weights[-1]

        probabilities = torch.stack(weights)
        loss = examples.cross_entropy(probabilities)
        if gradients is None:
            return loss, None
        targets = examples.targets()
        (grad_head, grad_bias), grad_upper_matrices, grad_lower_matrices = gradients
        grad_upper, grad_lower = self.zero_state(start), self.zero_state(start)
        grad_feedback: Tensor | None = None
        grad_rows = start.new_zeros(len(start), num_symbols + 1, start.shape[2])
        for time in reversed(range(length)):
            # Free saved activations immediately, so that the allocator reuses their memory for the next gradients.
            upper, stepped, new_upper, lower, output, stopness, upper_saved, lower_saved = tape.pop()
            grad_rows[:, :num_symbols] = _logits_backward(
                weights[time], targets[time], examples.symbol_weight, grad_feedback
            )
            grad_bias += grad_rows.sum(2, keepdim=True)
            grad_head.baddbmm_(grad_rows, output.mT)
            grad_new_lower = (torch.bmm(head.mT, grad_rows).add_(grad_lower[0]), *grad_lower[1:])
            grad_stacked_input, rest = self.cell.backward(
                lower_matrices, grad_lower_matrices, lower_saved, grad_new_lower
            )
            grad_feedback = grad_stacked_input[:, size:] if self.is_autoregressive else None
            grad_lower, grad_new_upper, grad_stopness = lerp_backward(
                (grad_stacked_input[:, :size], *rest), lower, new_upper, stopness
            )
            grad_new_upper = tuple(
                torch.add(*parts) for parts in zip(grad_new_upper, grad_upper, strict=True)
            )
            grad_upper, grad_stepped, grad_stopness_upper = lerp_backward(
                grad_new_upper, upper, stepped, stopness
            )
            grad_stacked_input, rest = self.cell.backward(
                upper_matrices, grad_upper_matrices, upper_saved, grad_stepped
            )
            grad_upper = tuple(
                torch.add(*parts)
                for parts in zip(grad_upper, (grad_stacked_input[:, :size], *rest), strict=True)
            )
            grad_stopness += grad_stopness_upper
            grad_rows[:, num_symbols:] = torch.ops.aten.sigmoid_backward(grad_stopness, stopness)
        return loss, grad_upper[0]


def _logits_backward(
    weights: Tensor, target: Tensor, symbol_weight: float, grad_feedback: Tensor | None
) -> Tensor:
    """Gradient of a step's logits: from the cross-entropy, and from the softmax weights fed back to the next step."""
    grad_logits = torch.sub(weights * symbol_weight, target)
    if grad_feedback is None:
        return grad_logits
    product = weights * grad_feedback
    return grad_logits.add_(product).addcmul_(weights, product.sum(1, keepdim=True), value=-1)
