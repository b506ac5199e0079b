"""Agents: recurrent cells, senders, receivers, and the message type."""

from ecsuite.agents.factory import DESCRIPTIONS, RECEIVERS, SENDERS, make_receiver, make_sender
from ecsuite.agents.spec import AgentSpec, parse_agent

__all__ = [
    "DESCRIPTIONS",
    "RECEIVERS",
    "SENDERS",
    "AgentSpec",
    "make_receiver",
    "make_sender",
    "parse_agent",
]
