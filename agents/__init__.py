"""Agents: recurrent cells, senders, receivers, and the message type."""

from ecsuite.agents.factory import make_receiver, make_sender
from ecsuite.agents.spec import AgentSpec, parse_agent

__all__ = ["AgentSpec", "make_receiver", "make_sender", "parse_agent"]
