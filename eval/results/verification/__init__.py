"""Verification: the claims of files compared with what is computed again."""
