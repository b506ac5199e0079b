"""Messages that checks give to agents, and how those that agents say are compared."""

import torch

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels.channels import Channel
from ecsuite.games.training.checks import TOLERANCE


def of_all_lengths(channel: Channel, number: int) -> Message:
    """Messages of random symbols of a channel with a vocabulary, of all lengths that it may have."""
    generator = torch.Generator().manual_seed(0)
    num_steps = channel.max_len + channel.has_eos
    ids = torch.randint(1, 1 + channel.vocab_size, (num_steps, number), generator=generator)
    lengths = 1 + torch.arange(number) % num_steps if channel.has_eos else torch.full((number,), num_steps)
    if channel.has_eos:
        step = torch.arange(1, 1 + num_steps)[:, None]
        ids = ids.where(step < lengths, torch.where(step == lengths, EOS, PAD))
    return Message(symbols=ids, ends=None, length=lengths.float())


def row_of(message: Message, row: int) -> Message:
    """One message of a batch, without what fills it up to the longest."""
    symbols = message.symbols[:, row : row + 1]
    if not symbols.is_floating_point():
        symbols = symbols[: int(message.length[row])]
    return Message(symbols=symbols, ends=None, length=message.length[row : row + 1])


def same_symbols(first: Message, second: Message) -> bool:
    """Whether a message of ids or of values is another one, up to rounding of values."""
    if first.symbols.is_floating_point():
        return torch.allclose(first.symbols, second.symbols, atol=TOLERANCE)
    return torch.equal(first.symbols, row_of(second, 0).symbols)
