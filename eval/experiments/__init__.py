"""Experiments: studies, their jobs and their results."""
