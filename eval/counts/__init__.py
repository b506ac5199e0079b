"""Occurrences of words and meanings in a corpus: labels, positions, co-occurrences, and units of permutations."""
