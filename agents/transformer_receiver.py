"""A transformer encoder as a receiver."""

from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from ecsuite.agents.message import Message
from ecsuite.agents.options import AgentOptions, Style
from ecsuite.agents.receivers import Receiver, make_embedding
from ecsuite.agents.senders import Layers
from ecsuite.agents.transformer import position_codes
from ecsuite.parts.config import Count
from ecsuite.runtime.errors import ConfigError


class TransformerReceiver(Receiver):
    """A transformer encoder with post-norm (Vaswani et al. 2017, arXiv 1706.03762).

    A position attends to itself and to those before it, so that one pass gives the state after each symbol, and none
    depends on what a message of another end would have said. The state is the position of the last symbol.
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
            """Check that the heads divide the width; `ConfigError` if not."""
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
