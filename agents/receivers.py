"""Receivers: read a message, and hold what they understood for the game to judge."""

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import CELLS, State
from ecsuite.agents.linear import SymbolEmbedding
from ecsuite.agents.message import Message


class RecurrentReceiver(nn.Module):
    """A recurrent reader that begins with a state of zeros.

    Args:
        vocab_size: Content symbols of the channel; EOS is added here.
        hidden_size: Width of the state.
        embedding_size: Width of a symbol's embedding.
        cell: Name in `CELLS`.
    """

    def __init__(self, *, vocab_size: int, hidden_size: int, embedding_size: int, cell: str) -> None:
        super().__init__()
        self.embed = SymbolEmbedding(vocab_size + 1, embedding_size)
        self.cell = CELLS[cell](embedding_size, hidden_size)

    def forward(self, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Read a message up to each of its possible ends.

        Returns:
            States (num_ends, batch, hidden) and the probability of each end, (num_ends, batch).
        """
        step = self.cell.unroll(dtype)
        state: State | None = None
        states = []
        for inputs in self.embed(message.symbols).to(dtype).unbind(0):
            state = step(inputs, state)
            states.append(state[0])
        return message.at_ends(states)
