"""Registries of senders and receivers, and the functions that build an agent by name."""

from typing import Literal, cast

from torch import nn

from ecsuite.agents.cells import CELLS
from ecsuite.agents.feedforward import (
    FC2L_FORMS,
    ConvolutionalReceiver,
    FC1LReceiver,
    FeedForwardSender,
    FlatReceiver,
    PositionalReceiver,
)
from ecsuite.agents.hierarchical import HierarchicalReceiver, HierarchicalSender
from ecsuite.agents.receivers import Receiver, RecurrentReceiver
from ecsuite.agents.senders import RecurrentSender, Style
from ecsuite.agents.spec import AgentSpec, parse_agent
from ecsuite.agents.transformer import TransformerSender

SENDERS: dict[str, type[nn.Module]] = {
    **dict.fromkeys(CELLS, RecurrentSender),
    "husenda:CELL": HierarchicalSender,
    "husendz:CELL": HierarchicalSender,
    "fc1l": FeedForwardSender,
    "fc2l": FeedForwardSender,
    "transformer": TransformerSender,
}
"""Senders by name, where CELL stands for any name in `CELLS`; `make_sender` builds them."""

RECEIVERS: dict[str, type[Receiver]] = {
    **dict.fromkeys(CELLS, RecurrentReceiver),
    "hier:CELL": HierarchicalReceiver,
    "cnn": ConvolutionalReceiver,
    "fc1l": FC1LReceiver,
    "fc2l": FlatReceiver,
}
"""Receivers by name, where CELL stands for any name in `CELLS`; `make_receiver` builds them."""

DESCRIPTIONS: dict[str, str] = {
    "rnn": "Elman's simple recurrent network; rnn-2l: two layers; senders also rnn-z, rnn-2l-z: input of zeros",
    "gru": "gated recurrent units; also gru-2l, gru-z, gru-2l-z",
    "lstm": "long short-term memory; also lstm-2l, lstm-z, lstm-2l-z",
    "sru": "simple recurrent units; also sru-2l, sru-z, sru-2l-z",
    "sru-tanh": "simple recurrent units with tanh of the memory in the output, as in sru-z",
    "dgsend": "the cell found by architecture search for senders; also dgsend-2l, dgsend-z, dgsend-2l-z",
    "dgrecv": "the cell found by architecture search for receivers; also dgrecv-2l, dgrecv-z, dgrecv-2l-z",
    "husenda:CELL": "hierarchical HU-RNN with any cell above: a word level and a symbol level, autoregressive",
    "husendz:CELL": "hierarchical HU-RNN with any cell above: a word level and a symbol level, input of zeros",
    "hier:CELL": "hierarchical HU-RNN with any cell above; stop=first and reset=on as in the published program",
    "cnn": "convolution and pooling down to one position; option blocks=3 for fewer blocks",
    "fc1l": "one linear layer for the whole message",
    "fc2l": "two linear layers with tanh between them for the whole message; receivers also form=sum",
    "transformer": "a transformer decoder; transformer-2l: two layers; init=copied: equal initial weights",
}
"""One line per architecture. Most accept the option hidden=WIDTH: `lstm,hidden=1280`."""


def make_sender(
    spec: str | AgentSpec,
    *,
    num_features: int,
    vocab_size: int,
    max_len: int,
    hidden_size: int,
    embedding_size: int | None = None,
    style: Style = "egg",
) -> nn.Module:
    """Build a sender.

    Args:
        spec: Name and options, see `ecsuite.agents.spec`.
        num_features: Width of a meaning.
        vocab_size: Number of content symbols; EOS is added here.
        max_len: Maximum number of content symbols in a message.
        hidden_size: Width of the hidden state, unless the spec has the option `hidden`.
        embedding_size: Width of a symbol's embedding; None means `hidden_size`, which SRU always uses.
        style: See `Style`.

    Raises:
        ConfigError: If the spec has an unknown name.
    """
    spec = parse_agent("sender", spec) if isinstance(spec, str) else spec
    hidden = spec.number("hidden") or hidden_size
    meaning = {"num_features": num_features, "vocab_size": vocab_size}
    if spec.family in ("fc1l", "fc2l"):
        units = hidden if spec.family == "fc2l" else None
        return FeedForwardSender(**meaning, max_len=max_len, hidden_size=units)
    if spec.family == "transformer":
        init = cast(Literal["independent", "copied"], spec.option("init"))
        layers = spec.num_layers
        return TransformerSender(
            **meaning, max_len=max_len, hidden_size=hidden, num_layers=layers, init=init, style=style
        )
    assert spec.cell is not None
    widths = {"hidden_size": hidden, "embedding_size": _embedding_size(spec.cell, embedding_size, hidden)}
    zero_input = spec.zero_input or spec.family == "husendz:CELL"
    # The published program's SRU with input of zeros applies tanh to its memory, its other SRU does not.
    cell = "sru-tanh" if zero_input and spec.cell == "sru" else spec.cell
    if spec.family in CELLS:
        layers = spec.num_layers
        return RecurrentSender(
            **meaning, **widths, cell=cell, num_layers=layers, zero_input=zero_input, style=style
        )
    return HierarchicalSender(**meaning, **widths, cell=cell, zero_input=zero_input, style=style)


def make_receiver(
    spec: str | AgentSpec,
    *,
    vocab_size: int,
    max_len: int,
    hidden_size: int,
    embedding_size: int | None = None,
    style: Style = "egg",
) -> Receiver:
    """Build a receiver; its `state_size` is the width of its states.

    Args:
        spec: Name and options, see `ecsuite.agents.spec`.
        vocab_size: Number of content symbols; EOS is added here.
        max_len: Maximum number of content symbols in a message.
        hidden_size: Width of the hidden state, unless the spec has the option `hidden`.
        embedding_size: Width of a symbol's embedding; None means `hidden_size`, which SRU always uses.
        style: See `Style`.

    Raises:
        ConfigError: If the spec has an unknown name, or more blocks than `max_len` allows.
    """
    spec = parse_agent("receiver", spec) if isinstance(spec, str) else spec
    hidden = spec.number("hidden") or hidden_size
    if spec.family in POSITIONAL:
        return _make_positional(spec, vocab_size, max_len, hidden, embedding_size or hidden, style)
    assert spec.cell is not None
    widths = {"hidden_size": hidden, "embedding_size": _embedding_size(spec.cell, embedding_size, hidden)}
    if spec.family in CELLS:
        return RecurrentReceiver(
            vocab_size=vocab_size, **widths, cell=spec.cell, num_layers=spec.num_layers, style=style
        )
    stop = cast(Literal["each", "first"], spec.option("stop"))
    reset = spec.option("reset") == "on"
    return HierarchicalReceiver(
        vocab_size=vocab_size, **widths, cell=spec.cell, stop=stop, reset=reset, style=style
    )


POSITIONAL = ("cnn", "fc1l", "fc2l")
"""Receivers that need `max_len`."""


def _make_positional(
    spec: AgentSpec, vocab_size: int, max_len: int, hidden_size: int, embedding_size: int, style: Style
) -> PositionalReceiver:
    if spec.family == "fc1l":
        return FC1LReceiver(vocab_size=vocab_size, max_len=max_len, style=style)
    if spec.family == "fc2l":
        form = FC2L_FORMS[cast(Literal["flat", "sum"], spec.option("form"))]
        return form(vocab_size=vocab_size, max_len=max_len, hidden_size=hidden_size, style=style)
    return ConvolutionalReceiver(
        vocab_size=vocab_size,
        max_len=max_len,
        hidden_size=hidden_size,
        embedding_size=embedding_size,
        num_blocks=spec.number("blocks"),
        style=style,
    )


def _embedding_size(cell: str, embedding_size: int | None, hidden_size: int) -> int:
    """SRU adds its input to its output, so both have the same width."""
    return hidden_size if embedding_size is None or cell.startswith("sru") else embedding_size
