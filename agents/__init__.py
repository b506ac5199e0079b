"""Agents: recurrent cells, senders, receivers, and the message type."""
