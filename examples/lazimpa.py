"""LazImpa (Rita, Chaabouni & Dupoux 2020, arXiv 2010.01878): an impatient receiver and a lazy sender.

Impatient: the receiver answers after every symbol, and the training loss is the mean over these answers. Lazy: each
symbol has a cost that grows with the accuracy of the last answer. Both work with every channel of symbols.
"""

from dataclasses import dataclass

import torch
from torch import nn

from ecsuite.agents.message import embed_symbols
from ecsuite.agents.options import AgentOptions
from ecsuite.agents.receivers import Receiver
from ecsuite.games.tasks.losses import Loss
from ecsuite.parts.config import Count, Positive


class Impatient(Receiver):
    """GRU that answers after each symbol in training, and at the end of the message in evaluation."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of the receiver."""

        width: Count = 64
        """Width of the state."""

    def __init__(self, options, *, vocab_size, max_len):
        super().__init__(state_size=options.width)
        self.embed = nn.Embedding(vocab_size + 1, options.width)
        self.encode = nn.GRU(options.width, options.width)

    def forward(self, message):
        """Return the states after all symbols, and their weights in the mean over the symbols of the message."""
        states, _ = self.encode(embed_symbols(self.embed, message.symbols))  # (num_steps, batch, width)
        if not self.training:
            return message.at_ends(states)
        number = torch.arange(1, len(states) + 1, device=states.device)[:, None]
        if message.ends is None:
            return states, (number <= message.length) / message.length
        shares = message.ends / number  # an end after t symbols gives 1/t to each of these
        return states, shares.flip(0).cumsum(0).flip(0)


class Lazy(Loss):
    """The task's loss, and a cost of accuracy ** exponent / scale per symbol."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the loss; the defaults are the paper's."""

        exponent: Positive = 45.0
        """Exponent of the accuracy: the larger it is, the later the cost sets in."""
        scale: Positive = 10.0
        """The cost of a symbol is accuracy ** exponent / scale."""

    def forward(self, output, ends, message):
        """Return the loss and the cost of each message, (batch,) each."""
        accuracy = output.measures["accuracy"]  # (num_ends, batch)
        if message.ends is None:
            last = (message.length.long() - 1).clamp(max=len(accuracy) - 1)
            at_end = accuracy.gather(0, last[None])[0]
        else:
            at_end = (message.ends * accuracy).sum(0)
        cost = at_end.mean().detach() ** self.options.exponent / self.options.scale
        return (ends * output.loss).sum(0), cost * message.length
