"""Worlds, games, channels, and the training loop, which ends with a corpus."""
