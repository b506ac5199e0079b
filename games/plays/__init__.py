"""Plays: the rules by which agents and a world make interactions, from which corpora come."""
