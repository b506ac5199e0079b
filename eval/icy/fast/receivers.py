"""Fused recurrent receivers with manually derived gradients, for many replicas at once.

The modules in `agents` define the computation. Symbols are ids, so no gradient flows into them.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.agents.hierarchical import HierarchicalReceiver
from ecsuite.agents.linear import first_derivative_only
from ecsuite.agents.receivers import RecurrentReceiver
from ecsuite.eval.icy.fast.cells import (
    FoldedInput,
    FusedAgent,
    Groups,
    HierarchicalLayers,
    Layers,
    Parameters,
    SequenceSizes,
    State,
    add_states,
    common_fused_cell,
    grouped,
    head_gradients,
    layer_below,
    lerp_backward,
    lerp_states,
    submodule_parameters,
)
from ecsuite.runtime.devices import default_products


def make_fused_receiver(receiver: nn.Module) -> "FusedReceiver | None":
    """The fused implementation of a receiver, or None if there is none."""
    # Exactly these classes: a subclass may compute something else.
    fused_class: type[FusedReceiver]
    if type(receiver) is RecurrentReceiver:
        fused_class, is_supported = _MultiLayerFusedReceiver, True
    elif type(receiver) is HierarchicalReceiver:
        fused_class = _HierarchicalFusedReceiver
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
        groups = self.groups(parameters)
        if not torch.is_grad_enabled():
            reading = self.forward(symbols, groups)
            state = reading.state.clone()
            self.release(reading.layers)
            return state
        sizes = [len(group) for group in groups]
        read: Tensor = _read(self, symbols, sizes, *(matrix for group in groups for matrix in group))
        return read

    @abstractmethod
    def groups(self, parameters: Parameters) -> Groups:
        """The matrices, grouped by submodule."""

    @abstractmethod
    def forward(self, symbols: Tensor, groups: Groups) -> "ReceiverOutput":
        """Read symbols (length, replicas, batch)."""

    @abstractmethod
    def backward(self, reading: "ReceiverOutput", groups: Groups, grad_state: Tensor) -> Groups:
        """The gradients of the matrices."""

    def feedback(self, parameters: Parameters) -> FoldedInput:
        """Input of the lowest layer: one-hot symbols."""
        weight = parameters["embed.weight"]
        return FoldedInput(embedding=weight, bias_coefficients=weight.new_ones(weight.shape[-1]))

    def begin(self, symbols: Tensor, groups: Groups) -> Layers:
        """Layers with the symbols as input of the lowest one."""
        length, replicas, batch = symbols.shape
        layers = self.borrow_layers(replicas, length, batch, groups)
        for rows, chosen in zip(layers.layers[0].cell.rows, symbols, strict=False):
            rows.zero_().scatter_(1, chosen.unsqueeze(1), 1.0)
        return layers


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceiverOutput:
    """Result of the forward pass of a receiver."""

    state: Tensor
    """The state after the last symbol, (replicas, hidden, batch); memory of the layers."""
    layers: Layers
    stopness: tuple[Tensor, ...] = ()
    """Stopness of a hierarchical receiver, by step."""


class _MultiLayerFusedReceiver(FusedReceiver):
    """Recurrent receivers of one or more layers."""

    def groups(self, parameters: Parameters) -> Groups:
        """One group per layer."""
        return self.layer_matrices(parameters, self.feedback(parameters))

    def forward(self, symbols: Tensor, groups: Groups) -> ReceiverOutput:
        layers = self.begin(symbols, groups)
        for step in range(len(symbols)):
            state = layers.forward(step)
        return ReceiverOutput(state=state, layers=layers)

    def backward(self, reading: ReceiverOutput, groups: Groups, grad_state: Tensor) -> Groups:
        layers = reading.layers
        layers.begin_backward()
        layers.gradients[-1][0].copy_(grad_state)
        for step in reversed(range(layers.sizes.length)):
            layers.backward(step)
        return [layer.gradients() for layer in layers.layers]


class _HierarchicalFusedReceiver(FusedReceiver):
    """HU-receiver as in `HierarchicalReceiver`, with stopness per example and without reset."""

    def groups(self, parameters: Parameters) -> Groups:
        """The stopness, the lower and the upper cell."""
        lower_layer = layer_below(parameters["lower.hidden_map.weight"], has_bias=self.has_bias)
        return [
            [parameters["stop.weight"], parameters["stop.bias"].unsqueeze(-1)],
            self.cell.matrices(submodule_parameters(parameters, "lower."), self.feedback(parameters)),
            self.cell.matrices(submodule_parameters(parameters, "upper."), lower_layer),
        ]

    def make_layers(self, sizes: SequenceSizes, groups: Groups) -> Layers:
        return self.with_biases(HierarchicalLayers(self.cell, sizes, groups))

    def forward(self, symbols: Tensor, groups: Groups) -> ReceiverOutput:
        (stop, bias), *matrices = groups
        layers = self.begin(symbols, matrices)
        assert isinstance(layers, HierarchicalLayers)
        lower, upper = layers.layers
        stopness = []
        for step in range(len(symbols)):
            lower.forward(step)
            output = lower.states[step + 1][0]
            with default_products(output.device):
                stopness.append(torch.baddbmm(bias, stop, output).sigmoid_())
            upper.cell.rows[step][:, : self.size].copy_(output)
            upper.forward(step, layers.stepped[step])
            lerp_states(upper.states[step], layers.stepped[step], stopness[-1], out=upper.states[step + 1])
        return ReceiverOutput(state=upper.states[len(symbols)][0], layers=layers, stopness=tuple(stopness))

    def backward(self, reading: ReceiverOutput, groups: Groups, grad_state: Tensor) -> Groups:
        layers, (stop, _) = reading.layers, groups[0]
        assert isinstance(layers, HierarchicalLayers)
        lower, upper = layers.layers
        grad_logits = torch.zeros_like(torch.stack(reading.stopness))  # (length, replicas, 1, batch)
        grad_lower = lower.begin_backward()
        grad_upper: State = (grad_state, *upper.begin_backward()[1:])
        for step in reversed(range(layers.sizes.length)):
            stopness = reading.stopness[step]
            grad_old, grad_stepped, grad_stopness = lerp_backward(
                grad_upper, upper.states[step], layers.stepped[step], stopness
            )
            grad_upper = add_states(grad_old, upper.backward(step, grad_stepped))
            grad_logits[step] = torch.ops.aten.sigmoid_backward(grad_stopness, stopness)
            grad_lower[0].add_(upper.cell.grad_rows[:, : self.size])
            with default_products(stopness.device):
                grad_lower[0].baddbmm_(stop.mT, grad_logits[step])
            grad_lower = lower.backward(step, grad_lower)
        grad_stop = head_gradients(grad_logits, lower.cell.hidden[1:])
        return [grad_stop, lower.gradients(), upper.gradients()]


class _Read(torch.autograd.Function):
    """Autograd function that runs a `FusedReceiver`."""

    @staticmethod
    def forward(
        ctx: Any, fused_receiver: FusedReceiver, symbols: Tensor, sizes: list[int], *matrices: Tensor
    ) -> Tensor:
        ctx.reading = fused_receiver.forward(symbols, grouped(matrices, sizes))
        ctx.fused_receiver, ctx.sizes = fused_receiver, sizes
        ctx.save_for_backward(*matrices)
        state: Tensor = ctx.reading.state.clone()
        return state

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, grad_state: Tensor) -> tuple[Tensor | None, ...]:
        # The backward pass overwrites the activations.
        reading, ctx.reading = ctx.reading, None
        if reading is None:
            raise RuntimeError("the backward pass of a fused receiver can run only once")
        gradients = ctx.fused_receiver.backward(reading, grouped(ctx.saved_tensors, ctx.sizes), grad_state)
        ctx.fused_receiver.release(reading.layers)
        return None, None, None, *(gradient for group in gradients for gradient in group)


_read: Any = _Read.apply
