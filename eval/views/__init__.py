"""Scores and corpora as text, figures and pages."""
