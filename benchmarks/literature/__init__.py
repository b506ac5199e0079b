"""Published figures held against ecsuite: languages whose score is known, and metrics read in several ways."""
