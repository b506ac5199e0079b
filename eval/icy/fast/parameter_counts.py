"""Parameter counts of agents: actual, and as counted in the paper that introduces ICY."""

from collections.abc import Callable

import torch
from torch import nn

from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.receivers import AttributeClassifier
from ecsuite.agents.spec import AgentSpec, Role, parse_agent

NEVER_USED: tuple[tuple[str, Role, Callable[[AgentSpec], bool], Callable[[int, int, int, int], int]], ...] = (
    (
        "HUSendA: a linear map of the one-hot meaning, in addition to the embedding of meanings",
        "sender",
        lambda spec: spec.family == "husenda:CELL",
        lambda features, values, symbols, hidden: features * hidden + hidden,
    ),
    (
        "recurrent receivers: a map from the state to the values of one attribute",
        "receiver",
        lambda spec: spec.family == spec.cell,
        lambda features, values, symbols, hidden: hidden * values + values,
    ),
    (
        "a second embedding of symbols, for messages of weights, with the values of the first",
        "receiver",
        lambda spec: spec.family not in ("fc1l", "fc2l"),
        lambda features, values, symbols, hidden: symbols * hidden,
    ),
)
"""Parameters that the published program creates and counts but never uses: description, role, function that selects
agents, and function from (num_features, num_values, symbols including the start symbol, hidden) to their number."""


def parameter_count(module: nn.Module) -> int:
    """Number of parameters of a module."""
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
    """Parameters as in the paper's tables: those of our agent in style icy, and those its program never used.

    Args:
        spec: Name and options.
        role: sender or receiver; a receiver is counted with its output layer.
        num_attributes: Number of attributes of a meaning.
        num_values: Number of values of an attribute.
        vocab_size: Number of content symbols.
        length: Number of symbols in a message.
        hidden: Width of states and embeddings, unless the spec has the option `hidden`.
    """
    spec = parse_agent(role, spec) if isinstance(spec, str) else spec
    features = num_attributes * num_values
    with torch.device("meta"):  # shapes without data
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
        for _, family_role, applies, count in NEVER_USED
        if family_role == role and applies(spec)
    )
    return parameter_count(agent) + sum(unused)
