"""Parts by name: registries with their options, configs, and users' own code."""
