"""Settings of experiments, their sources, and registries of parts."""
