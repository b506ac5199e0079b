"""Experiments: studies, their jobs and what comes out of them."""
