"""Speakers, listeners and pairs: who meets whom, what agents learn, and who is replaced when."""
