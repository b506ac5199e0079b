"""A receiver that reads a message in both directions."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.agents.options import AgentOptions, Style
from ecsuite.agents.receivers import Receiver, make_embedding
from ecsuite.agents.senders import Layers
from ecsuite.parts.config import Count

NETWORKS = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}


class BidirectionalReceiver(Receiver):
    """A recurrent encoder in both directions (Schuster & Paliwal 1997).

    The state is the last output of the one direction and the first of the other. What is read backwards depends on
    where the message ends, so a relaxed message of variable length is read once for each of its possible ends, which
    takes `max_len + 1` times as long.
    """

    reads_distinct = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of a bidirectional receiver."""

        network: Literal["gru", "lstm", "rnn"] = "gru"
        """The recurrent network."""
        hidden_size: Count = 256
        """Width of the hidden state in each direction; the receiver's states are twice as wide."""
        embedding_size: Count = 32
        """Width of a symbol's embedding."""
        num_layers: Layers = 1
        """Number of layers."""
        style: Style = "egg"
        """icy: embeddings without a bias, initialised from N(0, 1)."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int = 0) -> None:
        super().__init__(state_size=2 * options.hidden_size)
        self.embed = make_embedding(vocab_size, options.embedding_size, options.style)
        network = NETWORKS[options.network]
        self.encode = network(
            options.embedding_size, options.hidden_size, options.num_layers, bidirectional=True
        )

    def forward(self, message: Message) -> tuple[Tensor, Tensor]:
        """See the base class."""
        embedded = self.embed(message.symbols).float()  # (num_steps, batch, embedding)
        num_steps, batch = embedded.shape[:2]
        if message.ends is not None:
            lengths = torch.arange(1, num_steps + 1).repeat_interleave(batch)
            states = self._read(embedded.repeat(1, num_steps, 1), lengths)
            return states.unflatten(0, (num_steps, batch)), message.ends
        certain = torch.ones_like(message.length)[None]
        if message.symbols.is_floating_point():
            return self._read(embedded, torch.full((batch,), num_steps))[None], certain
        return self._read(embedded, message.length.long().cpu())[None], certain

    def _read(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """States (number, 2 * hidden) of sequences (num_steps, number, embedding) of these lengths."""
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, enforce_sorted=False)
        with torch.autocast(embedded.device.type, enabled=False):  # torch's packed networks compute in fp32
            _, last = self.encode(packed)
        hidden = last[0] if isinstance(last, tuple) else last  # (2 * num_layers, number, hidden)
        return torch.cat([hidden[-2], hidden[-1]], dim=-1)
