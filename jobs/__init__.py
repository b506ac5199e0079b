"""Jobs with cache keys, their cached results, and the process pool that runs them."""
