"""Plays: what turns agents and a world into interactions, from which corpora come."""
