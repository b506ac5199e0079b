"""A small and fast implementation of GPT-2.

The architecture is that of Radford et al. (2019) as in Hugging Face's `GPT2LMHeadModel` (a test compares the logits):
pre-layer-norm, tanh-approximated GELU, learned positions, tied input and output embeddings, dropout of the embeddings,
of attention and of the residual updates. The loss computes its gradient in the forward pass, for chunks of positions,
so that the logits of all positions are never in memory at once. Compilers perform better with all positions at once.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ecsuite.eval.models import TransformerSizes
from ecsuite.eval.models.data import IGNORED

INIT_STD = 0.02
"""Standard deviation of GPT-2's initial weights."""
RESET_BOUND = 1 / math.sqrt(768)
"""Bound of the uniform distribution of new embeddings: the default of `nn.Linear` at the published model's width."""
SMALL_VOCABULARY = 4096
"""Up to this size the logits of 256 positions fit in the CPU cache; above it, larger chunks are faster."""
COMPILED_WIDTH = 512
"""Minimum width of models that are compiled on a GPU."""


class Block(nn.Module):
    """One transformer layer: causal self-attention, then a feed-forward network of four times the width.

    Args:
        width: Width of the hidden states; a multiple of `num_heads`.
        num_heads: Attention heads.
        dropout: Dropout rate of attention and of the residual updates.
    """

    def __init__(self, width: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.num_heads, self.dropout = num_heads, dropout
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward_in = nn.Linear(width, 4 * width)
        self.feed_forward_out = nn.Linear(4 * width, width)

    def forward(self, states: Tensor) -> Tensor:
        """Transform `states` (batch, length, width)."""
        batch, length, width = states.shape
        dropout = self.dropout if self.training else 0.0
        mixed = self.query_key_value(self.attention_norm(states))
        heads = mixed.view(batch, length, 3, self.num_heads, width // self.num_heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4).unbind(0)  # each (batch, heads, length, head_width)
        attended = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, dropout_p=dropout
        )
        added = self.attention_out(attended.transpose(1, 2).reshape(batch, length, width))
        states = states + functional.dropout(added, dropout, training=dropout > 0)
        hidden = functional.gelu(self.feed_forward_in(self.feed_forward_norm(states)), approximate="tanh")
        added = self.feed_forward_out(hidden)
        return states + functional.dropout(added, dropout, training=dropout > 0)


class LanguageModel(nn.Module):
    """A causal language model, with GPT-2's initialisation.

    Args:
        vocab_size: Number of symbols.
        sizes: Sizes of the model.
        generator: Draws the initial weights.
    """

    def __init__(self, vocab_size: int, sizes: TransformerSizes, generator: torch.Generator) -> None:
        super().__init__()
        self.dropout = sizes.dropout
        self.products = torch.float32
        """Data type of the factors of matrix products; weights and sums are fp32."""
        self.compiled_loss: Callable[[Tensor, Tensor], Tensor] | None = None
        """Compiled `whole_loss` for training; None: not compiled."""
        self.positions = nn.Embedding(sizes.context, sizes.width)
        self.blocks = nn.ModuleList(
            Block(sizes.width, sizes.num_heads, sizes.dropout) for _ in range(sizes.num_layers)
        )
        self.norm = nn.LayerNorm(sizes.width)
        self._reset(generator)
        # Last, so that the other weights do not depend on the vocabulary size.
        self._embed(torch.empty(vocab_size, sizes.width).normal_(0, INIT_STD, generator=generator))

    @torch.no_grad()
    def _reset(self, generator: torch.Generator) -> None:
        """Initialise all but the symbol embedding: N(0, 0.02), less for residual projections; biases 0."""
        residual_std = INIT_STD / math.sqrt(2 * len(self.blocks))
        self.positions.weight.normal_(0, INIT_STD, generator=generator)
        for name, module in self.blocks.named_modules():
            if isinstance(module, nn.Linear):
                std = residual_std if name.endswith("_out") else INIT_STD
                module.weight.normal_(0, std, generator=generator)
                module.bias.zero_()

    def _embed(self, weight: Tensor) -> None:
        self.embedding = nn.Embedding(
            len(weight), weight.shape[1], _weight=weight.to(self.positions.weight.device)
        )

    def get_input_embeddings(self) -> nn.Embedding:
        """The embedding; the method has the name that it has in the package transformers."""
        return self.embedding

    def set_input_embeddings(self, embedding: nn.Embedding) -> None:
        """Replace the embedding."""
        self.embedding = embedding

    @torch.no_grad()
    def reset_embedding(self, vocab_size: int, generator: torch.Generator) -> None:
        """Replace the tied embedding by a new one, uniform within ±`RESET_BOUND`; other weights do not change."""
        weight = torch.empty(vocab_size, self.positions.embedding_dim)
        self._embed(weight.uniform_(-RESET_BOUND, RESET_BOUND, generator=generator))

    def forward(self, symbols: Tensor) -> Tensor:
        """Last hidden states (batch, length, width) of `symbols` (batch, length)."""
        states: Tensor = self.embedding(symbols) + self.positions.weight[: symbols.shape[1]]
        states = functional.dropout(states, self.dropout, training=self.training and self.dropout > 0)
        for block in self.blocks:
            states = block(states)
        normed: Tensor = self.norm(states)
        return normed

    def loss(self, symbols: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy in nats of `targets` given `symbols`, both (batch, length), without `IGNORED` targets."""
        if self.training and self.compiled_loss is not None:
            return self.compiled_loss(symbols, targets)
        with torch.autocast(symbols.device.type, torch.bfloat16, enabled=self.products == torch.bfloat16):
            states = self(symbols)
        return tied_loss(states, self.embedding.weight, targets, self.products)

    def whole_loss(self, symbols: Tensor, targets: Tensor) -> Tensor:
        """`loss` from the logits of all positions at once, for a compiler, which chooses its own chunks."""
        with torch.autocast(symbols.device.type, torch.bfloat16, enabled=self.products == torch.bfloat16):
            logits = functional.linear(self(symbols), self.embedding.weight).flatten(0, 1)
        labels = targets.flatten()
        total = functional.cross_entropy(logits.float(), labels, ignore_index=IGNORED, reduction="sum")
        return total / (labels != IGNORED).sum().clamp(min=1)


def compile_if_wide(
    model: LanguageModel, width: int, device: torch.device, losses: Sequence[Callable[[], Tensor]]
) -> str | None:
    """Compile the loss of a model in place on CUDA, if the model is wide enough to benefit and compilation succeeds.

    Args:
        model: The model, without gradients.
        width: Width of its hidden states.
        device: The device of the model.
        losses: Compute the loss of a batch of each size, to test the compilation; they leave no gradients.

    Returns:
        The reason for a failure; None if the loss was compiled, or the model is too narrow.
    """
    if device.type != "cuda" or width < COMPILED_WIDTH:
        return None
    model.compiled_loss = torch.compile(model.whole_loss, dynamic=False)
    try:
        with torch.random.fork_rng(devices=[device], device_type="cuda"):
            for loss in losses:
                loss().backward()
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # compilers raise errors of many classes
        model.compiled_loss = None
        return f"{type(error).__name__}: {' '.join(str(error).split()):.200}"
    finally:
        model.zero_grad(set_to_none=True)
    return None


def tied_loss(states: Tensor, embedding: Tensor, targets: Tensor, products: torch.dtype) -> Tensor:
    """Mean cross-entropy in nats of the `targets` (batch, length) that are not `IGNORED`.

    Args:
        states: Hidden states, (batch, length, width).
        embedding: Output embedding, (symbols, width).
        targets: Target symbols.
        products: Data type of the factors of matrix products.
    """
    states, labels = states.flatten(0, 1), targets.flatten()
    if torch.is_grad_enabled():
        loss: Tensor = _TiedLoss.apply(states, embedding, labels, products)  # type: ignore[no-untyped-call]
        return loss
    total = torch.zeros((), device=states.device)
    for _, scores, index, counts in _scored(states.to(products), embedding.to(products), labels):
        total -= (scores.gather(1, index) * counts).sum()
    return total / (labels != IGNORED).sum().clamp(min=1)


def _scored(
    states: Tensor, matrix: Tensor, targets: Tensor
) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
    """Chunks of positions: slice, log-probabilities (chunk, vocab_size), targets, and whether they are scored."""
    is_scored = targets != IGNORED
    size = 256 if len(matrix) <= SMALL_VOCABULARY else 2048
    for start in range(0, len(states), size):
        chunk = slice(start, start + size)
        scores = (states[chunk] @ matrix.T).float().log_softmax(-1)
        yield chunk, scores, targets[chunk, None].clamp(min=0), is_scored[chunk, None].float()


class _TiedLoss(torch.autograd.Function):
    """Mean cross-entropy of the logits `states @ embedding.T`; the forward pass computes the gradients by chunks."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, embedding: Tensor, targets: Tensor, products: torch.dtype
    ) -> Tensor:
        num_scored = (targets != IGNORED).sum().clamp(min=1)
        total = torch.zeros((), device=states.device)
        states, matrix = states.to(products), embedding.to(products)
        states_gradient = torch.empty(states.shape, device=states.device)
        embedding_gradient = torch.zeros_like(embedding)
        for chunk, scores, index, counts in _scored(states, matrix, targets):
            total -= (scores.gather(1, index) * counts).sum()
            error = scores.exp_().scatter_add_(1, index, scores.new_full(index.shape, -1.0))
            error = error.mul_(counts).to(products)
            states_gradient[chunk] = error @ matrix
            embedding_gradient += error.T @ states[chunk]
        ctx.save_for_backward(states_gradient.div_(num_scored), embedding_gradient.div_(num_scored))
        return total / num_scored

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        states_gradient, embedding_gradient = ctx.saved_tensors
        return states_gradient * gradients[0], embedding_gradient * gradients[0], None, None
