"""The linear layer of all agents: follows the precision of its input, and can be unrolled over time.

Autograd adds up one weight gradient a step: for T steps that is T passes over the whole weight matrix, rounded
to the precision of the activations each time. An unrolled layer only keeps each step's input and output
gradient; when all steps are done, one product of height T x batch gives the gradient.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class Linear(nn.Linear):
    """`nn.Linear` whose parameters stay in fp32 while it computes in the precision of its input."""

    def forward(self, inputs: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        return nn.functional.linear(inputs, self.weight.to(inputs.dtype), self.bias.to(inputs.dtype))

    def unroll(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """Start a loop over time steps.

        Args:
            dtype: Precision of the inputs and outputs.

        Returns:
            A function from (batch, in_features) to (batch, out_features), to be called once a step.
        """
        weight, bias = self.weight.to(dtype), self.bias.to(dtype)
        if not torch.is_grad_enabled():
            return lambda inputs: nn.functional.linear(inputs, weight, bias)
        steps: list[tuple[Tensor, Tensor]] = []
        tap = _CollectGradient.apply(weight, bias, steps)
        weight, bias = weight.detach(), bias.detach()
        return lambda inputs: _Step.apply(inputs, tap, weight, bias, steps)


class SymbolEmbedding(Linear):
    """Embeds symbols, given as weights over the vocabulary or as ids: a one-hot row and its id give the same."""

    def forward(self, symbols: Tensor) -> Tensor:
        """(..., vocab_size + 1) weights, or (...) ids, to (..., embedding). Ids below zero are padding, read as 0."""
        if symbols.is_floating_point():
            return super().forward(symbols)
        return nn.functional.embedding(symbols.clamp(min=0), self.weight.t()) + self.bias

    def unroll(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """See the base class; takes what `forward` takes."""
        from_weights = super().unroll(dtype)

        def embed(symbols: Tensor) -> Tensor:
            return from_weights(symbols) if symbols.is_floating_point() else self.forward(symbols).to(dtype)

        return embed


class _CollectGradient(torch.autograd.Function):
    """Forward: an empty tensor that ties every step to the weight. Backward: the one large product."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, steps: list[tuple[Tensor, Tensor]]) -> Tensor:
        ctx.steps = steps
        return weight.new_empty(0)

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, Tensor, None]:
        inputs = torch.cat([step_inputs for step_inputs, _ in ctx.steps])  # (num_steps * batch, in_features)
        gradients = torch.cat([gradient for _, gradient in ctx.steps])  # (num_steps * batch, out_features)
        ctx.steps.clear()
        return gradients.t() @ inputs, gradients.sum(0), None


class _Step(torch.autograd.Function):
    """One step: an ordinary linear map whose backward leaves the weight gradient to `_CollectGradient`."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, tap: Tensor, weight: Tensor, bias: Tensor, steps: list[tuple[Tensor, Tensor]]
    ) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.steps = steps
        return nn.functional.linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None, None, None]:
        inputs, weight = ctx.saved_tensors
        ctx.steps.append((inputs, gradient))
        return gradient @ weight if ctx.needs_input_grad[0] else None, inputs.new_empty(0), None, None, None
