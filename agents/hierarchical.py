"""HU-RNN: a sender and a receiver of two levels, with a gate between them that may learn where words end.

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


def scale(state: State, share: Tensor) -> State:
    """Each part of a state times a share, (batch or 1, 1): its way from a state of zeros."""
    return tuple(part * share for part in state)


def blend(old: State, new: State, share: Tensor) -> State:
    """Each part of a state on its way from old to new: old + share (new - old), share (batch or 1, 1)."""
    return tuple(torch.lerp(before, after, share) for before, after in zip(old, new, strict=True))


class HierarchicalSender(Decoder):
    """HUSendA and HUSendZ: an upper cell steps from word to word, a lower cell spells each word.

    With the meaning as the first upper state u_0, a lower state of zeros l_0 and stopness s_0 = 1, section 3.3.2:

        u_t = s_{t-1} upper(0, u_{t-1}) + (1 - s_{t-1}) u_{t-1}
        l_t = lower(x_t, s_{t-1} u_t + (1 - s_{t-1}) l_{t-1})
        s_t = sigmoid(stop(l_t)),    scores_t = logits(l_t)

    where x_t is the last symbol said (HUSendA) or zeros (HUSendZ). All parts of a state are blended alike.

    Args:
        num_features: Width of a meaning.
        vocab_size: Content symbols of the channel; EOS is added here.
        hidden_size: Width of both states.
        embedding_size: Width of a symbol's embedding (HUSendA only).
        cell: Name in `CELLS`, for both levels.
        zero_input: HUSendZ instead of HUSendA. A cell that never has an input keeps one of width 1, as published.
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
        idle_size = hidden_size if cell.startswith("sru") else 1  # SRU's input is always as wide as its state
        self.upper = CELLS[cell](idle_size, hidden_size)
        self.lower = CELLS[cell](idle_size if zero_input else embedding_size, hidden_size)
        self.stop = Linear(hidden_size, 1)
        self.add_output_layers(vocab_size, embedding_size, is_autoregressive=not zero_input)

    def forward(self, meanings: Tensor, builder: MessageBuilder) -> Message:
        """Say a message for each meaning.

        Args:
            meanings: (batch, num_features), in the precision in which to compute.
            builder: Collects the message, symbol by symbol.
        """
        dtype = meanings.dtype
        upper_step, lower_step = self.upper.unroll(dtype), self.lower.unroll(dtype)
        stop, logits = self.stop.unroll(dtype), self.scores.unroll(dtype)
        embed = None if self.embed is None else self.embed.unroll(dtype)
        inputs = self.first_input(meanings)
        # At s_0 = 1 nothing is blended: the first word is fetched, and the lower level begins from it.
        upper = upper_step(None, self.upper.start(self.perceive(meanings)))
        lower = lower_step(inputs, upper)
        said = builder.step(logits(lower[0]))
        while not builder.done:
            stopness = stop(lower[0]).sigmoid()  # (batch, 1)
            inputs = None if embed is None else embed(said)
            upper = blend(upper, upper_step(None, upper), stopness)
            lower = lower_step(inputs, blend(lower, upper, stopness))
            said = builder.step(logits(lower[0]))
        return builder.message()


class HierarchicalReceiver(Receiver):
    """HU-receiver: a lower cell reads symbols, an upper cell steps where the lower one sees a word end.

    With states of zeros first, appendix C.5:

        l_t = lower(x_t, l_{t-1}),    s_t = sigmoid(stop(l_t))
        u_t = s_t upper(l_t, u_{t-1}) + (1 - s_t) u_{t-1}

    Args:
        vocab_size: Content symbols of the channel; EOS is added here.
        hidden_size: Width of both states.
        embedding_size: Width of a symbol's embedding.
        cell: Name in `CELLS`, for both levels.
        stop: `each`: every example has its own stopness. `first`: that of the first example of a batch holds for
            all, as in the published program with any cell but LSTM.
        reset: Forget the lower state where a word ended, (1 - s_{t-1}) l_{t-1}, as in the published program.
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
        self.stops, self.reset = stop, reset
        self.embed = make_embedding(vocab_size, embedding_size, style)
        self.lower = CELLS[cell](embedding_size, hidden_size)
        self.upper = CELLS[cell](hidden_size, hidden_size)
        self.stop = Linear(hidden_size, 1)

    def forward(self, message: Message, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Read a message up to each of its possible ends. See `Receiver`."""
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
            seen = lower[0] if self.stops == "each" else lower[0][:1]
            stopness = stop(seen).sigmoid()  # (batch or 1, 1)
            stepped = upper_step(lower[0], upper)
            upper = scale(stepped, stopness) if upper is None else blend(upper, stepped, stopness)
            states.append(self.upper.summary(upper))
        return message.at_ends(states)
