"""Transformers: a sender that decodes symbols, and a causal encoder as receiver."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import Tensor, nn

from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.options import AgentOptions, Style
from ecsuite.agents.receivers import Receiver, make_embedding
from ecsuite.agents.senders import Decoder, Layers, MessageBuilder
from ecsuite.agents.shared_states import DistinctStates, Places, select
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError


class Attention(nn.Module):
    """Parameters of single-head attention: one projection to queries, keys and values, and an output projection.

    Initialised as in torch: the first projection by Glorot & Bengio's (2010) uniform rule, biases to zero.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.inward, self.outward = Linear(size, 3 * size), Linear(size, size)
        nn.init.xavier_uniform_(self.inward.weight)
        nn.init.zeros_(self.inward.bias)
        nn.init.zeros_(self.outward.bias)


class DecoderLayer(nn.Module):
    """One decoder layer with post-norm (Vaswani et al. 2017, arXiv 1706.03762).

    Three sublayers with residual connections: self-attention over the previous positions (`to_said`), cross-attention
    to the meaning (`to_meaning`), and a feed-forward block of two linear layers with ReLU between them, which is four
    times as wide as a position.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.to_said, self.to_meaning = Attention(size), Attention(size)
        self.widen, self.narrow = Linear(size, 4 * size), Linear(4 * size, size)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(3))

    def unroll(self, memory: Tensor) -> Callable[[Tensor, Places], Tensor]:
        """Start a loop over positions.

        Args:
            memory: The projected meaning, (batch, size), the only position of the cross-attention. A softmax over one
                position is 1, so the sublayer adds the same vector at every step and its queries and keys have no
                effect.

        Returns:
            A function from a position's input and the index of each row's predecessor to its output, (batch,
            size); it caches keys and values.
        """
        size, dtype = memory.shape[-1], memory.dtype
        inward, outward = self.to_said.inward.unroll(dtype), self.to_said.outward.unroll(dtype)
        widen, narrow = self.widen.unroll(dtype), self.narrow.unroll(dtype)
        norm_self, norm_cross, norm_feed_forward = (
            fp32_norm(cast(nn.LayerNorm, norm)) for norm in self.norms
        )
        projection = self.to_meaning.inward
        weight, bias = projection.weight[2 * size :].to(dtype), projection.bias[2 * size :].to(dtype)
        cross_attended = self.to_meaning.outward(nn.functional.linear(memory, weight, bias))  # (batch, size)
        keys = values = memory.new_empty(len(memory), 0, size)  # (batch, num_positions, size)

        def step(inputs: Tensor, places: Places) -> Tensor:
            nonlocal keys, values, cross_attended
            query, key, value = inward(inputs).chunk(3, dim=-1)
            keys = torch.cat([select(keys, places), key[:, None]], 1)
            values = torch.cat([select(values, places), value[:, None]], 1)
            cross_attended = select(cross_attended, places)
            logits = keys @ query[:, :, None] / math.sqrt(size)  # (batch, num_positions, 1)
            attended = (values * logits.softmax(1)).sum(1)
            hidden = norm_self(inputs + outward(attended))
            hidden = norm_cross(hidden + cross_attended)
            return norm_feed_forward(hidden + narrow(widen(hidden).relu()))

        return step


class TransformerSender(Decoder):
    """A causal transformer decoder with one head and post-norm; each symbol is the next position (ICY, B.5)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of a transformer."""

        hidden_size: Count = 256
        """Width of a position."""
        num_layers: Layers = 1
        """Number of layers."""
        init: Literal["independent", "copied"] = "independent"
        """copied: all layers have the initial weights of the first, as in the published program."""
        style: Style = "egg"
        """egg: as in EGG. icy: embeddings initialised from N(0, 1), and the embedding of EOS as the first input."""

    positions: Tensor

    def __init__(self, options: Options, *, num_features: int, vocab_size: int, max_len: int) -> None:
        size = options.hidden_size
        super().__init__(num_features=num_features, hidden_size=size, style=options.style)
        layers = [DecoderLayer(size)]
        for _ in range(options.num_layers - 1):
            layers.append(copy.deepcopy(layers[0]) if options.init == "copied" else DecoderLayer(size))
        self.layers = nn.ModuleList(layers)
        self.add_output_layers(vocab_size, size, is_autoregressive=True)
        self.register_buffer("positions", position_codes(max_len, size), persistent=False)

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning. See `RecurrentSender.forward`."""
        dtype = meanings.dtype
        distinct = DistinctStates(meanings, builder, width=self.perceive.out_features)
        memory = self.perceive(distinct.meanings)
        steps = [cast(DecoderLayer, layer).unroll(memory) for layer in self.layers]
        assert self.embed is not None
        logits, embed = self.scores.unroll(dtype), self.embed.unroll(dtype)
        first, places = self.first_input(distinct.meanings), None
        assert first is not None
        inputs = first.expand(len(distinct.meanings), -1)
        positions = iter(self.positions.to(dtype))
        while not builder.done:
            hidden = inputs + next(positions)
            for step in steps:
                hidden = step(hidden, places)
            symbols, places = distinct.say(logits(hidden))
            inputs = embed(symbols)
        return builder.message()


def position_codes(num_positions: int, size: int) -> Tensor:
    """Positional encodings (num_positions, size): sines in even, cosines in odd columns, wavelengths 2 pi to 20000 pi.

    Vaswani et al. (2017), section 3.5.
    """
    columns = torch.arange(size)
    frequencies = 10000.0 ** (-(columns - columns % 2) / size)
    angles = torch.arange(num_positions)[:, None] * frequencies
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


def fp32_norm(norm: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    """Layer norm, computed in fp32, with outputs in the precision of its inputs."""
    return lambda inputs: norm(inputs.float()).to(inputs.dtype)


class TransformerReceiver(Receiver):
    """A transformer encoder with post-norm (Vaswani et al. 2017, arXiv 1706.03762).

    A position attends to itself and to previous positions, so that one pass gives the state after each symbol,
    independent of later symbols. The state is the output at the last symbol.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of a transformer receiver."""

        hidden_size: Count = 256
        """Width of a position."""
        num_layers: Layers = 1
        """Number of layers."""
        num_heads: Count = 4
        """Number of attention heads; the width is divided among them."""
        style: Style = "egg"
        """icy: embeddings without a bias, initialised from N(0, 1)."""

        def __post_init__(self) -> None:
            """Check that the number of heads divides the width; `ConfigError` if not."""
            if self.hidden_size % self.num_heads:
                raise ConfigError(
                    f"num_heads: expected a divisor of hidden_size, {self.hidden_size}, got {self.num_heads}"
                )

    reads_distinct = True
    positions: Tensor

    def __init__(self, options: Options, *, vocab_size: int, max_len: int) -> None:
        size = options.hidden_size
        super().__init__(state_size=size)
        self.embed = make_embedding(vocab_size, size, options.style)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(size, options.num_heads, 4 * size, dropout=0.0)
            for _ in range(options.num_layers)
        )
        self.register_buffer("positions", position_codes(max_len + 1, size), persistent=False)

    def forward(self, message: Message) -> tuple[Tensor, Tensor]:
        """See the base class."""
        num_steps = len(message.symbols)
        hidden = self.embed(message.symbols).float() + self.positions[:num_steps, None]
        later = torch.ones(num_steps, num_steps, dtype=torch.bool, device=hidden.device).triu(1)
        for layer in cast(list[nn.TransformerEncoderLayer], list(self.layers)):
            hidden = layer(hidden, src_mask=later)
        return message.at_ends(hidden)
