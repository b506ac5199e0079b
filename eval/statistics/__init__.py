"""Counting, resampling, intervals, tests and correlations: the statistics that metrics and benchmarks share."""
