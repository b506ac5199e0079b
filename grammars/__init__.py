"""Artificial languages: functions that make a corpus without any agents."""

from collections.abc import Callable

from ecsuite.corpus import Corpus
from ecsuite.grammars.baselines import BASELINES

GRAMMARS: dict[str, Callable[..., Corpus]] = dict(BASELINES)
"""Grammars by the names that users write."""
