"""Experiments of the CBM paper (Carmeli et al. 2024): games are trained and their corpora scored in one table."""
