"""Receivers: read a message, and hold what they understood for the game to judge."""

from abc import ABC, abstractmethod
from typing import cast

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import CELLS, RecurrentCell, State
from ecsuite.agents.linear import Linear, SymbolEmbedding
from ecsuite.agents.message import Message
from ecsuite.agents.senders import Style


class Receiver(nn.Module, ABC):
    """What all receivers share.

    Args:
        state_size: Width of the states that it holds.
    """

    def __init__(self, *, state_size: int) -> None:
        super().__init__()
        self.state_size = state_size

    @abstractmethod
    def forward(self, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Read a message up to each of its possible ends.

        Args:
            message: What was said.
            dtype: Precision in which to compute.

        Returns:
            States (num_ends, batch, state_size) and the probability of each end, (num_ends, batch).
        """

    def make_answer(self, num_answers: int) -> Linear:
        """A new linear map from this receiver's states to as many logits."""
        return Linear(self.state_size, num_answers)


def make_embedding(vocab_size: int, embedding_size: int, style: Style) -> SymbolEmbedding:
    """A receiver's embedding of the content symbols and EOS: in style icy without a bias, and drawn from N(0, 1)."""
    embed = SymbolEmbedding(vocab_size + 1, embedding_size, bias=style == "egg")
    if style == "icy":
        nn.init.normal_(embed.weight)
    return embed


class RecurrentReceiver(Receiver):
    """A recurrent reader that begins with states of zeros.

    Args:
        vocab_size: Content symbols of the channel; EOS is added here.
        hidden_size: Width of the state.
        embedding_size: Width of a symbol's embedding.
        cell: Name in `CELLS`.
        num_layers: Layers; each reads what the one below puts out, and the last is what is understood.
        style: See `Style`.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        hidden_size: int,
        embedding_size: int,
        cell: str,
        num_layers: int = 1,
        style: Style = "egg",
    ) -> None:
        super().__init__(state_size=hidden_size)
        self.embed = make_embedding(vocab_size, embedding_size, style)
        widths = [embedding_size] + [hidden_size] * (num_layers - 1)
        self.cells = nn.ModuleList(CELLS[cell](width, hidden_size) for width in widths)

    def forward(self, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """See the base class."""
        outputs = list(self.embed(message.symbols).to(dtype).unbind(0))
        summaries = outputs
        for cell in cast(list[RecurrentCell], list(self.cells)):
            step = cell.unroll(dtype)
            state: State | None = None
            inputs, outputs, summaries = outputs, [], []
            for symbol in inputs:
                state = step(symbol, state)
                outputs.append(state[0])
                summaries.append(cell.summary(state))
        return message.at_ends(summaries)


class AttributeClassifier(nn.Module):
    """A receiver with a linear answer: one row of logits for each attribute, as ICY trains receivers.

    Args:
        receiver: Reads the message.
        num_attributes: Attributes of a meaning.
        num_values: Values of an attribute.
    """

    def __init__(self, receiver: Receiver, num_attributes: int, num_values: int) -> None:
        super().__init__()
        self.num_attributes, self.num_values = num_attributes, num_values
        self.receiver = receiver
        self.answer = receiver.make_answer(num_attributes * num_values)

    def forward(self, message: Message, dtype: torch.dtype = torch.float32) -> Tensor:
        """Read a message whose end is certain, and answer for each attribute, (batch, num_attributes, num_values)."""
        states, _ = self.receiver(message, dtype)
        assert len(states) == 1, (
            "only a relaxed message of variable length has several ends, and no single answer"
        )
        logits: Tensor = self.answer(states[0])
        return logits.view(-1, self.num_attributes, self.num_values)
