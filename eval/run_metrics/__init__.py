"""Metrics of a run, `(run, options) -> list[Score]`: they ask its agents, where those of a corpus read its messages.

They are in the registry of metrics, and asked for by name: `ecsuite score runs/a --metrics rsa`.
"""
