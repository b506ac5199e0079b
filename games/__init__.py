"""Worlds, games, channels, and the training that ends in a corpus."""
