"""Gradients derived by hand, for many replicas of an agent at once; `agents` defines the models that they equal."""
