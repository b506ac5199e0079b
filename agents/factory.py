"""Building of agents from their names, as in ICY and tests; a game builds agents from sections of its config."""

from typing import Any

from torch import nn

from ecsuite.agents.options import Style
from ecsuite.agents.receivers import Receiver
from ecsuite.agents.registry import RECEIVERS, SENDERS
from ecsuite.agents.spec import AgentName, parse_agent
from ecsuite.parts.registry import KIND, Registry, option_types, read_options


def make_sender(
    spec: str | AgentName,
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
    made, options = _options(SENDERS, spec, hidden_size, embedding_size, style)
    sender: nn.Module = made(options, num_features=num_features, vocab_size=vocab_size, max_len=max_len)
    return sender


def make_receiver(
    spec: str | AgentName,
    *,
    vocab_size: int,
    max_len: int,
    hidden_size: int,
    embedding_size: int | None = None,
    style: Style = "egg",
) -> Receiver:
    """Build a receiver, whose `state_size` is the width of its states; for the arguments, see `make_sender`.

    Raises:
        ConfigError: If the spec has an unknown name, or more blocks than `max_len` allows.
    """
    spec = parse_agent("receiver", spec) if isinstance(spec, str) else spec
    made, options = _options(RECEIVERS, spec, hidden_size, embedding_size, style)
    receiver: Receiver = made(options, vocab_size=vocab_size, max_len=max_len)
    return receiver


def _options(
    registry: Registry, spec: AgentName, hidden_size: int, embedding_size: int | None, style: Style
) -> tuple[Any, Any]:
    """Class of a named agent and its options, with these sizes if the class has them."""
    section = spec.section()
    made = registry.load(section.pop(KIND))
    hidden = section.pop("hidden_size", hidden_size)
    sizes = {"hidden_size": hidden, "embedding_size": embedding_size or hidden, "style": style}
    known = option_types(made.Options)
    values = section | {key: value for key, value in sizes.items() if key in known}
    return made, read_options(made.Options, values, registry.word)
