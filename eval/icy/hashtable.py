"""A lookup table as a sender: it stores messages and does not generalise (ICY, appendix B.6)."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.agents.senders import MessageBuilder

CERTAIN_LOGIT = 50.0
"""Logit of the stored symbol, all others being 0: the probability of another symbol is about exp(-50)."""


class HashtableSender(nn.Module):
    """Sends the first message stored for a meaning, and only symbols 1 for an unknown meaning.

    It has no parameters and is not trained by gradients.
    """

    def __init__(self, *, vocab_size: int, max_len: int) -> None:
        super().__init__()
        self.vocab_size, self.max_len = vocab_size, max_len
        self.messages: dict[bytes, NDArray[np.int64]] = {}

    def predict(self, meanings: Tensor) -> Tensor:
        """Messages for meanings, (batch, ...) of any type, as ids (batch, max_len)."""
        unknown = np.ones(self.max_len, np.int64)
        found = np.stack([self.messages.get(key, unknown) for key in _keys(meanings)])
        return torch.from_numpy(found).to(meanings.device)

    def add(self, meanings: Tensor, messages: Tensor) -> None:
        """Store messages, ids (batch, max_len), for meanings, (batch, ...), unless a meaning already has one."""
        copies = messages.detach().cpu().long().numpy().copy()
        for key, message in zip(_keys(meanings), copies, strict=True):
            self.messages.setdefault(key, message)

    def score(self, meanings: Tensor, messages: Tensor) -> float:
        """Share of correct symbols, 0 to 1, in the predicted messages, against messages (batch, max_len)."""
        return (self.predict(meanings) == messages).float().mean().item()

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning. See `RecurrentSender.forward`."""
        steps = iter(self.predict(meanings).unbind(1))
        while not builder.done:
            logits = CERTAIN_LOGIT * nn.functional.one_hot(next(steps), self.vocab_size + 1)
            builder.step(logits.to(meanings.dtype))
        return builder.message()


def _keys(meanings: Tensor) -> list[bytes]:
    """Table keys of meanings; equal numbers give equal keys in any type."""
    return [row.tobytes() for row in meanings.detach().cpu().double().flatten(1).numpy()]
