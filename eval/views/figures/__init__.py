"""Figures of languages, scores and runs."""
