"""Claims of published work that run themselves again: their files, their runs, and the rules of their verdicts."""
