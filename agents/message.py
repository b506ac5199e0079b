"""The message type that senders, channels and receivers share.

Conventions for symbols everywhere in ecsuite:

- `vocab_size` counts content symbols, with ids 1 to `vocab_size`. EOS has the id 0 and is not counted.
- `max_len` is the maximum number of content symbols in a message. EOS is not counted.
- A message of variable length ends with EOS. The sender chooses it, or it is appended after `max_len` symbols. The
  message has at most `max_len + 1` symbols including EOS.
- A message of fixed length has `max_len` symbols and no EOS.
- Symbols after the first EOS do not exist. Rectangular arrays are filled with `PAD`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

EOS = 0
"""Id of the symbol that ends a message."""

PAD = -1
"""Fills rectangular arrays after the end of a message; not a symbol."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A batch of messages.

    A relaxed message (training over a differentiable channel) holds weights over symbols and a probability for each
    step at which it may end. A discrete message holds ids.
    """

    symbols: Tensor
    """Relaxed: weights (num_steps, batch, vocab_size + 1). Discrete: ids (num_steps, batch), PAD after the end."""
    ends: Tensor | None
    """Relaxed, variable length: probability that the message ends with each step, (num_steps, batch), sums to 1."""
    length: Tensor
    """Message length including EOS, (batch,); relaxed: the expected length."""
    log_probability: Tensor | None = None
    """Log-probability of the sampled symbols, (batch,); None if the channel is differentiable."""
    entropy: Tensor | None = None
    """Mean entropy of the sender's distributions in nats, (batch,); set together with `log_probability`."""
    logits: tuple[Tensor, ...] | None = None
    """The sender's logits at each training step, (batch, vocab_size + 1) each, except for an appended EOS."""
    divergence: Tensor | None = None
    """KL divergence of the word distribution from a normal distribution, summed over the message, in nats, (batch,);
    None if undefined."""
    distortion: Tensor | None = None
    """Distance of sampled vectors from their quantised words, with the weights of the channel, (batch,); None
    without quantisation."""

    def at_ends(self, states: Sequence[Tensor] | Tensor) -> tuple[Tensor, Tensor]:
        """Select the states at the possible ends of the message.

        Args:
            states: The receiver's state after each step: num_steps tensors of (batch, hidden), or one tensor
                (num_steps, batch, hidden), such as the outputs of `nn.GRU`.

        Returns:
            States (num_ends, batch, hidden) and the probability of each end, (num_ends, batch). Only a relaxed message
            of variable length has more than one possible end.
        """
        if self.ends is not None:
            return _stacked(states), self.ends
        certain = torch.ones_like(self.length)[None]
        if self.symbols.is_floating_point():
            return states[-1][None], certain
        last = (self.length.long() - 1)[None, :, None].expand(1, -1, states[0].shape[1])
        return _stacked(states).gather(0, last), certain

    def log_probabilities(self) -> Tensor:
        """Log-probabilities of the symbols at each step, (num_logits, batch, vocab_size + 1), in fp32.

        In training with channel reinforce, gumbel or soft; messages of fixed length have no EOS.
        """
        assert self.logits is not None, "only messages of training have logits"
        logits = torch.stack(self.logits).float()
        if len(self.symbols) == len(logits):  # no EOS was appended
            logits = torch.cat([torch.full_like(logits[..., :1], -torch.inf), logits[..., 1:]], -1)
        return logits.log_softmax(-1)

    def with_all_ends(self) -> "Message":
        """Copy of the message with a probability of each end, even if the end is certain."""
        if self.ends is not None:
            return self
        step = torch.arange(1, len(self.symbols) + 1, device=self.length.device)[:, None]
        return replace(self, ends=(step == self.length).to(self.length.dtype))


def _stacked(states: Sequence[Tensor] | Tensor) -> Tensor:
    return states if isinstance(states, Tensor) else torch.stack(list(states))


def at_certain_end(answers: Tensor, ends: Tensor) -> Tensor:
    """Select the answer at the certain end of each message; all other ends have probability 0.

    Args:
        answers: Answers at each end, (num_ends, batch, ...).
        ends: Probability of each end, (num_ends, batch).

    Returns:
        Answers, (1, batch, ...).
    """
    if len(ends) == 1:
        return answers
    last = ends.argmax(0).view(1, -1, *[1] * (answers.dim() - 2))
    return answers.gather(0, last.expand(1, *answers.shape[1:]))


def embed_symbols(embedding: nn.Embedding, symbols: Tensor) -> Tensor:
    """Embed the symbols of any channel, in training and in evaluation.

    Args:
        embedding: One vector for EOS and each content symbol, (vocab_size + 1, size); for real-valued words, one for
            each value, (word_size, size).
        symbols: Weights (..., vocab_size + 1), values (..., word_size), or ids (...). PAD is embedded as EOS: a
            receiver that looks beyond the end of a message has to mask it.

    Returns:
        Vectors (..., size); for weights or values, the weighted sum.
    """
    if symbols.is_floating_point():
        return symbols.to(embedding.weight.dtype) @ embedding.weight
    embedded: Tensor = embedding(symbols.clamp(min=EOS))
    return embedded
