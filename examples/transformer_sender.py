"""A sender with a plain `nn.TransformerDecoder`, whose memory is the meaning and whose input is the message so far."""

from dataclasses import dataclass

import torch
from torch import nn

from ecsuite.agents.message import embed_symbols
from ecsuite.agents.options import AgentOptions
from ecsuite.agents.senders import Sender
from ecsuite.parts.config import Count


class TransformerSender(Sender):
    """Sender that attends to all previous symbols of its message."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of the sender."""

        width: Count = 64
        """Width of the vectors; a multiple of the number of heads."""
        num_heads: Count = 4
        """Number of attention heads."""
        num_layers: Count = 1
        """Layers."""

    def __init__(self, options, *, num_features, vocab_size, max_len):
        super().__init__()
        width = options.width
        self.perceive = nn.Linear(num_features, width)
        self.embed = nn.Embedding(vocab_size + 1, width)
        self.places = nn.Parameter(0.02 * torch.randn(max_len, 1, width))
        layer = nn.TransformerDecoderLayer(width, options.num_heads, 4 * width, dropout=0.0)
        self.decode = nn.TransformerDecoder(layer, options.num_layers)
        self.scores = nn.Linear(width, vocab_size + 1)

    def forward(self, meanings, builder):
        """Convert meanings, (batch, num_features), to a message."""
        memory = self.perceive(meanings)[None]  # (1, batch, width)
        inputs = [memory[0] + self.places[0]]
        while not builder.done:
            seen = torch.stack(inputs)  # (num_said + 1, batch, width)
            last = self.decode(seen, memory)[-1]
            said = embed_symbols(self.embed, builder.step(self.scores(last)))
            if len(inputs) < len(self.places):
                inputs.append(said + self.places[len(inputs)])
        return builder.message()
