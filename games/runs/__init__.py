"""Run folders and runs."""
