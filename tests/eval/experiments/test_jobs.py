"""What kept results of runs hold."""
