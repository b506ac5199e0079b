"""Worlds: where meanings come from, a world a file."""
