"""What benchmarks have in common: how their studies are read, run, and turned into results."""
