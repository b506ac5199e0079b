"""Jobs with cache keys, their cached results, the process pool that runs them, and the signals that stop them."""
