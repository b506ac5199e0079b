"""Receivers: encode a message into a hidden state.

A receiver is made from its options, `vocab_size`, the number of content symbols, to which it adds EOS, and `max_len`,
their maximum number in a message, which some receivers ignore.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from ecsuite.agents.cells import RecurrentCell
from ecsuite.agents.linear import SymbolEmbedding
from ecsuite.agents.message import Message
from ecsuite.agents.options import AgentOptions, CellOptions, Style
from ecsuite.agents.registry import CELLS
from ecsuite.agents.senders import Layers
from ecsuite.agents.shared_states import beginnings
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError


class Receiver(nn.Module, ABC):
    """Base class of receivers, including user code.

    Args:
        state_size: Width of the receiver's states.

    Raises:
        ConfigError: If `state_size` is not a positive integer.
    """

    casts_weights = False
    """Whether layers cast their weights to the precision of their input; `forward` then gets this precision, `dtype`,
    as a second argument. Otherwise it is called under autocast, with symbol weights in fp32."""
    reads_distinct = False
    """Whether a state depends only on its own message, so that equal messages of a batch are read once; see
    `ecsuite.agents.shared_states`, by which recurrent receivers read equal prefixes once. Subclasses do not inherit it:
    they may add dropout or batch normalisation."""
    knows_names = False
    """Whether the constructor also gets the names of attribute values, `value_names`."""
    states_are_values = False
    """Whether states are scores of attribute values, which reconstruction uses directly."""
    needs_projection = True
    """Whether states are projected to the width of candidates' vectors; otherwise they are scores of features."""

    def __init__(self, *, state_size: int) -> None:
        super().__init__()
        if not isinstance(state_size, int) or state_size < 1:
            raise ConfigError(
                f"receiver {type(self).__name__}: expected the width of its states as state_size, got {state_size!r}"
            )
        self.state_size = state_size

    @abstractmethod
    def forward(self, message: Message, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Encode a message up to each of its possible ends.

        Args:
            message: Messages.
            *args: The precision of the computation, if `casts_weights`.
            **kwargs: Not used.

        Returns:
            States (num_ends, batch, state_size) and the probability of each end, (num_ends, batch).
        """


def make_embedding(vocab_size: int, embedding_size: int, style: Style) -> SymbolEmbedding:
    """Make a receiver's embedding of content symbols and EOS; style icy: without a bias, initialised from N(0, 1)."""
    embed = SymbolEmbedding(vocab_size + 1, embedding_size, bias=style == "egg")
    if style == "icy":
        nn.init.normal_(embed.weight)
    return embed


class RecurrentReceiver(Receiver):
    """A recurrent encoder with initial states of zeros."""

    casts_weights = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(CellOptions):
        """Options of a recurrent receiver."""

        hidden_size: Count = 512
        """Width of the hidden state."""
        num_layers: Layers = 1
        """Number of layers; the states of the last layer are the receiver's states."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int = 0) -> None:
        super().__init__(state_size=options.hidden_size)
        self.embed = make_embedding(vocab_size, options.embedding_size, options.style)
        cell = CELLS.load(options.cell)
        widths = [options.embedding_size] + [options.hidden_size] * (options.num_layers - 1)
        self.cells = nn.ModuleList(cell(width, options.hidden_size) for width in widths)

    def forward(self, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """See the base class."""
        begun = beginnings(message, width=self.state_size)
        first, *upper = cast(list[RecurrentCell], list(self.cells))
        outputs, summaries = first.run(first.reader(dtype, self.embed)(begun.symbols), dtype, begun)
        for cell in upper:
            outputs, summaries = cell.run(cell.reader(dtype)(outputs), dtype, begun)
        return begun.at_ends(summaries)


NETWORKS = {"gru": nn.GRU, "lstm": nn.LSTM, "rnn": nn.RNN}


class BidirectionalReceiver(Receiver):
    """A recurrent encoder in both directions (Schuster & Paliwal 1997).

    The state is the last output of the forward direction and the first of the backward direction. The backward pass
    depends on the end, so a relaxed message of variable length is read once per possible end, which
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
        # A list: marks the operations as dependent on values.
        return self._read(embedded, torch.tensor(message.length.long().tolist()))[None], certain

    def _read(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """Compute states (number, 2 * hidden) of sequences (num_steps, number, embedding) with these lengths."""
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, enforce_sorted=False)
        with torch.autocast(embedded.device.type, enabled=False):  # torch's packed networks compute in fp32
            _, last = self.encode(packed)
        hidden = last[0] if isinstance(last, tuple) else last  # (2 * num_layers, number, hidden)
        return torch.cat([hidden[-2], hidden[-1]], dim=-1)
