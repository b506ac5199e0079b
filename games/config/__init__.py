"""Settings of experiments and the registries of their parts."""
