"""Pages and pictures of games and corpora."""
