"""Parameter counts of agents: actual, and as counted in the paper that introduces ICY."""

from collections.abc import Callable

import torch
from torch import nn

from ecsuite.agents.spec import AgentSpec, Role
from ecsuite.eval.icy.models import make_agent, parse_model
from ecsuite.grammars.geometry import Geometry

PUBLISHED_GEOMETRY = Geometry()
"""The sizes of the paper's tables."""

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
    spec: str | AgentSpec, role: Role, geometry: Geometry = PUBLISHED_GEOMETRY, hidden_size: int = 128
) -> int:
    """Parameters as in the paper's tables: those of our agent in style icy, and those its program never used.

    Args:
        spec: Name and options.
        role: sender or receiver; a receiver is counted with its output layer.
        geometry: Sizes of the language.
        hidden_size: Width of states and embeddings, unless the spec has the option `hidden`.
    """
    spec = parse_model(role, spec) if isinstance(spec, str) else spec
    with torch.device("meta"):  # shapes without data
        agent = make_agent(spec, role, geometry, hidden_size)
    features = geometry.num_attributes * geometry.num_values
    width = spec.number("hidden") or hidden_size
    unused = (
        count(features, geometry.num_values, geometry.vocab_size + 1, width)
        for _, family_role, applies, count in NEVER_USED
        if family_role == role and applies(spec)
    )
    return parameter_count(agent) + sum(unused)
