"""Verification: what the files of a source claim, held against what comes out when it is computed again."""
