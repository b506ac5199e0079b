"""Training of experiments."""
