"""Participants: who speaks and listens in plays of rounds, without being trained by them."""
