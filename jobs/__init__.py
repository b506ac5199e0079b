"""Long work: jobs with keys, their kept results, and the processes that run them."""
