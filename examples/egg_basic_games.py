"""Agents as in EGG's `egg.zoo.basic_games`: a linear layer around a recurrent network, for both of its games.

In EGG the user writes the two linear layers, and wraps them in `RnnSenderGS`, `RnnReceiverGS` and `SenderReceiverRnnGS`
with a loss. Here the module holds the recurrent network itself, and channel, task and world are named in the config:

    EGG:      python -m egg.zoo.basic_games.play --mode=gs --vocab_size=6 --max_len=4 --sender_hidden=20
    ecsuite:  ecsuite train-game disc_small --sender ./egg_basic_games.py:Sender,hidden=20
                  --set channel=gumbel,vocab_size=5,max_len=4      # EGG counts EOS as a symbol
"""

from dataclasses import dataclass

import torch
from torch import nn

from ecsuite.agents import receivers, senders
from ecsuite.agents.message import embed_symbols
from ecsuite.agents.options import AgentOptions
from ecsuite.parts.config import Count


@dataclass(frozen=True, kw_only=True, slots=True)
class SizeOptions(AgentOptions):
    """Options of both agents."""

    hidden: Count = 64
    """EGG's --sender_hidden and --receiver_hidden."""
    embedding: Count = 32
    """EGG's --sender_embedding and --receiver_embedding."""


class Sender(senders.Sender):
    """EGG's `Sender` (one linear layer) inside `RnnSenderGS`."""

    Options = SizeOptions

    def __init__(self, options, *, num_features, vocab_size, max_len):
        super().__init__()
        self.fc1 = nn.Linear(num_features, options.hidden)
        self.start = nn.Parameter(0.01 * torch.randn(options.embedding))
        self.embed = nn.Embedding(vocab_size + 1, options.embedding)
        self.cell = nn.GRUCell(options.embedding, options.hidden)
        self.hidden_to_output = nn.Linear(options.hidden, vocab_size + 1)

    def forward(self, meanings, builder):
        """Convert meanings, (batch, num_features), to a message."""
        state, symbol = self.fc1(meanings), self.start.expand(len(meanings), -1)
        while not builder.done:
            state = self.cell(symbol, state)
            symbol = embed_symbols(self.embed, builder.step(self.hidden_to_output(state)))
        return builder.message()


class Receiver(receivers.Receiver):
    """`RnnReceiverGS`; the linear layer of EGG's `DiscriReceiver` is the game's perception of candidates."""

    Options = SizeOptions

    def __init__(self, options, *, vocab_size, max_len):
        super().__init__(state_size=options.hidden)
        self.embed = nn.Embedding(vocab_size + 1, options.embedding)
        self.encode = nn.GRU(options.embedding, options.hidden)

    def forward(self, message):
        """Return the states at the ends of a message."""
        states, _ = self.encode(embed_symbols(self.embed, message.symbols))
        return message.at_ends(states)
