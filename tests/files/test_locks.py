"""Locks: who holds one is named, they end with their process, and file systems without them are told of."""
