"""One HTML page about runs, sweeps, searches, corpora and files of scores."""
