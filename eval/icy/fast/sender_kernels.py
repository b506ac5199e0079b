"""Decoders that learn by hand: senders that speak step by step, and the gradients of all they say.

At each step the softmax of the scores is heard at the next one, and gradients flow through what was heard.
"""

from abc import abstractmethod

import torch
from torch import Tensor

from ecsuite.agents.cells import RecurrentCell
from ecsuite.agents.message import EOS
from ecsuite.agents.senders import Decoder
from ecsuite.eval.icy.fast.recurrent_kernels import (
    FoldedInput,
    FusedCell,
    Parameters,
    Saved,
    concat_rows,
    layer_below,
    lerp_backward,
    lerp_states,
    submodule_parameters,
)
from ecsuite.eval.icy.fast.supervised_batches import FusedSenderTrainer, SupervisedBatch, fused_loss


class StepwiseTrainer(FusedSenderTrainer):
    """What decoders share that speak step by step.

    Args:
        sender: The sender.
        cell: The kernel of its cells.
        num_layers: How many cells it has.
    """

    def __init__(self, sender: Decoder, cell: FusedCell, num_layers: int) -> None:
        self.cell, self.num_layers = cell, num_layers
        self.is_autoregressive = sender.embed is not None
        module = next(module for module in sender.modules() if isinstance(module, RecurrentCell))
        self.has_bias = module.has_bias
        self.num_states = len(module.start(torch.zeros(1, module.hidden_size)))

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """See the base class."""
        start = torch.bmm(parameters["perceive.weight"], examples.features)
        return fused_loss(self, examples, start, [self.head(parameters), *self.layers(parameters)])

    @abstractmethod
    def layers(self, parameters: Parameters) -> list[list[Tensor]]:
        """The matrices of each layer."""

    def feedback(self, parameters: Parameters) -> FoldedInput:
        """What enters the layer that hears the symbols: their weights, which add up to 1, or nothing."""
        if not self.is_autoregressive:
            return self.no_input(parameters)
        weight = parameters["embed.weight"]
        return FoldedInput(
            embedding=weight + parameters["embed.bias"].unsqueeze(-1), ones=weight.new_ones(weight.shape[-1])
        )

    def no_input(self, parameters: Parameters) -> FoldedInput:
        """What enters a cell that hears nothing: a one for its biases, if it has any."""
        return FoldedInput(embedding=None, ones=parameters["scores.weight"].new_ones(int(self.has_bias)))

    def first_feedback(self, examples: SupervisedBatch) -> Tensor | None:
        """The rows of `feedback` at the first step: EOS stands for the start."""
        replicas, _, batch = examples.features.shape
        if not self.is_autoregressive:
            return self.one(examples)
        rows = examples.features.new_zeros(replicas, examples.num_symbols, batch)
        rows[:, EOS] = 1
        return rows

    def one(self, examples: SupervisedBatch) -> Tensor | None:
        """The rows of `no_input`."""
        replicas, _, batch = examples.features.shape
        return examples.features.new_ones(replicas, 1, batch) if self.has_bias else None

    def zeros(self, like: Tensor) -> Saved:
        """A state of zeros."""
        return tuple(torch.zeros_like(like) for _ in range(self.num_states))


class MultiLayerTrainer(StepwiseTrainer):
    """Recurrent senders of one or more layers."""

    def layers(self, parameters: Parameters) -> list[list[Tensor]]:
        """See the base class."""
        sources = [self.feedback(parameters)]
        if self.num_layers > 1:
            beneath = layer_below(parameters["cells.0.hidden_map.weight"], has_bias=self.has_bias)
            sources += [beneath] * (self.num_layers - 1)
        return [
            self.cell.matrices(submodule_parameters(parameters, f"cells.{layer}."), source)
            for layer, source in enumerate(sources)
        ]

    def run(
        self,
        examples: SupervisedBatch,
        start: Tensor,
        groups: list[list[Tensor]],
        gradients: list[list[Tensor]],
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        (head, bias), *layers = groups
        (to_head, to_bias), *to_layers = gradients
        size, length = start.shape[1], len(examples.messages)
        one, feedback = self.one(examples), self.first_feedback(examples)
        states = [(start, *self.zeros(start)[1:]), *(self.zeros(start) for _ in layers[1:])]
        tape: list[list[Saved]] = []
        tops, weights = [], []
        for _ in range(length):
            beside = feedback
            tape.append([])
            for layer, matrices in enumerate(layers):
                stacked_input = concat_rows(states[layer][0], beside)
                states[layer], saved = self.cell.forward(matrices, stacked_input, states[layer])
                tape[-1].append(saved)
                beside = concat_rows(states[layer][0], one)
            tops.append(states[-1][0])
            weights.append(torch.baddbmm(bias, head, tops[-1]).softmax(1))
            if self.is_autoregressive:
                feedback = weights[-1]

        probabilities = torch.stack(weights)
        loss, targets = examples.cross_entropy(probabilities), examples.targets()
        to_states = [self.zeros(start) for _ in layers]
        to_feedback: Tensor | None = None
        for time in reversed(range(length)):
            to_scores = _to_scores(weights[time], targets[time], examples.share, to_feedback)
            to_bias += to_scores.sum(2, keepdim=True)
            to_head.baddbmm_(to_scores, tops[time].mT)
            to_output = torch.bmm(head.mT, to_scores)
            for layer in reversed(range(len(layers))):
                to_hidden, *rest = to_states[layer]
                # What was saved is let go at once: its memory is warm, and the next gradients are put there.
                to_stacked_input, rest_before = self.cell.backward(
                    layers[layer], to_layers[layer], tape[time].pop(), (to_output.add_(to_hidden), *rest)
                )
                to_states[layer] = (to_stacked_input[:, :size], *rest_before)
                to_output = (
                    to_stacked_input[:, size : 2 * size].clone() if layer else to_stacked_input[:, size:]
                )
            to_feedback = to_output if self.is_autoregressive else None
        return loss, to_states[0][0]


class HierarchicalTrainer(StepwiseTrainer):
    """HUSendA and HUSendZ, as `HierarchicalSender` defines them."""

    def head(self, parameters: Parameters) -> list[Tensor]:
        """See the base class: the scores, and the stopness below them."""
        weight = torch.cat([parameters["scores.weight"], parameters["stop.weight"]], dim=1)
        bias = torch.cat([parameters["scores.bias"], parameters["stop.bias"]], dim=1)
        return [weight, bias.unsqueeze(-1)]

    def layers(self, parameters: Parameters) -> list[list[Tensor]]:
        """See the base class."""
        return [
            self.cell.matrices(submodule_parameters(parameters, "upper."), self.no_input(parameters)),
            self.cell.matrices(submodule_parameters(parameters, "lower."), self.feedback(parameters)),
        ]

    def run(
        self,
        examples: SupervisedBatch,
        start: Tensor,
        groups: list[list[Tensor]],
        gradients: list[list[Tensor]],
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        (head, bias), up, low = groups
        (to_head, to_bias), to_up, to_low = gradients
        size, length, num_symbols = start.shape[1], len(examples.messages), examples.num_symbols
        one, feedback = self.one(examples), self.first_feedback(examples)
        upper, lower = (start, *self.zeros(start)[1:]), self.zeros(start)
        stopness = start.new_ones(len(start), 1, start.shape[2])
        tape, weights = [], []
        for _ in range(length):
            stepped, up_saved = self.cell.forward(up, concat_rows(upper[0], one), upper)
            fetched = lerp_states(upper, stepped, stopness)
            begun = lerp_states(lower, fetched, stopness)
            spelt, low_saved = self.cell.forward(low, concat_rows(begun[0], feedback), begun)
            rows = torch.baddbmm(bias, head, spelt[0])
            weights.append(rows[:, :num_symbols].softmax(1))
            tape.append((upper, stepped, fetched, lower, spelt[0], stopness, up_saved, low_saved))
            upper, lower, stopness = fetched, spelt, rows[:, num_symbols:].sigmoid()
            if self.is_autoregressive:
                feedback = weights[-1]

        probabilities = torch.stack(weights)
        loss, targets = examples.cross_entropy(probabilities), examples.targets()
        to_upper, to_lower = self.zeros(start), self.zeros(start)
        to_feedback: Tensor | None = None
        to_rows = start.new_zeros(len(start), num_symbols + 1, start.shape[2])
        for time in reversed(range(length)):
            # What was saved is let go at once: its memory is warm, and the next gradients are put there.
            upper, stepped, fetched, lower, top, stopness, up_saved, low_saved = tape.pop()
            to_rows[:, :num_symbols] = _to_scores(weights[time], targets[time], examples.share, to_feedback)
            to_bias += to_rows.sum(2, keepdim=True)
            to_head.baddbmm_(to_rows, top.mT)
            to_spelt = (torch.bmm(head.mT, to_rows).add_(to_lower[0]), *to_lower[1:])
            to_stacked_input, rest = self.cell.backward(low, to_low, low_saved, to_spelt)
            to_feedback = to_stacked_input[:, size:] if self.is_autoregressive else None
            to_lower, to_fetched, to_stopness = lerp_backward(
                (to_stacked_input[:, :size], *rest), lower, fetched, stopness
            )
            to_fetched = tuple(torch.add(*parts) for parts in zip(to_fetched, to_upper, strict=True))
            to_upper, to_stepped, more = lerp_backward(to_fetched, upper, stepped, stopness)
            to_stacked_input, rest = self.cell.backward(up, to_up, up_saved, to_stepped)
            to_upper = tuple(
                torch.add(*parts) for parts in zip(to_upper, (to_stacked_input[:, :size], *rest), strict=True)
            )
            to_stopness += more
            to_rows[:, num_symbols:] = torch.ops.aten.sigmoid_backward(to_stopness, stopness)
        return loss, to_upper[0]


def _to_scores(weights: Tensor, target: Tensor, share: float, to_feedback: Tensor | None) -> Tensor:
    """The gradient of a step's scores: of the cross-entropy, and of what was heard of them."""
    to_scores = torch.sub(weights * share, target)
    if to_feedback is None:
        return to_scores
    product = weights * to_feedback
    return to_scores.add_(product).addcmul_(weights, product.sum(1, keepdim=True), value=-1)
