"""Worlds: sources of meanings."""
