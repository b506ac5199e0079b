"""Senders: see a meaning, say a message over a channel they know nothing about."""

from typing import Protocol

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import CELLS
from ecsuite.agents.linear import Linear, SymbolEmbedding
from ecsuite.agents.message import Message


class Line(Protocol):
    """An open channel: takes a sender's scores step by step, gives back the symbol that was said."""

    @property
    def is_open(self) -> bool:
        """Whether another symbol may be said."""

    def say(self, scores: Tensor) -> Tensor:
        """Scores (batch, vocab_size + 1) to the symbol said: weights of the same shape, or ids (batch,)."""

    def message(self) -> Message:
        """Everything that was said."""


class RecurrentSender(nn.Module):
    """A recurrent decoder: the meaning is its first state, each symbol said is its next input.

    Args:
        num_features: Width of a meaning.
        vocab_size: Content symbols of the channel; EOS is added here.
        hidden_size: Width of the state.
        embedding_size: Width of a symbol's embedding.
        cell: Name in `CELLS`.
    """

    def __init__(
        self, *, num_features: int, vocab_size: int, hidden_size: int, embedding_size: int, cell: str
    ) -> None:
        super().__init__()
        self.perceive = Linear(num_features, hidden_size)
        self.cell = CELLS[cell](embedding_size, hidden_size)
        self.scores = Linear(hidden_size, vocab_size + 1)
        self.embed = SymbolEmbedding(vocab_size + 1, embedding_size)
        self.start = nn.Parameter(torch.randn(embedding_size) * 0.01)

    def forward(self, meanings: Tensor, line: Line) -> Message:
        """Say a message for each meaning.

        Args:
            meanings: (batch, num_features), in the precision in which to compute.
            line: The open channel.
        """
        dtype = meanings.dtype
        step, scores, embed = self.cell.unroll(dtype), self.scores.unroll(dtype), self.embed.unroll(dtype)
        state = self.cell.start(self.perceive(meanings))
        inputs = self.start.to(dtype).expand(len(meanings), -1)
        while line.is_open:
            state = step(inputs, state)
            inputs = embed(line.say(scores(state[0])))
        return line.message()
