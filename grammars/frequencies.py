"""Symbol frequencies: from a distribution, or counted in a text."""

from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecsuite.formats import read_corpus
from ecsuite.formats.stored_text import stream_lines
from ecsuite.runtime.errors import ConfigError, CorpusError


def zipf_mandelbrot(num_types: int, *, exponent: float = 1.0, offset: float = 2.7) -> NDArray[np.float64]:
    """Probability of each rank, (num_types,), as 1 / (rank + offset)^exponent (Boldt & Mortensen 2024, equation 2)."""
    weights = (np.arange(1, num_types + 1) + offset) ** -exponent
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def unigrams(path: Path, num_types: int) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The most frequent words of a text, or symbols of a corpus, and their relative frequencies.

    Args:
        path: UTF-8 text, possibly compressed as .gz, whose words are separated by white space; or a corpus: a folder,
            or a file named .jsonl or .parquet, read as `read_corpus` does, without EOS.
        num_types: Maximum number of words.

    Returns:
        Words by decreasing frequency, ties in order of appearance (by id in a corpus); and their
        probabilities, shape (num_words,).

    Raises:
        CorpusError: If the file can't be read or has no words.
    """
    if path.is_dir() or path.suffix in (".jsonl", ".parquet"):
        corpus = read_corpus(path)
        dense, ids = corpus.reindexed()
        names = corpus.symbol_names or {i: str(i) for i in ids.tolist()}
        appearances = np.bincount(dense.values, minlength=len(ids)).tolist()
        counter = Counter({names[i]: count for i, count in zip(ids.tolist(), appearances, strict=True)})
    else:
        try:
            counter = Counter(word for line in stream_lines(path) for word in line.split())
        except ConfigError as error:
            raise CorpusError(str(error)) from None
    if not counter:
        raise CorpusError(f"{path}: expected words, found none")
    words, counts = zip(*counter.most_common(num_types), strict=True)
    frequencies = np.array(counts, dtype=np.float64)
    return words, frequencies / frequencies.sum()
