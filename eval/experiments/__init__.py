"""Sweeps: one game with many settings and seeds, trained and scored."""
