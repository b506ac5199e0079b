"""A loss after LazImpa (Rita, Chaabouni & Dupoux 2020, arXiv 2010.01878): a lazy speaker and an impatient listener.

Impatient: the listener is asked after every symbol, and its losses are averaged. Lazy: each symbol has a cost that
grows with the listener's accuracy. Needs a channel with relaxed messages of variable length, such as gumbel, where the
loss of every possible end is known.
"""

from dataclasses import dataclass

import torch

from ecsuite.config import Positive


class LazImpa:
    """The task's loss after each symbol, and an adaptive cost of symbols."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the loss."""

        exponent: Positive = 45.0
        """How late the cost sets in as the accuracy grows."""
        scale: Positive = 10.0
        """The cost of a symbol is accuracy ** exponent / scale."""

    def __init__(self, options):
        self.options = options

    def __call__(self, output, ends, message):
        """Loss and cost of each message, (batch,) each."""
        num_ends = len(output.loss)
        asked = torch.arange(1, num_ends + 1, device=output.loss.device)[:, None]
        after_each = output.loss.cumsum(0) / asked  # (num_ends, batch): the mean over the symbols so far
        accuracy = (ends * output.measures["accuracy"]).sum(0).mean().detach()
        cost = accuracy**self.options.exponent / self.options.scale
        return (ends * after_each).sum(0), cost * message.length
