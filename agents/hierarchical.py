"""HU-RNN: a sender and a receiver with two levels, and a gate between them that can learn word boundaries.

From the paper that introduces ICY, "Neural Networks Can Understand Compositional Functions That Humans Do Not, in
the Context of Emergent Communication": section 3.3.2 (senders) and appendix C.5 (receiver).
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.options import CellOptions
from ecsuite.agents.receivers import Receiver, make_embedding
from ecsuite.agents.recurrence import State
from ecsuite.agents.registry import CELLS
from ecsuite.agents.senders import Decoder, MessageBuilder, cell_of_sender
from ecsuite.agents.shared_states import DistinctStates, beginnings, select_states
from ecsuite.parts.config import Count


def scale(state: State, weight: Tensor) -> State:
    """Multiply all parts of a state by a weight, (batch or 1, 1): interpolation from zeros."""
    return tuple(part * weight for part in state)


def interpolate(old: State, new: State, weight: Tensor) -> State:
    """Interpolate all parts of a state: old + weight (new - old), weight (batch or 1, 1)."""
    return tuple(torch.lerp(before, after, weight) for before, after in zip(old, new, strict=True))


class HierarchicalSender(Decoder):
    """HUSendA and HUSendZ: an upper cell makes one step per word, a lower cell one step per symbol.

    Section 3.3.2, with the meaning as the initial upper state u_0, zeros as the initial lower state l_0 and initial
    stopness s_0 = 1:

        u_t = s_{t-1} upper(0, u_{t-1}) + (1 - s_{t-1}) u_{t-1}
        l_t = lower(x_t, s_{t-1} u_t + (1 - s_{t-1}) l_{t-1})
        s_t = sigmoid(stop(l_t)),    logits_t = scores(l_t)

    where x_t is the previous symbol (HUSendA) or zeros (HUSendZ), and `scores` is the output layer. All parts of a
    state are interpolated in the same way.

    A cell without input has an input of width 1, as published.
    """

    zero_input: bool

    def __init__(self, options: CellOptions, *, num_features: int, vocab_size: int, max_len: int = 0) -> None:
        hidden_size = options.hidden_size
        super().__init__(num_features=num_features, hidden_size=hidden_size, style=options.style)
        # SRU's input and state have the same width.
        zero_input_size = hidden_size if options.cell.startswith("sru") else 1
        cell = CELLS.load(cell_of_sender(options.cell, zero_input=self.zero_input))
        self.upper = cell(zero_input_size, hidden_size)
        self.lower = cell(zero_input_size if self.zero_input else options.embedding_size, hidden_size)
        self.stop = Linear(hidden_size, 1)
        self.add_output_layers(vocab_size, options.embedding_size, is_autoregressive=not self.zero_input)

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning. See `RecurrentSender.forward`."""
        dtype = meanings.dtype
        upper_step, lower_step = self.upper.unroll(dtype), self.lower.unroll(dtype)
        stop, logits = self.stop.unroll(dtype), self.scores.unroll(dtype)
        embed = None if self.embed is None else self.embed.unroll(dtype)
        distinct = DistinctStates(meanings, builder, width=self.perceive.out_features)
        inputs = self.first_input(distinct.meanings)
        # s_0 = 1: no interpolation in the first step, and the lower state starts from the upper one.
        upper = upper_step(None, self.upper.start(self.perceive(distinct.meanings)))
        lower = lower_step(None if inputs is None else inputs.expand(len(distinct.meanings), -1), upper)
        symbols, places = distinct.say(logits(lower[0]))
        while not builder.done:
            upper, lower = select_states(upper, places), select_states(lower, places)
            stopness = stop(lower[0]).sigmoid()  # (batch, 1)
            inputs = None if embed is None else embed(symbols)
            upper = interpolate(upper, upper_step(None, upper), stopness)
            lower = lower_step(inputs, interpolate(lower, upper, stopness))
            symbols, places = distinct.say(logits(lower[0]))
        return builder.message()


class HUSendA(HierarchicalSender):
    """HUSendA: each symbol is the input of the next step."""

    Options = CellOptions
    zero_input = False


class HUSendZ(HierarchicalSender):
    """HUSendZ: the input of every step is zeros."""

    Options = CellOptions
    zero_input = True


class HierarchicalReceiver(Receiver):
    """HU-receiver: a lower cell makes one step per symbol, an upper cell one step per word boundary.

    Appendix C.5, with initial states of zeros:

        l_t = lower(x_t, l_{t-1}),    s_t = sigmoid(stop(l_t))
        u_t = s_t upper(l_t, u_{t-1}) + (1 - s_t) u_{t-1}
    """

    casts_weights = True

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(CellOptions):
        """Options of a hierarchical receiver."""

        hidden_size: Count = 512
        """Width of both states."""
        stop: Literal["each", "first"] = "each"
        """each: every example has its own stopness. first: all examples of a batch use that of the first one, as in
        the published program with all cells except LSTM."""
        reset: bool = False
        """Multiply the lower state by 1 - s_{t-1} after each symbol, as in the published program."""

    def __init__(self, options: Options, *, vocab_size: int, max_len: int = 0) -> None:
        super().__init__(state_size=options.hidden_size)
        self.stop_mode, self.reset = options.stop, options.reset
        self.embed = make_embedding(vocab_size, options.embedding_size, options.style)
        cell = CELLS.load(options.cell)
        self.lower = cell(options.embedding_size, options.hidden_size)
        self.upper = cell(options.hidden_size, options.hidden_size)
        self.stop = Linear(options.hidden_size, 1)

    def forward(self, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Encode a message up to each of its possible ends. See `Receiver`."""
        lower_step, upper_step = self.lower.unroll(dtype), self.upper.unroll(dtype)
        stop = self.stop.unroll(dtype)
        lower: State | None = None
        upper: State | None = None
        stopness: Tensor | None = None
        states = []
        begun = beginnings(message, width=self.state_size, are_independent=self.stop_mode == "each")
        embedded = begun.steps(self.embed(begun.symbols).to(dtype))
        for inputs, places in zip(embedded, begun.followed, strict=True):
            if lower is not None and upper is not None and stopness is not None:
                lower = scale(lower, 1 - stopness) if self.reset else lower
                lower, upper = select_states(lower, places), select_states(upper, places)
            lower = lower_step(inputs, lower)
            gate_input = lower[0] if self.stop_mode == "each" else lower[0][:1]
            stopness = stop(gate_input).sigmoid()  # (batch or 1, 1)
            stepped = upper_step(lower[0], upper)
            upper = scale(stepped, stopness) if upper is None else interpolate(upper, stepped, stopness)
            states.append(self.upper.summary(upper))
        return begun.at_ends(begun.joined(states))
