"""Settings of experiments, the sources that they name, and the registries of their parts."""
