"""The record table: what is known of runs, corpora and files of scores, read in one way for all that groups it."""
