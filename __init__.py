"""ecsuite: train agents that invent languages, and measure the languages they invent."""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ecsuite.version import __version__

if TYPE_CHECKING:
    from ecsuite.api import (
        compare,
        icy,
        language_similarity,
        list_parts,
        load_run,
        methods,
        pull,
        push,
        report,
        results,
        score,
        sweep,
        train,
        verify,
    )
    from ecsuite.corpus import Corpus
    from ecsuite.formats import read_corpus, write_corpus
    from ecsuite.runtime.errors import CorpusError
    from ecsuite.runtime.ragged import Ragged

if sys.platform == "darwin":
    # Torch reads this when it is imported: operations without MPS support run on the CPU, with a warning.
    os.environ.setdefault("PYTORCH_ENABLE_MPS_FALLBACK", "1")

_PLACES = {
    "Corpus": "corpus",
    "CorpusError": "runtime.errors",
    "Ragged": "corpus",
    "compare": "api",
    "icy": "api",
    "language_similarity": "api",
    "list_parts": "api",
    "load_run": "api",
    "methods": "api",
    "pull": "api",
    "push": "api",
    "read_corpus": "formats",
    "report": "api",
    "results": "api",
    "score": "api",
    "sweep": "api",
    "train": "api",
    "verify": "api",
    "write_corpus": "formats",
}
"""Module of each public name; imported when the name is used."""

__all__ = [
    "Corpus",
    "CorpusError",
    "Ragged",
    "__version__",
    "compare",
    "icy",
    "language_similarity",
    "list_parts",
    "load_run",
    "methods",
    "pull",
    "push",
    "read_corpus",
    "report",
    "results",
    "score",
    "sweep",
    "train",
    "verify",
    "write_corpus",
]


def __getattr__(name: str) -> Any:
    """Import the object of a public name."""
    if name not in _PLACES:
        raise AttributeError(f"module 'ecsuite' has no attribute '{name}'")
    return getattr(import_module(f"ecsuite.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    """The public names."""
    return __all__
