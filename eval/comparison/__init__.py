"""Scores of several sources side by side: reading files, paired differences, correction for many pairs."""
