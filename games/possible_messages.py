"""The messages that a channel of symbols can have."""

import numpy as np
import torch
from torch import Tensor

from ecsuite.agents.message import EOS, PAD
from ecsuite.games.channels import Channel

MOST_MESSAGES = 1024
"""Of a channel with so many different messages or fewer, all are looked at; of others, some."""


def num_messages(channel: Channel) -> int:
    """How many different messages there are."""
    lengths = range(channel.max_len + 1) if channel.has_eos else (channel.max_len,)
    return sum(channel.vocab_size**length for length in lengths)


def all_messages(channel: Channel) -> Tensor:
    """Each message once, (num_messages, max_len), with EOS after those that end early, and then PAD."""
    max_len, rows = channel.max_len, []
    for length in range(max_len + 1) if channel.has_eos else (max_len,):
        codes = np.indices((channel.vocab_size,) * length).reshape(length, channel.vocab_size**length).T
        row = np.full((len(codes), max_len), PAD)
        row[:, :length] = codes + 1
        row[:, length : length + 1] = EOS
        rows.append(row)
    return torch.from_numpy(np.concatenate(rows))
