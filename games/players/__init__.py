"""Societies: more than two agents, who meets whom, and who is replaced when."""
