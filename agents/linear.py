"""The linear layer of all agents: computes in the precision of its input, and can be unrolled over time.

Autograd would accumulate the weight gradients of the steps in the precision of the activations. An unrolled layer
accumulates them in fp32, and casts its weights once for all steps.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

_Sums = list[Tensor | None]
"""Gradients of a weight and of its bias, accumulated over the steps."""


class Linear(nn.Linear):
    """`nn.Linear` whose parameters stay in fp32 while it computes in the precision of its input."""

    def forward(self, inputs: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        return nn.functional.linear(inputs, *self._cast(inputs.dtype))

    def _cast(self, dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
        return self.weight.to(dtype), None if self.bias is None else self.bias.to(dtype)

    def unroll(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """Start a loop over time steps.

        Args:
            dtype: Precision of the inputs and outputs.

        Returns:
            A function from (batch, in_features) to (batch, out_features), called once per step.
        """
        weight, bias = self._cast(dtype)
        if not torch.is_grad_enabled():
            return lambda inputs: nn.functional.linear(inputs, weight, bias)
        sums: _Sums = []
        grad_anchor = _collect_gradient(self.weight, self.bias, sums)
        weight, bias = weight.detach(), None if bias is None else bias.detach()
        return lambda inputs: _step(inputs, grad_anchor, weight, bias, sums)


class SymbolEmbedding(Linear):
    """Embeds symbols, given as weights over the vocabulary or as ids; an id and its one-hot weights are equivalent."""

    def forward(self, symbols: Tensor) -> Tensor:
        """(..., vocab_size + 1) weights, or (...) ids, to (..., embedding). Ids below 0 are padding, embedded as 0."""
        if symbols.is_floating_point():
            return super().forward(symbols)
        embedded = nn.functional.embedding(symbols.clamp(min=0), self.weight.t())
        return embedded if self.bias is None else embedded + self.bias

    def unroll(self, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """See the base class; the function accepts weights or ids, like `forward`."""
        from_weights = super().unroll(dtype)

        def embed(symbols: Tensor) -> Tensor:
            return from_weights(symbols) if symbols.is_floating_point() else self.forward(symbols).to(dtype)

        return embed


class _CollectGradient(torch.autograd.Function):
    """Forward: an empty tensor that links every step to the parameters. Backward: returns the accumulated gradients."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, sums: _Sums) -> Tensor:
        ctx.sums = sums
        return weight.new_empty(0)

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, Tensor | None, None]:
        grad_weight, grad_bias = ctx.sums
        ctx.sums.clear()  # a second backward pass accumulates anew
        return grad_weight, grad_bias, None


class _Step(torch.autograd.Function):
    """One step: a linear map whose backward adds its parameter gradients to the sums of the loop."""

    @staticmethod
    def forward(
        ctx: Any, inputs: Tensor, grad_anchor: Tensor, weight: Tensor, bias: Tensor | None, sums: _Sums
    ) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        ctx.sums, ctx.has_bias = sums, bias is not None
        return nn.functional.linear(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None, None, None]:
        inputs, weight = ctx.saved_tensors
        if not ctx.sums:
            grad_bias = gradient.new_zeros(len(weight), dtype=torch.float32) if ctx.has_bias else None
            ctx.sums[:] = [torch.zeros_like(weight, dtype=torch.float32), grad_bias]
        grad_weight, grad_bias = ctx.sums
        grad_weight += gradient.t() @ inputs
        if grad_bias is not None:
            grad_bias += gradient.sum(0)
        return gradient @ weight if ctx.needs_input_grad[0] else None, inputs.new_empty(0), None, None, None


_collect_gradient: Callable[..., Tensor] = _CollectGradient.apply
_step: Callable[..., Tensor] = _Step.apply
