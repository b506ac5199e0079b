"""Statistics used by metrics and benchmarks: counting, resampling, intervals, tests and correlations."""
