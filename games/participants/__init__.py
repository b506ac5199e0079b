"""Participants: speakers and listeners in plays of rounds, which are not trained by the play."""
