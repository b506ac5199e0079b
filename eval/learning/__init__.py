"""Models, their data and their training loops; independent of the benchmarks."""
