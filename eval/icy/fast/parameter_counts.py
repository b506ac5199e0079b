"""How many parameters an agent has: its own, and as the paper that introduces ICY counts them."""

from collections.abc import Callable

import torch
from torch import nn

from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.receivers import AttributeClassifier
from ecsuite.agents.spec import AgentSpec, Role, parse_agent

NEVER_USED: tuple[tuple[str, Role, Callable[[AgentSpec], bool], Callable[[int, int, int, int], int]], ...] = (
    (
        "a linear map of the one-hot meaning that HUSendA makes beside its embedding of meanings",
        "sender",
        lambda spec: spec.family == "husenda:CELL",
        lambda features, values, symbols, hidden: features * hidden + hidden,
    ),
    (
        "a map from the state to one attribute's values, made by recurrent receivers",
        "receiver",
        lambda spec: spec.family == spec.cell,
        lambda features, values, symbols, hidden: hidden * values + values,
    ),
    (
        "the embedding of symbols once more, for messages that are weights: its numbers are those of the first",
        "receiver",
        lambda spec: spec.family not in ("fc1l", "fc2l"),
        lambda features, values, symbols, hidden: symbols * hidden,
    ),
)
"""Parameters that the published program makes and counts but never uses: what, whose, which agents, and how many of
(num_features, num_values, symbols with the start, hidden)."""


def parameter_count(module: nn.Module) -> int:
    """Parameters of a module."""
    return sum(parameter.numel() for parameter in module.parameters())


def published_parameters(
    spec: str | AgentSpec,
    role: Role,
    *,
    num_attributes: int = 5,
    num_values: int = 10,
    vocab_size: int = 4,
    length: int = 20,
    hidden: int = 128,
) -> int:
    """Parameters as the paper's tables have them: ours in style icy, and those that its program never used.

    Args:
        spec: Name and options.
        role: sender or receiver; a receiver is counted with its answer.
        num_attributes: Attributes of a meaning.
        num_values: Values of an attribute.
        vocab_size: Content symbols.
        length: Symbols in a message.
        hidden: Width of states and embeddings, unless the spec says.
    """
    spec = parse_agent(role, spec) if isinstance(spec, str) else spec
    features = num_attributes * num_values
    with torch.device("meta"):  # sizes without numbers
        if role == "sender":
            agent = make_sender(
                spec,
                num_features=features,
                vocab_size=vocab_size,
                max_len=length,
                hidden_size=hidden,
                style="icy",
            )
        else:
            receiver = make_receiver(
                spec, vocab_size=vocab_size, max_len=length, hidden_size=hidden, style="icy"
            )
            agent = AttributeClassifier(receiver, num_attributes, num_values)
    width = spec.number("hidden") or hidden
    unused = (
        count(features, num_values, vocab_size + 1, width)
        for _, whose, applies, count in NEVER_USED
        if whose == role and applies(spec)
    )
    return parameter_count(agent) + sum(unused)
