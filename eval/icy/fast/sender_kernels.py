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
    Kernel,
    Parameters,
    Saved,
    Source,
    blend,
    layer_below,
    over,
    unblend,
    under,
)
from ecsuite.eval.icy.fast.supervised_batches import Imitator, Lesson, learn_by_hand


class StepDecoder(Imitator):
    """What decoders share that speak step by step.

    Args:
        sender: The sender.
        kernel: The kernel of its cells.
        num_layers: How many cells it has.
    """

    def __init__(self, sender: Decoder, kernel: Kernel, num_layers: int) -> None:
        self.kernel, self.num_layers = kernel, num_layers
        self.hears_itself = sender.embed is not None
        cell = next(module for module in sender.modules() if isinstance(module, RecurrentCell))
        self.has_bias, self.num_states = cell.has_bias, len(cell.start(torch.zeros(1, cell.hidden_size)))

    def loss(self, parameters: Parameters, lesson: Lesson) -> Tensor:
        """See the base class."""
        start = torch.bmm(parameters["perceive.weight"], lesson.features)
        return learn_by_hand(self, lesson, start, [self.head(parameters), *self.layers(parameters)])

    @abstractmethod
    def layers(self, parameters: Parameters) -> list[list[Tensor]]:
        """The matrices of each layer."""

    def heard(self, parameters: Parameters) -> Source:
        """What enters the layer that hears the symbols: their weights, which add up to 1, or nothing."""
        if not self.hears_itself:
            return self.silence(parameters)
        weight = parameters["embed.weight"]
        return Source(
            embedding=weight + parameters["embed.bias"].unsqueeze(-1), ones=weight.new_ones(weight.shape[-1])
        )

    def silence(self, parameters: Parameters) -> Source:
        """What enters a cell that hears nothing: a one for its biases, if it has any."""
        return Source(embedding=None, ones=parameters["scores.weight"].new_ones(int(self.has_bias)))

    def first_heard(self, lesson: Lesson) -> Tensor | None:
        """The rows of `heard` at the first step: EOS stands for the start."""
        replicas, _, batch = lesson.features.shape
        if not self.hears_itself:
            return self.one(lesson)
        rows = lesson.features.new_zeros(replicas, lesson.num_symbols, batch)
        rows[:, EOS] = 1
        return rows

    def one(self, lesson: Lesson) -> Tensor | None:
        """The rows of `silence`."""
        replicas, _, batch = lesson.features.shape
        return lesson.features.new_ones(replicas, 1, batch) if self.has_bias else None

    def zeros(self, like: Tensor) -> Saved:
        """A state of zeros."""
        return tuple(torch.zeros_like(like) for _ in range(self.num_states))


class StackDecoder(StepDecoder):
    """Recurrent senders of one or more layers."""

    def layers(self, parameters: Parameters) -> list[list[Tensor]]:
        """See the base class."""
        sources = [self.heard(parameters)]
        if self.num_layers > 1:
            beneath = layer_below(parameters["cells.0.hidden_map.weight"], has_bias=self.has_bias)
            sources += [beneath] * (self.num_layers - 1)
        return [
            self.kernel.matrices(under(parameters, f"cells.{layer}."), source)
            for layer, source in enumerate(sources)
        ]

    def run(
        self, lesson: Lesson, start: Tensor, groups: list[list[Tensor]], gradients: list[list[Tensor]]
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        (head, bias), *layers = groups
        (to_head, to_bias), *to_layers = gradients
        size, length = start.shape[1], len(lesson.messages)
        one, heard = self.one(lesson), self.first_heard(lesson)
        states = [(start, *self.zeros(start)[1:]), *(self.zeros(start) for _ in layers[1:])]
        tape: list[list[Saved]] = []
        tops, weights = [], []
        for _ in range(length):
            beside = heard
            tape.append([])
            for layer, matrices in enumerate(layers):
                column = over(states[layer][0], beside)
                states[layer], saved = self.kernel.forward(matrices, column, states[layer])
                tape[-1].append(saved)
                beside = over(states[layer][0], one)
            tops.append(states[-1][0])
            weights.append(torch.baddbmm(bias, head, tops[-1]).softmax(1))
            if self.hears_itself:
                heard = weights[-1]

        probabilities = torch.stack(weights)
        loss, targets = lesson.check(probabilities), lesson.targets()
        to_states = [self.zeros(start) for _ in layers]
        to_heard: Tensor | None = None
        for time in reversed(range(length)):
            to_scores = _to_scores(weights[time], targets[time], lesson.share, to_heard)
            to_bias += to_scores.sum(2, keepdim=True)
            to_head.baddbmm_(to_scores, tops[time].mT)
            to_output = torch.bmm(head.mT, to_scores)
            for layer in reversed(range(len(layers))):
                to_hidden, *rest = to_states[layer]
                # What was saved is let go at once: its memory is warm, and the next gradients are put there.
                to_column, rest_before = self.kernel.backward(
                    layers[layer], to_layers[layer], tape[time].pop(), (to_output.add_(to_hidden), *rest)
                )
                to_states[layer] = (to_column[:, :size], *rest_before)
                to_output = to_column[:, size : 2 * size].clone() if layer else to_column[:, size:]
            to_heard = to_output if self.hears_itself else None
        return loss, to_states[0][0]


class UnitDecoder(StepDecoder):
    """HUSendA and HUSendZ, as `HierarchicalSender` defines them."""

    def head(self, parameters: Parameters) -> list[Tensor]:
        """See the base class: the scores, and the stopness below them."""
        weight = torch.cat([parameters["scores.weight"], parameters["stop.weight"]], dim=1)
        bias = torch.cat([parameters["scores.bias"], parameters["stop.bias"]], dim=1)
        return [weight, bias.unsqueeze(-1)]

    def layers(self, parameters: Parameters) -> list[list[Tensor]]:
        """See the base class."""
        return [
            self.kernel.matrices(under(parameters, "upper."), self.silence(parameters)),
            self.kernel.matrices(under(parameters, "lower."), self.heard(parameters)),
        ]

    def run(
        self, lesson: Lesson, start: Tensor, groups: list[list[Tensor]], gradients: list[list[Tensor]]
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        (head, bias), up, low = groups
        (to_head, to_bias), to_up, to_low = gradients
        size, length, num_symbols = start.shape[1], len(lesson.messages), lesson.num_symbols
        one, heard = self.one(lesson), self.first_heard(lesson)
        upper, lower = (start, *self.zeros(start)[1:]), self.zeros(start)
        stopness = start.new_ones(len(start), 1, start.shape[2])
        tape, weights = [], []
        for _ in range(length):
            stepped, up_saved = self.kernel.forward(up, over(upper[0], one), upper)
            fetched = blend(upper, stepped, stopness)
            begun = blend(lower, fetched, stopness)
            spelt, low_saved = self.kernel.forward(low, over(begun[0], heard), begun)
            rows = torch.baddbmm(bias, head, spelt[0])
            weights.append(rows[:, :num_symbols].softmax(1))
            tape.append((upper, stepped, fetched, lower, spelt[0], stopness, up_saved, low_saved))
            upper, lower, stopness = fetched, spelt, rows[:, num_symbols:].sigmoid()
            if self.hears_itself:
                heard = weights[-1]

        probabilities = torch.stack(weights)
        loss, targets = lesson.check(probabilities), lesson.targets()
        to_upper, to_lower = self.zeros(start), self.zeros(start)
        to_heard: Tensor | None = None
        to_rows = start.new_zeros(len(start), num_symbols + 1, start.shape[2])
        for time in reversed(range(length)):
            # What was saved is let go at once: its memory is warm, and the next gradients are put there.
            upper, stepped, fetched, lower, top, stopness, up_saved, low_saved = tape.pop()
            to_rows[:, :num_symbols] = _to_scores(weights[time], targets[time], lesson.share, to_heard)
            to_bias += to_rows.sum(2, keepdim=True)
            to_head.baddbmm_(to_rows, top.mT)
            to_spelt = (torch.bmm(head.mT, to_rows).add_(to_lower[0]), *to_lower[1:])
            to_column, rest = self.kernel.backward(low, to_low, low_saved, to_spelt)
            to_heard = to_column[:, size:] if self.hears_itself else None
            to_lower, to_fetched, to_stopness = unblend(
                (to_column[:, :size], *rest), lower, fetched, stopness
            )
            to_fetched = tuple(torch.add(*parts) for parts in zip(to_fetched, to_upper, strict=True))
            to_upper, to_stepped, more = unblend(to_fetched, upper, stepped, stopness)
            to_column, rest = self.kernel.backward(up, to_up, up_saved, to_stepped)
            to_upper = tuple(
                torch.add(*parts) for parts in zip(to_upper, (to_column[:, :size], *rest), strict=True)
            )
            to_stopness += more
            to_rows[:, num_symbols:] = torch.ops.aten.sigmoid_backward(to_stopness, stopness)
        return loss, to_upper[0]


def _to_scores(weights: Tensor, target: Tensor, share: float, to_heard: Tensor | None) -> Tensor:
    """The gradient of a step's scores: of the cross-entropy, and of what was heard of them."""
    to_scores = torch.sub(weights * share, target)
    if to_heard is None:
        return to_scores
    product = weights * to_heard
    return to_scores.add_(product).addcmul_(weights, product.sum(1, keepdim=True), value=-1)
