"""Semantic spaces: meanings, their similarity, and the need probability of each.

`space`: a space. `kinds`: sources of spaces, with their options. `colour`: the space of the World Color Survey. `need`:
need probabilities.
"""
