"""Environments: worlds with steps, in which agents act and speak."""
