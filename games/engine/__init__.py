"""Engines that run pairs."""
