"""Channels and messages of given logits, for tests."""

import torch

from ecsuite.games.channels.channels import SymbolChannel
from ecsuite.games.config.registry import CHANNELS
from ecsuite.games.tasks.losses import TaskLoss
from ecsuite.games.tasks.tasks import TaskOutput

OF_SYMBOLS = [kind for kind in CHANNELS.parts if issubclass(CHANNELS.load(kind), SymbolChannel)]


def make(kind, **options):
    """A channel of messages of 3 symbols, and a vocabulary of 2 where it has one, unless the options say otherwise."""
    channel = CHANNELS.load(kind)
    vocabulary = {"vocab_size": 2} if kind in OF_SYMBOLS else {}
    return channel(channel.Options(**{"max_len": 3, **vocabulary, **options}))


def objective(channel, losses, message, length_cost=0.0):
    """The objective of losses at each end of the message, (num_ends, batch), or at the only one, (batch,)."""
    ends = torch.ones_like(message.length)[None] if message.ends is None else message.ends
    output = TaskOutput(loss=losses.expand(len(ends), -1), measures={})
    loss, cost = TaskLoss(TaskLoss.Options(length_cost=length_cost))(output, ends, message)
    return channel.objective(loss, cost, message)


def build_message(builder, logits):
    """Give a builder the logits of each step, (num_steps, batch, vocab_size + 1)."""
    for step in logits:
        if not builder.done:
            builder.step(step)
    return builder.message()
