"""Artificial languages: what is said without any agents.

`geometry`, `words`, `corruptions`, `icy`: languages that say meanings, more or less compositionally. `baselines`,
`sentences` with the help of `nesting` and `frequencies`: languages without meanings. `making`: a corpus of any.
"""

from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.icy import Language, language, majority_accuracy
from ecsuite.grammars.making import GRAMMARS, make_corpus

__all__ = ["GRAMMARS", "Geometry", "Language", "language", "majority_accuracy", "make_corpus"]
