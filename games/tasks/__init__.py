"""Tasks, their losses, chance levels and views."""
