"""Comparison of XferBench scores: reading results, paired differences, normalised scores."""
