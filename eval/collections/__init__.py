"""Whole collections of corpora: scored as jobs, in one table, and how metrics correlate over the corpora."""
