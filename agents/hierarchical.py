"""HU-RNN: a sender and a receiver with two levels, and a gate between them that can learn word boundaries.

From the paper that introduces ICY, "Neural Networks Can Understand Compositional Functions That Humans Do Not, in
the Context of Emergent Communication": section 3.3.2 (senders) and appendix C.5 (receiver).
"""

from typing import Literal

import torch
from torch import Tensor

from ecsuite.agents.cells import CELLS, State
from ecsuite.agents.linear import Linear
from ecsuite.agents.message import Message
from ecsuite.agents.receivers import Receiver, make_embedding
from ecsuite.agents.senders import Decoder, MessageBuilder, Style


def scale(state: State, weight: Tensor) -> State:
    """Multiply all parts of a state by a weight, (batch or 1, 1): interpolation from a state of zeros."""
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

    Args:
        num_features: Width of a meaning.
        vocab_size: Number of content symbols; EOS is added here.
        hidden_size: Width of both states.
        embedding_size: Width of a symbol's embedding (HUSendA only).
        cell: Name in `CELLS`, for both levels.
        zero_input: HUSendZ instead of HUSendA. A cell without input has an input of width 1, as published.
        style: See `Style`.
    """

    def __init__(
        self,
        *,
        num_features: int,
        vocab_size: int,
        hidden_size: int,
        embedding_size: int,
        cell: str,
        zero_input: bool,
        style: Style = "egg",
    ) -> None:
        super().__init__(num_features=num_features, hidden_size=hidden_size, style=style)
        zero_input_size = (
            hidden_size if cell.startswith("sru") else 1
        )  # SRU's input and state have the same width
        self.upper = CELLS[cell](zero_input_size, hidden_size)
        self.lower = CELLS[cell](zero_input_size if zero_input else embedding_size, hidden_size)
        self.stop = Linear(hidden_size, 1)
        self.add_output_layers(vocab_size, embedding_size, is_autoregressive=not zero_input)

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Generate a message for each meaning.

        Args:
            meanings: (batch, num_features), in the precision of the computation.
            builder: Collects the message symbol by symbol.
        """
        dtype = meanings.dtype
        upper_step, lower_step = self.upper.unroll(dtype), self.lower.unroll(dtype)
        stop, logits = self.stop.unroll(dtype), self.scores.unroll(dtype)
        embed = None if self.embed is None else self.embed.unroll(dtype)
        inputs = self.first_input(meanings)
        # s_0 = 1: no interpolation in the first step, and the lower state starts from the upper one.
        upper = upper_step(None, self.upper.start(self.perceive(meanings)))
        lower = lower_step(inputs, upper)
        symbols = builder.step(logits(lower[0]))
        while not builder.done:
            stopness = stop(lower[0]).sigmoid()  # (batch, 1)
            inputs = None if embed is None else embed(symbols)
            upper = interpolate(upper, upper_step(None, upper), stopness)
            lower = lower_step(inputs, interpolate(lower, upper, stopness))
            symbols = builder.step(logits(lower[0]))
        return builder.message()


class HierarchicalReceiver(Receiver):
    """HU-receiver: a lower cell makes one step per symbol, an upper cell one step per word boundary.

    Appendix C.5, with initial states of zeros:

        l_t = lower(x_t, l_{t-1}),    s_t = sigmoid(stop(l_t))
        u_t = s_t upper(l_t, u_{t-1}) + (1 - s_t) u_{t-1}

    Args:
        vocab_size: Number of content symbols; EOS is added here.
        hidden_size: Width of both states.
        embedding_size: Width of a symbol's embedding.
        cell: Name in `CELLS`, for both levels.
        stop: `each`: every example has its own stopness. `first`: all examples of a batch use the stopness of the
            first one, as in the published program with all cells except LSTM.
        reset: Multiply the lower state by 1 - s_{t-1} after each symbol, as in the published program.
        style: See `Style`.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        hidden_size: int,
        embedding_size: int,
        cell: str,
        stop: Literal["each", "first"] = "each",
        reset: bool = False,
        style: Style = "egg",
    ) -> None:
        super().__init__(state_size=hidden_size)
        self.stop_mode, self.reset = stop, reset
        self.embed = make_embedding(vocab_size, embedding_size, style)
        self.lower = CELLS[cell](embedding_size, hidden_size)
        self.upper = CELLS[cell](hidden_size, hidden_size)
        self.stop = Linear(hidden_size, 1)

    def forward(self, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Encode a message up to each of its possible ends. See `Receiver`."""
        lower_step, upper_step = self.lower.unroll(dtype), self.upper.unroll(dtype)
        stop = self.stop.unroll(dtype)
        lower: State | None = None
        upper: State | None = None
        stopness: Tensor | None = None
        states = []
        for inputs in self.embed(message.symbols).to(dtype).unbind(0):
            if self.reset and lower is not None and stopness is not None:
                lower = scale(lower, 1 - stopness)
            lower = lower_step(inputs, lower)
            gate_input = lower[0] if self.stop_mode == "each" else lower[0][:1]
            stopness = stop(gate_input).sigmoid()  # (batch or 1, 1)
            stepped = upper_step(lower[0], upper)
            upper = scale(stepped, stopness) if upper is None else interpolate(upper, stepped, stopness)
            states.append(self.upper.summary(upper))
        return message.at_ends(states)
