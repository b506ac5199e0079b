"""Tasks: losses, chance levels and views."""
