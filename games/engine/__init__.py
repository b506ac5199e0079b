"""Computation of a training step: pairs in parallel, gradients, optimizers and schedules."""
