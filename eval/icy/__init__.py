"""Experiments of the ICY paper: how fast models learn compositional languages, and metrics of these languages."""
