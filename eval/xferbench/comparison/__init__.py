"""Comparison of XferBench results: differences, published scores, writing systems, correlation with translation."""
