"""Messages that checks give to agents, and what must hold of those that agents say."""

from dataclasses import replace

import torch

from ecsuite.agents.message import EOS, PAD, Message
from ecsuite.games.channels import Channel

TOLERANCE = 1e-4
"""Largest difference of two probabilities, or of a length from the one that the symbols have."""


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


def ill_formed(message: Message) -> str | None:
    """What breaks the rules of a message of ids; None if nothing does.

    After the first EOS there is only PAD, and the length counts the symbols with EOS.
    """
    ids = message.symbols.t()  # (batch, num_steps)
    ended = (ids == EOS).cumsum(1)
    after = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1) > 0
    if bool((ids[after] != PAD).any()):
        return "there are symbols after the first EOS"
    if bool((ids[~after] == PAD).any()):
        return "there is PAD before the message has ended"
    if not torch.equal((ids != PAD).sum(1), message.length.long()):
        return "the length is not the number of symbols with EOS"
    return None


def disagreement(message: Message, channel: Channel) -> str | None:
    """What two parts of messages of training say that do not agree; None if they agree.

    A relaxed message ends with a step with the weight of EOS there, if it has not ended before: symbols that are not
    there, such as those that a channel drops, have no weight and say nothing.
    """
    symbols, ends, length = message.symbols, message.ends, message.length
    if channel.num_levels is not None:
        is_whole = bool((length == len(symbols)).all())
        return None if is_whole else f"its length is not the number of its words, {len(symbols)}"
    if not symbols.is_floating_point():
        return ill_formed(replace(message, ends=None))
    if ends is None:
        if channel.has_eos:
            return "it may end at several steps, and has no probability of each"
        is_whole = bool((length == len(symbols)).all())
        return None if is_whole else f"its length is not the number of its symbols, {len(symbols)}"
    if not torch.allclose(ends.sum(0), torch.ones_like(length), atol=TOLERANCE):
        return "the probabilities of its ends do not add up to 1"
    steps = torch.arange(1, len(ends) + 1, device=ends.device, dtype=ends.dtype)
    if not torch.allclose(steps @ ends, length, atol=TOLERANCE):
        return "its length is not the mean of its ends"
    left = 1 - (ends.cumsum(0) - ends)  # the probability that it has not ended before, (num_steps, batch)
    is_there = symbols.sum(-1) > 0.5
    expected = left * symbols[..., EOS]
    if channel.has_eos and not torch.allclose(ends[is_there], expected[is_there], atol=TOLERANCE):
        return "its ends are not where its symbols have EOS"
    return None
