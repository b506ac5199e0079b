"""Untrained agents: a sender with a fixed language, and a receiver with a lexicon.

Languages of the sender: Kharitonov & Baroni (2020, arXiv 2004.03420, section 3).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ecsuite.agents.message import EOS, Message
from ecsuite.agents.options import AgentOptions
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.senders import MessageBuilder, Sender, build_message
from ecsuite.runtime.errors import ConfigError

CERTAIN = 1000.0
"""Logit of the chosen symbol; other logits are 0, a difference that no channel noise compensates. The other
probabilities are then exactly 0: denormal numbers, as for a logit of 100, are slow."""


FALSE = 1e-37
"""Substitute for the truth value 0, whose logarithm is undefined."""


def sums_and_differences(values: Tensor, num_values: int) -> Tensor:
    """Map pairs (a, b), (..., 2), to (a + b, a - b) modulo the number of values, of the same shape."""
    first, second = values.unbind(-1)
    return torch.stack([first + second, first - second], dim=-1) % num_values


def require_pairs(place: str, num_attributes: int, num_values: int) -> None:
    """Raise `ConfigError` if sums and differences of the values do not determine the pair."""
    if num_attributes != 2:
        raise ConfigError(f"{place}: sums need 2 attributes, but the objects have {num_attributes}")
    if num_values % 2 == 0:
        raise ConfigError(
            f"{place}: with {num_values} values two pairs may have the same sum and difference: expected an odd "
            f"world.num_values, such as {num_values + 1}"
        )


class ScriptedSender(Sender):
    """Sender without weights that generates one symbol per attribute from one-hot values.

    Raises:
        ConfigError: If messages do not have one symbol per attribute, or the vocabulary is too small.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of the sender."""

        language: Literal["values", "sums"] = "values"
        """values: the symbol at a position is the value of one attribute. sums: for the values a and b, the symbols are
        a + b and a - b, modulo the number of values, so that each symbol depends on both."""

    def __init__(self, options: Options, *, num_features: int, vocab_size: int, max_len: int) -> None:
        super().__init__()
        if options.perception.kind != "identity":
            raise ConfigError(
                f"sender.perception: expected identity, since messages consist of values, got {options.perception.kind}"
            )
        self.language, self.vocab_size, self.max_len = options.language, vocab_size, max_len
        self.num_values = num_features // max_len
        if num_features % max_len or self.num_values > vocab_size:
            raise ConfigError(
                "sender scripted: expected channel.max_len to be world.num_attributes and at least world.num_values "
                f"symbols, got {max_len} of {vocab_size} symbols for {num_features} features"
            )
        if self.language == "sums":
            require_pairs("sender.language", max_len, self.num_values)

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning, (batch, num_attributes * num_values), one-hot."""
        values = meanings.unflatten(-1, (self.max_len, self.num_values)).argmax(-1)  # (batch, max_len)
        if self.language == "sums":
            values = sums_and_differences(values, self.num_values)
        symbols = torch.arange(self.vocab_size + 1, device=values.device)
        logits = (values[..., None] + 1 == symbols).float() * CERTAIN
        return build_message(builder, logits.transpose(0, 1))


class LexiconReceiver(Receiver):
    """Untrained receiver with a lexicon: the truth of each symbol for each feature.

    The score of a candidate is the sum over symbols of the log of their truth for its features, so that with one-hot
    features a message is the conjunction of its symbols.

    Raises:
        ConfigError: If there is not one row per symbol, row lengths differ, or the perception changes features.
    """

    needs_projection = False

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(AgentOptions):
        """Options of the receiver."""

        lexicon: tuple[tuple[float, ...], ...] = ()
        """Truth, from 0 to 1, of each symbol (row) for each feature of objects (column): [[1, 0], [1, 1]]. For
        attribute values, features are one-hot: all values of the first attribute, then of the next one."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int) -> None:
        rows = options.lexicon
        if len(rows) != vocab_size or len({len(row) for row in rows}) != 1 or not rows[0]:
            raise ConfigError(
                f"receiver.lexicon: expected a row for each of {vocab_size} symbols (channel.vocab_size), all of the "
                f"same length, got {len(rows)}"
            )
        if any(not 0 <= value <= 1 for row in rows for value in row):
            raise ConfigError("receiver.lexicon: expected numbers from 0 to 1")
        if options.perception.kind != "identity":
            raise ConfigError(
                f"receiver.perception: expected identity: a lexicon describes features, got {options.perception.kind}"
            )
        super().__init__(state_size=len(rows[0]))
        # EOS is true of all features.
        truth = torch.cat([torch.ones(1, self.state_size), torch.tensor(rows)])
        self.register_buffer("truth", truth, persistent=False)

    def forward(self, message: Message) -> tuple[Tensor, Tensor]:
        """See the base class."""
        symbols, truth = message.symbols, self.get_buffer("truth")
        said = symbols @ truth if symbols.is_floating_point() else truth[symbols.clamp(min=EOS)]
        return message.at_ends(said.clamp(min=FALSE).log().cumsum(0))
