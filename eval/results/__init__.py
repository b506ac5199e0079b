"""Scores of runs and corpora: stored, read, compared, verified."""
