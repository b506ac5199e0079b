"""ecsuite: train agents that invent languages, and measure the languages they invent."""

from ecsuite.corpus import Corpus, CorpusError, Ragged
from ecsuite.formats import read_corpus, write_corpus

__version__ = "0.1.0"

__all__ = ["Corpus", "CorpusError", "Ragged", "__version__", "read_corpus", "write_corpus"]
