"""Tables, pages and figures of results."""
