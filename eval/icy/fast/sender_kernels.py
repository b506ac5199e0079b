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
    HierarchicalLayers,
    Layers,
    add_states,
    head_gradients,
    lerp_backward,
    lerp_states,
    submodule_parameters,
)
from ecsuite.eval.icy.fast.recurrent_kernels import (
    FoldedInput,
    FusedCell,
    Groups,
    Matrices,
    Parameters,
    Sizes,
    State,
    Steps,
)
from ecsuite.eval.icy.fast.supervised_batches import FusedSender, Gradients, SupervisedBatch, fused_loss
from ecsuite.runtime.devices import default_products


class StepwiseFusedSender(FusedAgent, FusedSender):
    """Base class of fused step-by-step senders."""

    def __init__(self, cell: type[FusedCell], sender: Decoder) -> None:
        super().__init__(cell, sender)
        self.is_autoregressive = sender.embed is not None

    def loss(self, parameters: Parameters, examples: SupervisedBatch) -> Tensor:
        """See the base class."""
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
        """The rows of the cell that gets `feedback`: EOS serves as the start symbol; without it they are the same."""
        if self.is_autoregressive:
            cell.rows[0][:, EOS].fill_(1)
        else:
            cell.set_rows(1)


class MultiLayerFusedSender(StepwiseFusedSender):
    """Recurrent senders of one or more layers."""

    def matrices(self, parameters: Parameters) -> Groups:
        """See the base class."""
        return self.layer_matrices(parameters, self.feedback(parameters))

    def make_layers(self, sizes: Sizes, groups: Groups) -> Layers:
        """See the base class."""
        layers = super().make_layers(sizes, groups)
        self.set_first_input(layers.layers[0].cell)
        return layers

    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, *, needs_gradients: bool
    ) -> tuple[Tensor, Gradients | None]:
        """See the base class."""
        (head, bias), *matrices = groups
        replicas, _, batch = start.shape
        length = len(examples.messages)
        layers = self.layers_of(replicas, length, batch, matrices)
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
            self.keep(layers)
            return loss, None
        grad_logits = torch.sub(weights * examples.symbol_weight, examples.targets())
        layers.begin_backward()
        for step in reversed(range(length)):
            if self.is_autoregressive:
                _add_softmax_backward(grad_logits[step], weights[step], lowest.grad_rows)
            with default_products(start.device):
                layers.gradients[-1][0].baddbmm_(head.mT, grad_logits[step])
            layers.backward(step)
        of_head = head_gradients(grad_logits, highest.hidden[1:])
        of_matrices = [layer.gradients() for layer in layers.layers]
        of_start = lowest.grad_hidden.clone()
        self.keep(layers)
        return loss, (of_start, [of_head, *of_matrices])


class HierarchicalSenderLayers(HierarchicalLayers):
    """The upper and the lower cell of a hierarchical sender, which share their interpolated states."""

    def __init__(self, cell: type[FusedCell], sizes: Sizes, groups: Groups) -> None:
        super().__init__(cell, sizes, groups)
        self.upper, self.lower = self.layers
        self.output = Steps(sizes, sizes.hidden)
        self.lower_states: list[State] = [
            (output, *rest)
            for output, rest in zip(self.output.parts, sizes.states(cell.num_entries - 1), strict=True)
        ]
        """The states of the lower cell: zeros, and those after each step."""

    def step(self, step: int, stopness: Tensor) -> Tensor:
        """Write the states after a step, given how far the lower cell had stopped; returns its output."""
        upper, lower = self.upper, self.lower
        upper.forward(step, self.stepped[step])
        lerp_states(upper.states[step], self.stepped[step], stopness, out=upper.states[step + 1])
        lerp_states(self.lower_states[step], upper.states[step + 1], stopness, out=lower.states[step])
        lower.forward(step, self.lower_states[step + 1])
        return self.output[step + 1]

    def step_backward(
        self, step: int, stopness: Tensor, grad_upper: State, grad_lower: State
    ) -> tuple[State, State, Tensor]:
        """Gradients of the states and the stopness before a step, from those of the states after it."""
        grad_initial = self.lower.backward(step, grad_lower)
        grad_lower, grad_new_upper, grad_stopness = lerp_backward(
            grad_initial, self.lower_states[step], self.upper.states[step + 1], stopness
        )
        grad_new_upper = add_states(grad_new_upper, grad_upper)
        grad_upper, grad_stepped, of_upper = lerp_backward(
            grad_new_upper, self.upper.states[step], self.stepped[step], stopness
        )
        grad_upper = add_states(grad_upper, self.upper.backward(step, grad_stepped))
        return grad_upper, grad_lower, grad_stopness.add_(of_upper)


class HierarchicalFusedSender(StepwiseFusedSender):
    """HUSendA and HUSendZ as in `HierarchicalSender`."""

    def head(self, parameters: Parameters) -> Matrices:
        """See the base class: the rows of the logits, and below them the row of the stopness."""
        weight = torch.cat([parameters["scores.weight"], parameters["stop.weight"]], dim=1)
        bias = torch.cat([parameters["scores.bias"], parameters["stop.bias"]], dim=1)
        return [weight, bias.unsqueeze(-1)]

    def matrices(self, parameters: Parameters) -> Groups:
        """See the base class."""
        return [
            self.cell.matrices(submodule_parameters(parameters, "upper."), self.no_input(parameters)),
            self.cell.matrices(submodule_parameters(parameters, "lower."), self.feedback(parameters)),
        ]

    def make_layers(self, sizes: Sizes, groups: Groups) -> HierarchicalSenderLayers:
        """See the base class."""
        layers = HierarchicalSenderLayers(self.cell, sizes, groups)
        layers.upper.cell.set_rows(1)
        self.set_first_input(layers.lower.cell)
        return layers

    def run(
        self, examples: SupervisedBatch, start: Tensor, groups: Groups, *, needs_gradients: bool
    ) -> tuple[Tensor, Gradients | None]:
        """See the base class."""
        (head, bias), *matrices = groups
        replicas, _, batch = start.shape
        length, num_symbols = len(examples.messages), examples.num_symbols
        layers = self.layers_of(replicas, length, batch, matrices)
        assert isinstance(layers, HierarchicalSenderLayers)
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
            self.keep(layers)
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
        of_head = head_gradients(grad_rows, layers.output.parts[1:])
        of_matrices = [layers.upper.gradients(), layers.lower.gradients()]
        self.keep(layers)
        return loss, (grad_upper[0], [of_head, *of_matrices])


def _add_softmax_backward(grad_logits: Tensor, weights: Tensor, grad_weights: Tensor) -> None:
    """Add the gradient of a step's logits that comes from their softmax, which the next step gets."""
    product = weights * grad_weights
    grad_logits.add_(product).addcmul_(weights, product.sum(1, keepdim=True), value=-1)
