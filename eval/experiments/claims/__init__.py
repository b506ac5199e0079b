"""Claims of published work: an experiment and a criterion each, their runs, and verdicts by fixed rules."""
