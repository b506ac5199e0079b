"""The methods section of a paper, from what runs, sweeps and corpora say of themselves."""
