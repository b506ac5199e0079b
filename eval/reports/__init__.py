"""Output of results: tables, JSON and figures."""
