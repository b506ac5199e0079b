"""Agents without recurrence: senders and receivers that process all positions of a message at once.

Such a receiver takes `max_len` positions. A shorter message is filled with zeros after its end, and the EOS appended
after `max_len` symbols is left out. If a message may end at several steps, every prefix is encoded.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.options import AgentOptions, Style
from ecsuite.agents.receivers import Receiver, make_embedding
from ecsuite.agents.recurrence import tanh
from ecsuite.agents.senders import MessageBuilder, Sender, build_message
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class HiddenLayerOptions(AgentOptions):
    """Options of FC2L as a sender."""

    hidden_size: Count = 256
    """Number of tanh units."""


class FeedForwardSender(Sender):
    """Base class of FC1L and FC2L: all symbols at once (ICY, appendix B.1, B.2).

    Biases are as in the published program; the paper omits them.
    """

    casts_weights = True

    def __init__(self, options: AgentOptions, *, num_features: int, vocab_size: int, max_len: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        hidden_size = options.hidden_size if isinstance(options, HiddenLayerOptions) else None
        self.perceive = None if hidden_size is None else Linear(num_features, hidden_size)
        self.scores = Linear(hidden_size or num_features, max_len * (vocab_size + 1))

    def represent(self, meanings: Tensor) -> Tensor:
        """Output of the hidden layer, (batch, hidden_size), or without one the logits of the whole message."""
        return self.scores(meanings) if self.perceive is None else tanh(self.perceive(meanings))

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning, (batch, num_features); not autoregressive."""
        first = self.represent(meanings)
        logits = first if self.perceive is None else self.scores(first)
        return build_message(builder, logits.unflatten(-1, (-1, self.vocab_size + 1)).transpose(0, 1))


class FC1LSender(FeedForwardSender):
    """FC1L: one linear layer from the meaning to all symbols."""

    Options = AgentOptions


class FC2LSender(FeedForwardSender):
    """FC2L: all symbols from one layer of tanh units."""

    Options = HiddenLayerOptions


class PositionalReceiver(Receiver):
    """Base class of receivers that encode all `max_len` positions of a message at once."""

    casts_weights = True

    def __init__(self, *, state_size: int, max_len: int) -> None:
        super().__init__(state_size=state_size)
        self.max_len = max_len

    def forward(self, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """See the base class."""
        symbols = self.embed_symbols(message.symbols[: self.max_len]).to(dtype)  # (num_steps, batch, width)
        missing = self.max_len - len(symbols)
        symbols = nn.functional.pad(symbols, (0, 0, 0, 0, 0, missing))
        position = torch.arange(self.max_len, device=symbols.device)
        if message.ends is not None:
            end = torch.arange(len(message.ends), device=symbols.device)
            in_message = (position <= end[:, None])[:, :, None]  # (num_ends, max_len, 1)
            ends = message.ends
        else:
            in_message = (position[:, None] < message.length)[None]  # (1, max_len, batch)
            ends = torch.ones_like(message.length)[None]
        return self.encode((symbols * in_message[..., None]).transpose(1, 2)), ends

    @abstractmethod
    def embed_symbols(self, symbols: Tensor) -> Tensor:
        """Embed ids (num_steps, batch), or weights over symbols, as (num_steps, batch, width)."""

    @abstractmethod
    def encode(self, symbols: Tensor) -> Tensor:
        """Encode embedded messages (num_ends, batch, max_len, width), 0 after the end, as (num_ends, batch, state)."""


class FC1LReceiver(PositionalReceiver):
    """The flattened one-hot message as the state, so that the whole model is linear."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of FC1L."""

        style: Style = "egg"
        """Determines the output layer in ICY; no effect in games."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int) -> None:
        super().__init__(state_size=max_len * (vocab_size + 1), max_len=max_len)
        self.vocab_size, self.style = vocab_size, options.style

    def embed_symbols(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        return as_weights(symbols, self.vocab_size)

    def encode(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        return symbols.flatten(2)


class FC2LReceiver(PositionalReceiver):
    """FC2L: symbol embeddings and tanh, as in the paper or as in the published program.

    Form `flat` (paper): one embedding for all positions, tanh, flattened (ICY, appendix C.2). Form `sum` (published
    program): one embedding per position, and tanh of their sum.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of FC2L."""

        form: Literal["flat", "sum"] = "flat"
        """flat: as in the paper. sum: as in the published program."""
        hidden_size: Count = 512
        """flat: width of a symbol's embedding. sum: width of the state."""
        style: Style = "egg"
        """egg: as in EGG. icy: embeddings initialised from N(0, 1)."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int) -> None:
        self.is_flat = options.form == "flat"
        super().__init__(state_size=(max_len if self.is_flat else 1) * options.hidden_size, max_len=max_len)
        self.vocab_size = vocab_size
        self.embed: Linear
        if self.is_flat:
            self.embed = make_embedding(vocab_size, options.hidden_size, options.style)
            return
        self.embed = Linear(max_len * (vocab_size + 1), options.hidden_size, bias=False)
        if options.style == "icy":
            nn.init.normal_(self.embed.weight)

    def embed_symbols(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        return tanh(self.embed(symbols)) if self.is_flat else as_weights(symbols, self.vocab_size)

    def encode(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        return symbols.flatten(2) if self.is_flat else tanh(self.embed(symbols.flatten(2)))


class FC3LReceiver(PositionalReceiver):
    """FC3L: symbol embeddings and tanh, flattened, then a layer of tanh units (the published program of ICY)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of FC3L."""

        hidden_size: Count = 256
        """Number of tanh units of the second layer, the width of the state."""
        embedding_size: Count = 32
        """Width of a symbol's embedding."""
        style: Style = "egg"
        """egg: as in EGG. icy: embeddings initialised from N(0, 1)."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int) -> None:
        super().__init__(state_size=options.hidden_size, max_len=max_len)
        self.embed = make_embedding(vocab_size, options.embedding_size, options.style)
        self.combine = Linear(max_len * options.embedding_size, options.hidden_size)

    def embed_symbols(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        return tanh(self.embed(symbols))

    def encode(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        return tanh(self.combine(symbols.flatten(2)))


class MeanEmbeddingsReceiver(PositionalReceiver):
    """Tanh of the mean of the symbol embeddings, which ignores their order (the published program of ICY)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of mean embeddings."""

        hidden_size: Count = 512
        """Width of a symbol's embedding, and of the state."""
        style: Style = "egg"
        """egg: as in EGG. icy: embeddings initialised from N(0, 1)."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int) -> None:
        super().__init__(state_size=options.hidden_size, max_len=max_len)
        self.embed = make_embedding(vocab_size, options.hidden_size, options.style)

    def embed_symbols(self, symbols: Tensor) -> Tensor:
        """Embeddings with a column of ones, whose sum over positions is the length of the message."""
        return nn.functional.pad(self.embed(symbols), (0, 1), value=1.0)

    def encode(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        sums = symbols.sum(2)
        return tanh(sums[..., :-1] / sums[..., -1:].clamp(min=1))


class ConvolutionalReceiver(PositionalReceiver):
    """CNN: blocks of convolution (width 3), max pooling (width 2) and ReLU, then flattened (ICY, appendix C.1).

    Raises:
        ConfigError: If no position remains after the blocks.
    """

    reads_distinct = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of CNN."""

        blocks: Count | None = None
        """Number of blocks; null: until one position remains, as the 4 blocks of the paper for 20 symbols."""
        hidden_size: Count = 512
        """Channels of each block."""
        embedding_size: Count = 32
        """Width of a symbol's embedding."""
        style: Style = "egg"
        """egg: as in EGG. icy: embeddings initialised from N(0, 1)."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int) -> None:
        max_blocks = max_len.bit_length() - 1
        blocks = max_blocks if options.blocks is None else options.blocks
        if blocks > max_blocks:
            raise ConfigError(
                f"cnn: expected at most blocks={max_blocks} for {max_len} symbols, got blocks={blocks}"
            )
        widths = [options.embedding_size] + [options.hidden_size] * blocks
        super().__init__(state_size=widths[-1] * (max_len >> blocks), max_len=max_len)
        self.embed = make_embedding(vocab_size, options.embedding_size, options.style)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(width, options.hidden_size, 3, padding=1) for width in widths[:-1]
        )

    def embed_symbols(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        embedded: Tensor = self.embed(symbols)
        return embedded

    def encode(self, symbols: Tensor) -> Tensor:
        """See the base class."""
        channels = symbols.flatten(0, 1).transpose(1, 2)  # (num_ends * batch, width, max_len)
        for layer in self.convolutions:
            assert isinstance(layer, nn.Conv1d) and layer.bias is not None
            weight, bias = layer.weight.to(channels.dtype), layer.bias.to(channels.dtype)
            channels = nn.functional.conv1d(channels, weight, bias, padding=1)
            channels = nn.functional.max_pool1d(channels, 2).relu()
        return channels.reshape(*symbols.shape[:2], self.state_size)


def as_weights(symbols: Tensor, vocab_size: int) -> Tensor:
    """Convert ids (...) to one-hot weights, (..., vocab_size + 1), with PAD as EOS; weights are returned unchanged."""
    if symbols.is_floating_point():
        return symbols
    weights: Tensor = nn.functional.one_hot(symbols.clamp(min=0), vocab_size + 1).float()
    return weights
