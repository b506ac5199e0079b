"""A hashtable as a sender: it knows what it was told, and nothing else (ICY, appendix B.6)."""

import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.agents.senders import MessageBuilder

CERTAIN_LOGIT = 50.0
"""Score of the symbol to say over all others: no draw picks another."""


class HashtableSender(nn.Module):
    """Says what it was told first of a meaning, and the symbol 1 all along of a meaning that is new to it.

    It has no parameters and learns nothing from a gradient.

    Args:
        vocab_size: Content symbols of the channel.
        max_len: Symbols in a message.
    """

    def __init__(self, *, vocab_size: int, max_len: int) -> None:
        super().__init__()
        self.vocab_size, self.max_len = vocab_size, max_len
        self.messages: dict[bytes, Tensor] = {}

    def predict(self, meanings: Tensor) -> Tensor:
        """What it says of meanings, (batch, ...) of any type, as ids (batch, max_len)."""
        unknown = torch.ones(self.max_len, dtype=torch.long)
        return torch.stack([self.messages.get(key, unknown) for key in _keys(meanings)]).to(meanings.device)

    def add(self, meanings: Tensor, messages: Tensor) -> None:
        """Tell it messages, ids (batch, max_len), of meanings, (batch, ...); of each it keeps the first."""
        for key, message in zip(_keys(meanings), messages.detach().cpu().long(), strict=True):
            self.messages.setdefault(key, message.clone())

    def score(self, meanings: Tensor, messages: Tensor) -> float:
        """Share of right symbols, 0 to 1, in what it says of meanings, against messages (batch, max_len)."""
        return (self.predict(meanings) == messages).float().mean().item()

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Say a message for each meaning. See `RecurrentSender.forward`."""
        steps = iter(self.predict(meanings).unbind(1))
        while not builder.done:
            logits = CERTAIN_LOGIT * nn.functional.one_hot(next(steps), self.vocab_size + 1)
            builder.step(logits.to(meanings.dtype))
        return builder.message()


def _keys(meanings: Tensor) -> list[bytes]:
    """What tells meanings apart; whole numbers are equal in any type."""
    return [row.tobytes() for row in meanings.detach().cpu().double().flatten(1).numpy()]
