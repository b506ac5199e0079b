"""Methods section of a paper, from the files of runs, sweeps and corpora."""
