"""A receiver that reads a message twice, the second time with a summary of the whole message."""

from dataclasses import dataclass

import torch
from torch import nn

from ecsuite.agents import receivers
from ecsuite.agents.message import embed_symbols
from ecsuite.agents.options import AgentOptions
from ecsuite.parts.config import Count


class ReadsTwice(receivers.Receiver):
    """GRU whose initial state is the summary of a first reading."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of the receiver."""

        width: Count = 64
        """Width of the state."""

    def __init__(self, options, *, vocab_size, max_len):
        super().__init__(state_size=options.width)
        self.embed = nn.Embedding(vocab_size + 1, options.width)
        self.first, self.second = (nn.GRU(options.width, options.width) for _ in range(2))

    def forward(self, message):
        """Read the message, and read it again from the final state."""
        symbols = embed_symbols(self.embed, message.symbols)  # (num_steps, batch, width)
        states, weights = message.at_ends(
            self.first(symbols)[0]
        )  # (num_ends, batch, width), (num_ends, batch)
        summary = torch.einsum("esw,es->sw", states, weights.to(states.dtype))
        return message.at_ends(self.second(symbols, summary[None].contiguous())[0])
