"""Comparison of settings on the HTML page."""
