"""Worlds with steps, in which agents act and speak."""
