"""Parts by name: registries with options, configs, and user code."""
