"""The linear layer of all agents: computes in the precision of its input, and can be unrolled over time.

Autograd would sum the weight gradients of the steps in the precision of the activations. Those of an unrolled layer are
summed in fp32, and its weights are cast once for all steps.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ecsuite.agents.replicas import with_replicas


def first_derivative_only(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward function whose own operations must not be differentiated.

    With `create_graph=True` it raises an error; torch's `once_differentiable` would leave out parts of the second
    derivative without a word.
    """

    @functools.wraps(backward)
    def checked(ctx: Any, *gradients: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "agents have no second derivatives: expected a backward pass without create_graph"
            )
        return backward(ctx, *gradients)

    return checked


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
        parameters = self.weight, self.bias
        weight, bias = weight.detach(), None if bias is None else bias.detach()
        return lambda inputs: _step(inputs, *parameters, weight, bias)


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


class _Step(torch.autograd.Function):
    """One step: a product in the precision of its input, whose parameter gradients are in that of the parameters."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        cast_weight: Tensor,
        cast_bias: Tensor | None,
    ) -> Tensor:
        ctx.save_for_backward(inputs, cast_weight)
        ctx.dtype = weight.dtype
        return nn.functional.linear(inputs, cast_weight, cast_bias)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        needs_inputs, needs_weight, needs_bias, *_ = ctx.needs_input_grad
        return (
            gradient @ weight if needs_inputs else None,
            (gradient.t() @ inputs).to(ctx.dtype) if needs_weight else None,
            gradient.sum(0).to(ctx.dtype) if needs_bias else None,
            None,
            None,
        )


class _ReplicasStep(torch.autograd.Function):
    """`_Step` of all replicas at once: inputs (replicas, batch, in), weights (replicas, out, in)."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        cast_weight: Tensor,
        cast_bias: Tensor | None,
    ) -> Tensor:
        ctx.save_for_backward(inputs, cast_weight)
        ctx.dtype = weight.dtype
        products = cast_weight.transpose(1, 2)
        if cast_bias is None:
            return torch.bmm(inputs, products)
        return torch.baddbmm(cast_bias.unsqueeze(1), inputs, products)

    @staticmethod
    @first_derivative_only
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs, weight = ctx.saved_tensors
        needs_inputs, needs_weight, needs_bias, *_ = ctx.needs_input_grad
        return (
            torch.bmm(gradient, weight) if needs_inputs else None,
            torch.bmm(gradient.transpose(1, 2), inputs).to(ctx.dtype) if needs_weight else None,
            gradient.sum(1).to(ctx.dtype) if needs_bias else None,
            None,
            None,
        )


_step: Callable[..., Tensor] = with_replicas(_Step, _ReplicasStep.apply)
