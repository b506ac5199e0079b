"""Channels, message builders and noise."""
