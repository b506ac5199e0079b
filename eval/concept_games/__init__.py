"""The experiments of the CBM paper (Carmeli et al. 2024): games trained, and their languages scored, side by side."""
