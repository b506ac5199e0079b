"""The message: the one type that passes between a sender, a channel and a receiver.

The rule for symbols, the same everywhere in ecsuite:

- `vocab_size` counts content symbols, with ids 1 to `vocab_size`. EOS has the id 0 and is not counted.
- `max_len` is the most content symbols in a message. EOS is not counted.
- A message of variable length ends with EOS: by the sender's choice, or after `max_len` symbols by force. It has
  at most `max_len + 1` symbols, EOS included.
- A message of fixed length has `max_len` symbols and no EOS.
- Nothing after the first EOS exists. Where a rectangular array needs filling, it holds `PAD`.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

EOS = 0
"""Id of the symbol that ends a message."""

PAD = -1
"""Fills rectangular arrays after a message's end; not a symbol."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """What a batch of senders said.

    A relaxed message (in training, over a channel with a gradient) holds weights over symbols, and where it
    ends is a probability. A discrete message holds ids.
    """

    symbols: Tensor
    """Relaxed: weights (num_steps, batch, vocab_size + 1). Discrete: ids (num_steps, batch), PAD after the end."""
    ends: Tensor | None
    """Relaxed, variable length: probability that the message ends with each step, (num_steps, batch), sums to 1."""
    length: Tensor
    """Symbols said, EOS included, (batch,); relaxed: the expectation."""
    log_probability: Tensor | None = None
    """Of the symbols that were drawn, (batch,); None where the channel has its own gradient."""
    entropy: Tensor | None = None
    """Mean entropy of the sender's choices in nats, (batch,); goes with log_probability."""

    def at_ends(self, states: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Pick the states in which a reader of the message may have to answer.

        Args:
            states: The reader's state after each step, num_steps of (batch, hidden).

        Returns:
            States (num_ends, batch, hidden) and the probability of each, (num_ends, batch). Only a relaxed message
            of variable length has more than one possible end.
        """
        if self.ends is not None:
            return torch.stack(states), self.ends
        certain = torch.ones_like(self.length)[None]
        if self.symbols.is_floating_point():
            return states[-1][None], certain
        last = (self.length.long() - 1)[None, :, None].expand(1, -1, states[0].shape[1])
        return torch.stack(states).gather(0, last), certain
