"""Worlds: the sources of meanings, one world per file."""
