"""Machine and errors: devices, memory, random numbers, provenance, and exceptions for users."""
