"""Semantic spaces: what a language can be about, how alike meanings are, and how often each is needed.

`space`: a space. `kinds`: where spaces come from, with their options. `colour`: that of the World Color Survey. `need`:
how often each meaning is needed.
"""
