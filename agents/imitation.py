"""Imitation: senders learn a given language by cross-entropy, many replicas of one sender at once.

What a sender feels is defined by its module: it says scores, hears their softmax, and minimises the mean cross-entropy
of all symbols. Here that is written out for speed: autograd folds the maps and sees one function, `_LearnByHand`,
whose gradients were found by hand while it ran.
"""

from abc import ABC, abstractmethod
from typing import Any, cast

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import RecurrentCell, tanh
from ecsuite.agents.feedforward import FeedForwardSender
from ecsuite.agents.hierarchical import HierarchicalSender
from ecsuite.agents.kernels import Kernel, Parameters, Saved, Source, kernel_of
from ecsuite.agents.message import EOS
from ecsuite.agents.senders import Decoder, RecurrentSender


class Lesson:
    """One batch to learn from, and how well it was known.

    Args:
        meanings: Attribute values, (replicas, attributes, batch).
        messages: The right symbols, (length, replicas, batch), ids of at least 1.
        num_values: Values of each attribute.
        num_symbols: Width of the scores, EOS included.
    """

    def __init__(self, meanings: Tensor, messages: Tensor, num_values: int, num_symbols: int) -> None:
        replicas, num_attributes, batch = meanings.shape
        self.meanings = meanings
        places = meanings + torch.arange(num_attributes, device=meanings.device)[:, None] * num_values
        features = torch.zeros(replicas, num_attributes * num_values, batch, device=meanings.device)
        self.features = features.scatter_(1, places, 1.0)  # (replicas, attributes * values, batch)
        self.messages = messages[:, :, None, :]  # (length, replicas, 1, batch)
        self.num_symbols = num_symbols
        self.share = 1 / (len(messages) * batch)
        """What one symbol weighs in its replica's mean."""
        self.right = torch.zeros(replicas, device=meanings.device)
        """Share of right symbols of each replica, (replicas,); set by `check`."""

    def check(self, probabilities: Tensor) -> Tensor:
        """Note how many symbols are the likeliest, and give the sum over replicas of the mean cross-entropy in nats.

        Args:
            probabilities: (length, replicas, num_symbols, batch).
        """
        chosen = probabilities.gather(2, self.messages)
        self.right = (chosen >= probabilities.amax(2, keepdim=True)).sum((0, 2, 3)) * self.share
        return -chosen.clamp_min(torch.finfo(torch.float32).tiny).log().sum() * self.share

    def targets(self) -> Tensor:
        """`share` at the right symbols, zero elsewhere, (length, replicas, num_symbols, batch)."""
        length, replicas, _, batch = self.messages.shape
        hot = torch.zeros(length, replicas, self.num_symbols, batch, device=self.messages.device)
        return hot.scatter_(2, self.messages, self.share)


class Pupil(ABC):
    """How one kind of agent learns from a lesson."""

    @abstractmethod
    def loss(self, parameters: Parameters, lesson: Lesson) -> Tensor:
        """The sum over replicas of the mean cross-entropy, differentiable in the parameters; sets `lesson.right`."""


class Imitator(Pupil):
    """A pupil whose gradients are written out."""

    @abstractmethod
    def run(
        self, lesson: Lesson, start: Tensor, groups: list[list[Tensor]], gradients: list[list[Tensor]]
    ) -> tuple[Tensor, Tensor | None]:
        """Speak, and learn.

        Args:
            lesson: What to say.
            start: What the meanings are perceived as, (replicas, features, batch).
            groups: Matrices by group: first those that are read out, then those of each layer.
            gradients: Zeros like them; the gradients are added in place.

        Returns:
            The loss, and the gradient of `start`, None if it needs none.
        """

    def head(self, parameters: Parameters) -> list[Tensor]:
        """Weight and bias, (replicas, rows, 1), of the scores."""
        return [parameters["scores.weight"], parameters["scores.bias"].unsqueeze(-1)]


def learn_by_hand(imitator: Imitator, lesson: Lesson, start: Tensor, groups: list[list[Tensor]]) -> Tensor:
    """The loss that `Imitator.run` finds, with its gradients, for autograd to go on with."""
    sizes = [len(group) for group in groups]
    loss: Tensor = _learn_by_hand(imitator, lesson, sizes, start, *(m for group in groups for m in group))
    return loss


def make_imitator(sender: nn.Module) -> Imitator | None:
    """The fast way for a sender to learn; None where there is none."""
    if isinstance(sender, FeedForwardSender):
        return FeedForwardImitator(sender)
    if not isinstance(sender, RecurrentSender | HierarchicalSender) or sender.style != "icy":
        return None
    cells = [sender.upper, sender.lower] if isinstance(sender, HierarchicalSender) else list(sender.cells)
    kernel = kernel_of(type(cast(RecurrentCell, cells[0])))
    if kernel is None:
        return None
    kind = UnitDecoder if isinstance(sender, HierarchicalSender) else StackDecoder
    return kind(sender, kernel, num_layers=len(cells))


class FeedForwardImitator(Imitator):
    """FC1L and FC2L: all scores come at once.

    Args:
        sender: The sender.
    """

    def __init__(self, sender: FeedForwardSender) -> None:
        self.has_hidden_layer = sender.perceive is not None

    def loss(self, parameters: Parameters, lesson: Lesson) -> Tensor:
        """See the base class."""
        start = lesson.features
        if self.has_hidden_layer:
            weight, bias = parameters["perceive.weight"], parameters["perceive.bias"]
            start = tanh(torch.baddbmm(bias.unsqueeze(-1), weight, start))
        return learn_by_hand(self, lesson, start, [self.head(parameters)])

    def run(
        self, lesson: Lesson, start: Tensor, groups: list[list[Tensor]], gradients: list[list[Tensor]]
    ) -> tuple[Tensor, Tensor | None]:
        """See the base class."""
        ((weight, bias),), ((to_weight, to_bias),) = groups, gradients
        scores = torch.baddbmm(bias, weight, start)  # (replicas, length * symbols, batch)
        by_step = scores.unflatten(1, (-1, lesson.num_symbols))
        probabilities = by_step.softmax(2)
        loss = lesson.check(probabilities.transpose(0, 1))
        to_scores = probabilities.mul_(lesson.share).sub_(lesson.targets().transpose(0, 1)).flatten(1, 2)
        torch.bmm(to_scores, start.mT, out=to_weight)
        torch.sum(to_scores, 2, keepdim=True, out=to_bias)
        return loss, torch.bmm(weight.mT, to_scores) if start.requires_grad else None


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
            weight = parameters["cells.0.hidden_map.weight"]
            size = weight.shape[-1]
            below = torch.eye(size, size + self.has_bias, device=weight.device)
            ones = weight.new_zeros(size + self.has_bias)
            ones[size:] = 1
            sources += [Source(embedding=below.expand(len(weight), -1, -1), ones=ones)] * (
                self.num_layers - 1
            )
        return [
            self.kernel.matrices(_under(parameters, f"cells.{layer}."), source)
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
                column = _over(states[layer][0], beside)
                states[layer], saved = self.kernel.forward(matrices, column, states[layer])
                tape[-1].append(saved)
                beside = _over(states[layer][0], one)
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
                to_column, rest_before = self.kernel.backward(
                    layers[layer], to_layers[layer], tape[time][layer], (to_output.add_(to_hidden), *rest)
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
            self.kernel.matrices(_under(parameters, "upper."), self.silence(parameters)),
            self.kernel.matrices(_under(parameters, "lower."), self.heard(parameters)),
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
            stepped, up_saved = self.kernel.forward(up, _over(upper[0], one), upper)
            fetched = _blend(upper, stepped, stopness)
            begun = _blend(lower, fetched, stopness)
            spelt, low_saved = self.kernel.forward(low, _over(begun[0], heard), begun)
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
            upper, stepped, fetched, lower, top, stopness, up_saved, low_saved = tape[time]
            to_rows[:, :num_symbols] = _to_scores(weights[time], targets[time], lesson.share, to_heard)
            to_bias += to_rows.sum(2, keepdim=True)
            to_head.baddbmm_(to_rows, top.mT)
            to_spelt = (torch.bmm(head.mT, to_rows).add_(to_lower[0]), *to_lower[1:])
            to_column, rest = self.kernel.backward(low, to_low, low_saved, to_spelt)
            to_heard = to_column[:, size:] if self.hears_itself else None
            to_lower, to_fetched, to_stopness = _unblend(
                (to_column[:, :size], *rest), lower, fetched, stopness
            )
            to_fetched = tuple(torch.add(*parts) for parts in zip(to_fetched, to_upper, strict=True))
            to_upper, to_stepped, more = _unblend(to_fetched, upper, stepped, stopness)
            to_column, rest = self.kernel.backward(up, to_up, up_saved, to_stepped)
            to_upper = tuple(
                torch.add(*parts) for parts in zip(to_upper, (to_column[:, :size], *rest), strict=True)
            )
            to_stopness += more
            to_rows[:, num_symbols:] = torch.ops.aten.sigmoid_backward(to_stopness, stopness)
        return loss, to_upper[0]


class _LearnByHand(torch.autograd.Function):
    """Runs an `Imitator`, which finds all gradients on the way; backward hands them on."""

    @staticmethod
    def forward(
        ctx: Any, imitator: Imitator, lesson: Lesson, sizes: list[int], start: Tensor, *matrices: Tensor
    ) -> Tensor:
        gradients = [torch.zeros_like(matrix) for matrix in matrices]
        loss, to_start = imitator.run(lesson, start, _grouped(matrices, sizes), _grouped(gradients, sizes))
        ctx.gradients = [to_start, *gradients]
        return loss

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        # The loss is what is minimised, so its own gradient is 1.
        return None, None, None, *ctx.gradients


_learn_by_hand: Any = _LearnByHand.apply


def _grouped(flat: Any, sizes: list[int]) -> list[list[Tensor]]:
    iterator = iter(flat)
    return [[next(iterator) for _ in range(size)] for size in sizes]


def _under(parameters: Parameters, prefix: str) -> Parameters:
    """The parameters of a submodule."""
    return {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}


def _over(upper: Tensor, lower: Tensor | None) -> Tensor:
    """Rows above rows."""
    return upper if lower is None else torch.cat([upper, lower], dim=1)


def _blend(old: Saved, new: Saved, share: Tensor) -> Saved:
    return tuple(torch.lerp(before, after, share) for before, after in zip(old, new, strict=True))


def _unblend(to_blend: Saved, old: Saved, new: Saved, share: Tensor) -> tuple[Saved, Saved, Tensor]:
    """Gradients of `_blend`: of the old and the new state, and of the share."""
    to_new = tuple(part * share for part in to_blend)
    to_old = tuple(part - moved for part, moved in zip(to_blend, to_new, strict=True))
    parts = zip(to_blend, old, new, strict=True)
    to_share = sum(
        ((after - before).mul_(part).sum(1, keepdim=True) for part, before, after in parts), start=0
    )
    return to_old, to_new, cast(Tensor, to_share)


def _to_scores(weights: Tensor, target: Tensor, share: float, to_heard: Tensor | None) -> Tensor:
    """The gradient of a step's scores: of the cross-entropy, and of what was heard of them."""
    to_scores = torch.sub(weights * share, target)
    if to_heard is None:
        return to_scores
    product = weights * to_heard
    return to_scores.add_(product).addcmul_(weights, product.sum(1, keepdim=True), value=-1)
