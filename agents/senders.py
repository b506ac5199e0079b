"""Senders: map a meaning to a message; independent of the channel type.

A sender is made from its options, `num_features`, the width of a meaning, `vocab_size`, the number of content symbols,
to which it adds EOS, and `max_len`, their maximum number in a message, which some senders ignore.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Protocol, cast

import torch
from msgspec import Meta
from torch import Tensor, nn

from ecsuite.agents.cells import RecurrentCell
from ecsuite.agents.linear import Linear, SymbolEmbedding
from ecsuite.agents.message import EOS, Message
from ecsuite.agents.options import CellOptions, Style
from ecsuite.agents.recurrence import State
from ecsuite.agents.registry import CELLS
from ecsuite.agents.shared_states import DistinctStates, IdBuilder, select_states


class MessageBuilder(Protocol):
    """Builds one batch of messages: takes a sender's logits step by step and returns the symbol of each step."""

    @property
    def done(self) -> bool:
        """Whether the message is complete."""

    def step(self, logits: Tensor) -> Tensor:
        """Logits (batch, vocab_size + 1) to the symbol of this step: weights of the same shape, or ids (batch,)."""

    def message(self) -> Message:
        """The complete message."""


class Sender(nn.Module, ABC):
    """Base class of senders, including user code."""

    knows_names = False
    """Whether the constructor gets `value_names`, of attributes, and `has_eos`, whether messages may end."""
    knows_values = False
    """Whether the constructor gets the number of values of each attribute, `num_values` (None: no values)."""
    casts_weights = False
    """Whether layers cast their weights to the precision of their input; otherwise the sender is called under autocast.
    See `ecsuite.agents.autocast`."""

    @abstractmethod
    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning.

        Args:
            meanings: (batch, num_features), in the precision of the computation if `casts_weights`, else in fp32.
            builder: Converts the logits of each step to symbols; return its `message()`.
        """

    def represent(self, meanings: Tensor) -> Tensor | None:
        """Return the first learnt representation of meanings, (batch, size); None: unknown.

        `rsa` and `transfer_sender` use it if the perception has no trainable weights. It is the output of the layer
        `perceive`, if there is one.

        Args:
            meanings: Meanings, (batch, num_features).
        """
        perceive = getattr(self, "perceive", None)
        return perceive(meanings) if isinstance(perceive, nn.Module) else None


def build_message(builder: MessageBuilder, logits: Tensor) -> Message:
    """Build a message from the logits of all steps at once, for a non-autoregressive sender.

    Args:
        builder: Collects the message symbol by symbol.
        logits: Logits, (max_len, batch, vocab_size + 1).

    Raises:
        ValueError: If there are logits for fewer than `max_len` steps.
    """
    if isinstance(builder, IdBuilder):
        builder.looks_at_ends = False
    for step_logits in logits:
        if builder.done:
            break
        builder.step(step_logits)
    if not builder.done:
        raise ValueError(f"expected logits for all steps of a message, got {len(logits)} steps")
    return builder.message()


def make_perception(num_features: int, hidden_size: int, style: Style) -> Linear:
    """Make the input projection from a meaning, (..., num_features), to a vector, (..., hidden)."""
    perceive = Linear(num_features, hidden_size, bias=style == "egg")
    if style == "icy":
        nn.init.normal_(perceive.weight)
    return perceive


Layers = Annotated[int, Meta(ge=1, le=9)]
"""Number of layers."""


def cell_of_sender(cell: str, *, zero_input: bool) -> str:
    """Cell of a sender: SRU with inputs of zeros applies tanh to its memory, as in the published program."""
    return "sru-tanh" if zero_input and cell == "sru" else cell


class Decoder(Sender):
    """Base class of step-by-step senders: input projection, output layer, embedding of the previous symbol."""

    casts_weights = True
    scores: Linear
    """Output layer, from the hidden state to logits (vocab_size + 1)."""
    embed: SymbolEmbedding | None
    """Embedding of the previous symbol; None: the sender is not autoregressive, and its inputs are zeros."""
    start: nn.Parameter | None
    """Learnt first input, (embedding,); None if it is the embedding of EOS or there is no input."""

    def __init__(self, *, num_features: int, hidden_size: int, style: Style) -> None:
        super().__init__()
        self.style: Style = style
        self.perceive = make_perception(num_features, hidden_size, style)

    def add_output_layers(self, vocab_size: int, embedding_size: int, *, is_autoregressive: bool) -> None:
        """Add the output layer and, if autoregressive, the symbol embedding and the first input."""
        self.scores = Linear(self.perceive.out_features, vocab_size + 1)
        self.embed = SymbolEmbedding(vocab_size + 1, embedding_size) if is_autoregressive else None
        learns_start = is_autoregressive and self.style == "egg"
        self.start = nn.Parameter(torch.randn(embedding_size) * 0.01) if learns_start else None

    def first_input(self, meanings: Tensor) -> Tensor | None:
        """Input of the first step, the same for all meanings, (1, embedding), in their precision."""
        if self.start is not None:
            return self.start.to(meanings.dtype).unsqueeze(0)
        if self.embed is None:
            return None
        first: Tensor = self.embed(torch.full((1,), EOS, device=meanings.device)).to(meanings.dtype)
        return first


class RecurrentSender(Decoder):
    """A recurrent decoder: the meaning sets its initial state, and each symbol is the next input."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(CellOptions):
        """Options of a recurrent sender."""

        num_layers: Layers = 1
        """Number of layers; layers above the first have an initial state of zeros."""
        zero_input: bool = False
        """Use inputs of zeros at every step: the sender is not autoregressive."""

    def __init__(self, options: Options, *, num_features: int, vocab_size: int, max_len: int = 0) -> None:
        super().__init__(num_features=num_features, hidden_size=options.hidden_size, style=options.style)
        cell = CELLS.load(cell_of_sender(options.cell, zero_input=options.zero_input))
        widths = [options.embedding_size] + [options.hidden_size] * (options.num_layers - 1)
        self.cells = nn.ModuleList(cell(width, options.hidden_size) for width in widths)
        self.add_output_layers(vocab_size, options.embedding_size, is_autoregressive=not options.zero_input)

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning.

        Args:
            meanings: (batch, num_features), in the precision of the computation.
            builder: Collects the message symbol by symbol.
        """
        dtype = meanings.dtype
        first, *upper = cast(list[RecurrentCell], list(self.cells))
        read, advance = first.reader(dtype, self.embed), first.advance(dtype)
        steps, logits = [cell.unroll(dtype) for cell in upper], self.scores.unroll(dtype)
        distinct = DistinctStates(meanings, builder, width=self.perceive.out_features)
        state: State = first.start(self.perceive(distinct.meanings))
        states: list[State | None] = [None] * len(upper)
        inputs = self.first_input(distinct.meanings)
        inputs = None if inputs is None else first.reader(dtype)(inputs).expand(len(distinct.meanings), -1)
        while True:
            state = advance(inputs, state)
            output = state[0]
            for layer, step in enumerate(steps):
                states[layer] = above = step(output, states[layer])
                output = above[0]
            symbols, places = distinct.say(logits(output))
            if builder.done:
                return builder.message()
            state = select_states(state, places)
            states = [None if above is None else select_states(above, places) for above in states]
            inputs = None if self.embed is None else read(symbols)
