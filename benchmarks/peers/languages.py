"""Corpora on which the programs and ecsuite are compared."""

import numpy as np

from ecsuite.benchmarks.corpus_size import NUM_VALUES, Form, Language
from ecsuite.corpus import Corpus

PAD = 0
"""EOS, which also fills a message up."""


def noisy(num_attributes: int = 3, noise: float = 0.3, num_messages: int = 500, seed: int = 1) -> Corpus:
    """A compositional language of fixed length with noise: words of one symbol."""
    language = Language(grammar="concat", num_attributes=num_attributes, noise=noise)
    return language.corpus(num_messages, seed, Form(has_ends=False))


def shortened(corpus: Corpus, seed: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """End each message at a random position, as a sender that says EOS.

    Returns:
        What the sender computed, with an EOS and the symbols after it; what it said, filled up with EOS; both of shape
        (num_messages, max_len + 1). And the meanings, (num_messages, num_attributes).
    """
    assert corpus.meanings is not None
    full = corpus.messages.values.reshape(len(corpus.messages), -1)
    rng = np.random.default_rng(seed)
    length = rng.integers(1, full.shape[1] + 1, size=len(full))
    place = np.arange(full.shape[1] + 1)
    computed = np.concatenate([full, np.full((len(full), 1), PAD)], axis=1)
    computed[np.arange(len(full)), length] = PAD
    computed[:, 1:-1] = np.where(place[1:-1] > length[:, None], full[:, 1:], computed[:, 1:-1])
    return computed, np.where(place < length[:, None], computed, PAD), corpus.meanings


def said(rows: np.ndarray, meanings: np.ndarray) -> Corpus:
    """A corpus of messages up to their first EOS."""
    return Corpus(rows.tolist(), eos=PAD, meanings=meanings)


__all__ = ["NUM_VALUES", "PAD", "noisy", "said", "shortened"]
