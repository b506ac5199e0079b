"""GPT-2, small and plain, written for speed on CPU cores.

The architecture is that of Radford et al. (2019) as Hugging Face's `GPT2LMHeadModel` has it (a test
compares the logits): pre-layer-norm, tanh-approximated GELU, learned positions, tied input and output
embeddings. There is no dropout. Two things are done by hand because they take most of the time at this
size: attention over a short context is two batched products and a softmax, and the loss over the vocabulary
makes its gradient while it is at it.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ecsuite.eval.xferbench.presets import Preset

INIT_STD = 0.02
LOSS_CHUNK = 256
"""Positions whose scores over the vocabulary are held at a time: small enough to stay in the cache."""


class Block(nn.Module):
    """One transformer layer: causal self-attention, then a feed-forward network of four times the width."""

    def __init__(self, width: int, num_heads: int) -> None:
        """Make a layer; `width` must be a multiple of `num_heads`."""
        super().__init__()
        self.num_heads = num_heads
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward_in = nn.Linear(width, 4 * width)
        self.feed_forward_out = nn.Linear(4 * width, width)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Transform `states` (batch, length, width); `mask` (length, length) is -inf for what is unseen."""
        batch, length, width = states.shape
        head_width = width // self.num_heads
        mixed = self.query_key_value(self.attention_norm(states))
        heads = mixed.view(batch, length, 3, self.num_heads, head_width).permute(2, 0, 3, 1, 4)
        query, key, value = heads.reshape(3, batch * self.num_heads, length, head_width).unbind(0)
        scores = torch.baddbmm(mask, query, key.transpose(1, 2), alpha=1 / math.sqrt(head_width))
        attended = torch.bmm(scores.softmax(-1), value)  # (batch * heads, length, head_width)
        attended = attended.view(batch, self.num_heads, length, head_width).transpose(1, 2)
        states = states + self.attention_out(attended.reshape(batch, length, width))
        hidden = functional.gelu(self.feed_forward_in(self.feed_forward_norm(states)), approximate="tanh")
        added: Tensor = self.feed_forward_out(hidden)
        return states + added


class LanguageModel(nn.Module):
    """A causal language model over `vocab_size` symbols."""

    mask: Tensor

    def __init__(self, vocab_size: int, preset: Preset, generator: torch.Generator) -> None:
        """Make a model with GPT-2's initial weights drawn from `generator`."""
        super().__init__()
        self.positions = nn.Embedding(preset.context, preset.width)
        self.blocks = nn.ModuleList(Block(preset.width, preset.num_heads) for _ in range(preset.num_layers))
        self.norm = nn.LayerNorm(preset.width)
        hidden = torch.full((preset.context, preset.context), -math.inf).triu(1)
        self.register_buffer("mask", hidden, persistent=False)
        self.reset(generator)
        self.reset_embedding(vocab_size, generator)  # last, so that the rest is the same for any vocabulary

    @torch.no_grad()
    def reset(self, generator: torch.Generator) -> None:
        """Draw all but the embeddings anew: N(0, 0.02), less into the residual stream, and no biases."""
        residual_std = INIT_STD / math.sqrt(2 * len(self.blocks))
        self.positions.weight.normal_(0, INIT_STD, generator=generator)
        for name, module in self.blocks.named_modules():
            if isinstance(module, nn.Linear):
                std = residual_std if name.endswith("_out") else INIT_STD
                module.weight.normal_(0, std, generator=generator)
                module.bias.zero_()

    @torch.no_grad()
    def reset_embedding(self, vocab_size: int, generator: torch.Generator) -> None:
        """Give the model a new vocabulary: tied embeddings from GPT-2's N(0, 0.02), all else as it was."""
        width = self.positions.embedding_dim
        weight = torch.empty(vocab_size, width).normal_(0, INIT_STD, generator=generator)
        self.embedding = nn.Embedding(vocab_size, width, _weight=weight.to(self.mask.device))

    def forward(self, symbols: Tensor) -> Tensor:
        """Last hidden states (batch, length, width) of `symbols` (batch, length)."""
        length = symbols.shape[1]
        states: Tensor = self.embedding(symbols) + self.positions.weight[:length]
        mask = self.mask[:length, :length]
        for block in self.blocks:
            states = block(states, mask)
        normed: Tensor = self.norm(states)
        return normed

    def logits(self, symbols: Tensor) -> Tensor:
        """Scores of every next symbol, (batch, length, vocab_size)."""
        return functional.linear(self(symbols), self.embedding.weight)

    def loss(self, symbols: Tensor, targets: Tensor) -> Tensor:
        """Mean cross-entropy in nats of `targets` (batch, length) after `symbols` (batch, length)."""
        states = self(symbols).flatten(0, 1)
        loss: Tensor = _TiedLoss.apply(states, self.embedding.weight, targets.flatten())  # type: ignore[no-untyped-call]
        return loss


class _TiedLoss(torch.autograd.Function):
    """Mean cross-entropy of `states @ embedding.T`, with gradients made by chunks in the forward pass."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, embedding: Tensor, targets: Tensor) -> Tensor:
        total = states.new_zeros(())
        states_gradient, embedding_gradient = torch.empty_like(states), torch.zeros_like(embedding)
        for start in range(0, len(states), LOSS_CHUNK):
            chunk = slice(start, start + LOSS_CHUNK)
            scores = (states[chunk] @ embedding.T).log_softmax(-1)  # (chunk, vocab_size)
            index = targets[chunk, None]
            total -= scores.gather(1, index).sum()
            error = scores.exp_().scatter_add_(1, index, scores.new_full(index.shape, -1.0))
            torch.mm(error, embedding, out=states_gradient[chunk])
            embedding_gradient.addmm_(error.T, states[chunk])
        ctx.save_for_backward(states_gradient.div_(len(states)), embedding_gradient.div_(len(states)))
        return total / len(states)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        states_gradient, embedding_gradient = ctx.saved_tensors
        return states_gradient * gradients[0], embedding_gradient * gradients[0], None
