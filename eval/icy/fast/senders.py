"""Fused senders with manually derived gradients, and their supervised training, for many replicas at once.

The modules in `agents` define the computation: the softmax of a step's logits is the input of the next step, gradients
flow through it, and the loss is the mean cross-entropy of all symbols. Tensors are (replicas, features, batch).
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.agents.feedforward import FC1LSender, FC2LSender, FeedForwardSender
from ecsuite.agents.hierarchical import HUSendA, HUSendZ
from ecsuite.agents.linear import first_derivative_only
from ecsuite.agents.message import EOS
from ecsuite.agents.recurrence import tanh
from ecsuite.agents.senders import Decoder, RecurrentSender
from ecsuite.eval.icy.fast.cells import (
    FoldedInput,
    FusedAgent,
    FusedCell,
    Groups,
    HierarchicalLayers,
    Layers,
    Matrices,
    Parameters,
    SequenceSizes,
    State,
    Steps,
    add_states,
    common_fused_cell,
    grouped,
    head_gradients,
    lerp_backward,
    lerp_states,
    submodule_parameters,
)
from ecsuite.runtime.devices import default_products


class SupervisedBatch:
    """One batch of meanings and target messages, and the accuracy of each replica on it.

    Args:
        meanings: Attribute values, (replicas, attributes, batch).
        messages: The target symbols, (length, replicas, batch), ids of at least 1.
        num_values: Number of values of each attribute.
        num_symbols: Width of the logits, including EOS.
    """

    def __init__(self, meanings: Tensor, messages: Tensor, num_values: int, num_symbols: int) -> None:
        replicas, num_attributes, batch = meanings.shape
        self.meanings = meanings
        indices = meanings + torch.arange(num_attributes, device=meanings.device)[:, None] * num_values
        features = torch.zeros(replicas, num_attributes * num_values, batch, device=meanings.device)
        self.features = features.scatter_(1, indices, 1.0)  # (replicas, attributes * values, batch)
        self.messages = messages[:, :, None, :]  # (length, replicas, 1, batch)
        self.num_symbols = num_symbols
        self.symbol_weight = 1 / (len(messages) * batch)
        """Weight of one symbol in the mean over its replica."""
        self.accuracy = torch.zeros(replicas, device=meanings.device)
        """Share of correct symbols of each replica, (replicas,); set by `cross_entropy`."""

    def cross_entropy(self, probabilities: Tensor) -> Tensor:
        """Sum over replicas of the mean cross-entropy in nats; sets `accuracy`.

        Args:
            probabilities: (length, replicas, num_symbols, batch).
        """
        chosen = probabilities.gather(2, self.messages)
        self.accuracy = (chosen >= probabilities.amax(2, keepdim=True)).sum((0, 2, 3)) * self.symbol_weight
        return -chosen.clamp_min(torch.finfo(torch.float32).tiny).log().sum() * self.symbol_weight

    def targets(self) -> Tensor:
        """`symbol_weight` at the target symbols, zero elsewhere, (length, replicas, num_symbols, batch)."""
        length, replicas, _, batch = self.messages.shape
        one_hot = torch.zeros(length, replicas, self.num_symbols, batch, device=self.messages.device)
        return one_hot.scatter_(2, self.messages, self.symbol_weight)


class SupervisedLearner(ABC):
    """Loss of one type of agent on a supervised batch."""

    has_static_operations = False
    """Whether the operations of an update depend on nothing but the sizes of the batch."""

    @abstractmethod
    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """Sum over replicas of the mean cross-entropy, differentiable in the parameters; sets `examples.accuracy`."""


Gradients = tuple[Tensor | None, Groups]
"""Gradients of the projected meanings, if they need one, and of the matrices."""


class FusedSender(SupervisedLearner):
    """A sender whose gradients are derived manually."""

    has_static_operations = True

    @abstractmethod
    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, *, needs_gradients: bool
    ) -> tuple[Tensor, Gradients | None]:
        """Compute the loss and all gradients of a batch.

        Args:
            examples: The batch.
            start: The projected meanings, (replicas, features, batch).
            groups: Matrices by group: first those of the output layer, then those of each layer.
            needs_gradients: Whether to compute the gradients, too.

        Returns:
            The loss, and the gradients or None.
        """

    def head(self, parameters: Parameters) -> Matrices:
        """Weight and bias, (replicas, rows, 1), of the output layer."""
        return [parameters["scores.weight"], parameters["scores.bias"].unsqueeze(-1)]


def fused_loss(fused_sender: FusedSender, examples: SupervisedBatch, start: Tensor, groups: Groups) -> Tensor:
    """The loss of `FusedSender.run`, connected to autograd; gradients are computed only if they are enabled."""
    if not torch.is_grad_enabled():
        return fused_sender.run(examples, start, groups, needs_gradients=False)[0]
    sizes = [len(group) for group in groups]
    loss: Tensor = _fused_loss(fused_sender, examples, sizes, start, *(m for group in groups for m in group))
    return loss


class _FusedLoss(torch.autograd.Function):
    """Autograd function that runs a `FusedSender`: forward computes all gradients, backward returns them."""

    @staticmethod
    def forward(
        ctx: Any,
        fused_sender: FusedSender,
        examples: SupervisedBatch,
        sizes: list[int],
        start: Tensor,
        *matrices: Tensor,
    ) -> Tensor:
        loss, gradients = fused_sender.run(examples, start, grouped(matrices, sizes), needs_gradients=True)
        assert gradients is not None
        grad_start, grad_groups = gradients
        ctx.save_for_backward(grad_start, *(gradient for group in grad_groups for gradient in group))
        return loss

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return None, None, None, *(None if each is None else gradient * each for each in ctx.saved_tensors)


_fused_loss: Any = _FusedLoss.apply


class _StepwiseFusedSender(FusedAgent, FusedSender):
    """Base class of fused step-by-step senders."""

    def __init__(self, cell: type[FusedCell], sender: Decoder) -> None:
        super().__init__(cell, sender)
        self.is_autoregressive = sender.embed is not None

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        start = torch.bmm(parameters["perceive.weight"], examples.features)
        return fused_loss(self, examples, start, [self.head(parameters), *self.matrices(parameters)])

    @abstractmethod
    def matrices(self, parameters: Parameters) -> Groups:
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

    def set_first_input(self, cell: FusedCell) -> None:
        """Set the first input of the cell that gets `feedback`: EOS as the start symbol, or its only input."""
        if self.is_autoregressive:
            cell.rows[0][:, EOS].fill_(1)
        else:
            cell.set_rows(1)


class _MultiLayerFusedSender(_StepwiseFusedSender):
    """Recurrent senders of one or more layers."""

    def matrices(self, parameters: Parameters) -> Groups:
        return self.layer_matrices(parameters, self.feedback(parameters))

    def make_layers(self, sizes: SequenceSizes, groups: Groups) -> Layers:
        layers = super().make_layers(sizes, groups)
        self.set_first_input(layers.layers[0].cell)
        return layers

    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, *, needs_gradients: bool
    ) -> tuple[Tensor, Gradients | None]:
        (head, bias), *matrices = groups
        replicas, _, batch = start.shape
        length = len(examples.messages)
        layers = self.borrow_layers(replicas, length, batch, matrices)
        lowest, highest = layers.layers[0].cell, layers.layers[-1].cell
        lowest.hidden[0].copy_(start)
        weights = start.new_empty(length, replicas, examples.num_symbols, batch)
        for step in range(length):
            output = layers.forward(step)
            with default_products(start.device):
                logits = torch.baddbmm(bias, head, output)
            torch.softmax(logits, 1, out=weights[step])
            if self.is_autoregressive:
                lowest.rows[step + 1].copy_(weights[step])

        loss = examples.cross_entropy(weights)
        if not needs_gradients:
            self.release(layers)
            return loss, None
        grad_logits = torch.sub(weights * examples.symbol_weight, examples.targets())
        layers.begin_backward()
        for step in reversed(range(length)):
            if self.is_autoregressive:
                _add_softmax_backward(grad_logits[step], weights[step], lowest.grad_rows)
            with default_products(start.device):
                layers.gradients[-1][0].baddbmm_(head.mT, grad_logits[step])
            layers.backward(step)
        grad_head = head_gradients(grad_logits, highest.hidden[1:])
        grad_matrices = [layer.gradients() for layer in layers.layers]
        grad_start = lowest.grad_hidden.clone()
        self.release(layers)
        return loss, (grad_start, [grad_head, *grad_matrices])


class _HierarchicalSenderLayers(HierarchicalLayers):
    """The upper and the lower cell of a hierarchical sender, which share their interpolated states."""

    def __init__(self, cell: type[FusedCell], sizes: SequenceSizes, groups: Groups) -> None:
        super().__init__(cell, sizes, groups)
        self.upper, self.lower = self.layers
        self.output = Steps(sizes, sizes.hidden)
        self.lower_states: list[State] = [
            (output, *rest)
            for output, rest in zip(self.output.parts, sizes.states(cell.num_entries - 1), strict=True)
        ]
        """The states of the lower cell: zeros, then the state after each step."""

    def step(self, step: int, stopness: Tensor) -> Tensor:
        """Write the states after a step, given the lower cell's stopness before it; returns the output."""
        upper, lower = self.upper, self.lower
        upper.forward(step, self.stepped[step])
        lerp_states(upper.states[step], self.stepped[step], stopness, out=upper.states[step + 1])
        lerp_states(self.lower_states[step], upper.states[step + 1], stopness, out=lower.states[step])
        lower.forward(step, self.lower_states[step + 1])
        return self.output[step + 1]

    def step_backward(
        self, step: int, stopness: Tensor, grad_upper: State, grad_lower: State
    ) -> tuple[State, State, Tensor]:
        """Gradients of the states and the stopness before a step, from the gradients of the states after it."""
        grad_initial = self.lower.backward(step, grad_lower)
        grad_lower, grad_new_upper, grad_stopness = lerp_backward(
            grad_initial, self.lower_states[step], self.upper.states[step + 1], stopness
        )
        grad_new_upper = add_states(grad_new_upper, grad_upper)
        grad_upper, grad_stepped, grad_upper_stopness = lerp_backward(
            grad_new_upper, self.upper.states[step], self.stepped[step], stopness
        )
        grad_upper = add_states(grad_upper, self.upper.backward(step, grad_stepped))
        return grad_upper, grad_lower, grad_stopness.add_(grad_upper_stopness)


class _HierarchicalFusedSender(_StepwiseFusedSender):
    """HUSendA and HUSendZ as in `HierarchicalSender`."""

    def head(self, parameters: Parameters) -> Matrices:
        """The rows of the logits, and below them the row of the stopness."""
        weight = torch.cat([parameters["scores.weight"], parameters["stop.weight"]], dim=1)
        bias = torch.cat([parameters["scores.bias"], parameters["stop.bias"]], dim=1)
        return [weight, bias.unsqueeze(-1)]

    def matrices(self, parameters: Parameters) -> Groups:
        return [
            self.cell.matrices(submodule_parameters(parameters, "upper."), self.no_input(parameters)),
            self.cell.matrices(submodule_parameters(parameters, "lower."), self.feedback(parameters)),
        ]

    def make_layers(self, sizes: SequenceSizes, groups: Groups) -> _HierarchicalSenderLayers:
        layers = _HierarchicalSenderLayers(self.cell, sizes, groups)
        layers.upper.cell.set_rows(1)
        self.set_first_input(layers.lower.cell)
        return layers

    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, *, needs_gradients: bool
    ) -> tuple[Tensor, Gradients | None]:
        (head, bias), *matrices = groups
        replicas, _, batch = start.shape
        length, num_symbols = len(examples.messages), examples.num_symbols
        layers = self.borrow_layers(replicas, length, batch, matrices)
        assert isinstance(layers, _HierarchicalSenderLayers)
        upper, lower = layers.upper.cell, layers.lower.cell
        upper.hidden[0].copy_(start)
        weights = start.new_empty(length, replicas, num_symbols, batch)
        stopness = [start.new_ones(replicas, 1, batch)]
        for step in range(length):
            output = layers.step(step, stopness[step])
            with default_products(start.device):
                rows = torch.baddbmm(bias, head, output)
            torch.softmax(rows[:, :num_symbols], 1, out=weights[step])
            stopness.append(rows[:, num_symbols:].sigmoid())
            if self.is_autoregressive:
                lower.rows[step + 1].copy_(weights[step])

        loss = examples.cross_entropy(weights)
        if not needs_gradients:
            self.release(layers)
            return loss, None
        grad_rows = start.new_zeros(length, replicas, num_symbols + 1, batch)
        grad_logits = torch.sub(
            weights * examples.symbol_weight, examples.targets(), out=grad_rows[:, :, :num_symbols]
        )
        grad_upper, grad_lower = layers.upper.begin_backward(), layers.lower.begin_backward()
        grad_stopness = torch.zeros_like(stopness[0])
        for step in reversed(range(length)):
            if self.is_autoregressive:
                _add_softmax_backward(grad_logits[step], weights[step], lower.grad_rows)
            grad_rows[step, :, num_symbols:] = torch.ops.aten.sigmoid_backward(
                grad_stopness, stopness[step + 1]
            )
            with default_products(start.device):
                grad_lower[0].baddbmm_(head.mT, grad_rows[step])
            grad_upper, grad_lower, grad_stopness = layers.step_backward(
                step, stopness[step], grad_upper, grad_lower
            )
        grad_head = head_gradients(grad_rows, layers.output.parts[1:])
        grad_matrices = [layers.upper.gradients(), layers.lower.gradients()]
        self.release(layers)
        return loss, (grad_upper[0], [grad_head, *grad_matrices])


def _add_softmax_backward(grad_logits: Tensor, weights: Tensor, grad_weights: Tensor) -> None:
    """Add the gradient of a step's logits that comes from their softmax, which the next step gets."""
    product = weights * grad_weights
    grad_logits.add_(product).addcmul_(weights, product.sum(1, keepdim=True), value=-1)


_STEPWISE: dict[type[nn.Module], type[_StepwiseFusedSender]] = {
    RecurrentSender: _MultiLayerFusedSender,
    HUSendA: _HierarchicalFusedSender,
    HUSendZ: _HierarchicalFusedSender,
}
"""The fused implementation of each class of step-by-step senders that has one."""


def make_fused_sender(sender: nn.Module) -> FusedSender | None:
    """The fused implementation of a sender, or None if there is none."""
    # Exactly these classes: a subclass may compute something else.
    if type(sender) in (FC1LSender, FC2LSender):
        assert isinstance(sender, FeedForwardSender)
        return _FeedForwardFusedSender(sender)
    fused_class = _STEPWISE.get(type(sender))
    if fused_class is None:
        return None
    assert isinstance(sender, Decoder)
    cell = common_fused_cell(sender) if sender.style == "icy" else None
    return None if cell is None else fused_class(cell, sender)


class _FeedForwardFusedSender(FusedSender):
    """FC1L and FC2L: all logits are computed at once."""

    def __init__(self, sender: FeedForwardSender) -> None:
        self.has_hidden_layer = sender.perceive is not None

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        start = examples.features
        if self.has_hidden_layer:
            weight, bias = parameters["perceive.weight"], parameters["perceive.bias"]
            start = tanh(torch.baddbmm(bias.unsqueeze(-1), weight, start))
        return fused_loss(self, examples, start, [self.head(parameters)])

    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, *, needs_gradients: bool
    ) -> tuple[Tensor, Gradients | None]:
        ((weight, bias),) = groups
        logits = torch.baddbmm(bias, weight, start)  # (replicas, length * symbols, batch)
        step_logits = logits.unflatten(1, (-1, examples.num_symbols))
        probabilities = step_logits.softmax(2)
        loss = examples.cross_entropy(probabilities.transpose(0, 1))
        if not needs_gradients:
            return loss, None
        grad_logits = (
            probabilities.mul_(examples.symbol_weight).sub_(examples.targets().transpose(0, 1)).flatten(1, 2)
        )
        grad_head = [torch.bmm(grad_logits, start.mT), grad_logits.sum(2, keepdim=True)]
        grad_start = torch.bmm(weight.mT, grad_logits) if start.requires_grad else None
        return loss, (grad_start, [grad_head])
