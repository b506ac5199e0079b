"""Baseline languages without meanings: streams of symbols, cut into messages of equal length.

Parentheses and two kinds of noise are the synthetic and random baselines of XferBench (Boldt & Mortensen 2024,
section 4.2); `ecsuite.grammars.sentences` has baselines that consist of sentences. All have `num_symbols` symbols over
a vocabulary of `num_types`.
"""

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.grammars.frequencies import unigrams, zipf_mandelbrot
from ecsuite.grammars.nesting import check_probability, close_innermost, depths
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.ragged import Ragged

MESSAGE_LENGTH = 256
OPEN_PROBABILITY = 0.4
"""Probability of an opening bracket (Papadimitriou & Jurafsky 2020); below 0.5, the depth has a finite mean (2.5)."""


def zipf_parentheses(
    num_symbols: int,
    rng: np.random.Generator,
    *,
    num_types: int = 30_000,
    open_probability: float = OPEN_PROBABILITY,
) -> Corpus:
    """Nested pairs: every symbol occurs twice, and pairs may enclose but never cross each other.

    Each step either opens a new pair, whose symbol is drawn from a Zipf-Mandelbrot distribution, or closes the
    innermost open pair by repeating its symbol; if no pair is open, it opens one. Pairs that are open at the end
    are not closed.

    XferBench's program opens with a probability of 0.5 (it sets 0.4, but does not use it), at which the depth has no
    finite mean: it grows with the square root of the length.
    """
    stream = _parentheses(num_symbols, rng, zipf_mandelbrot(num_types), open_probability)
    return _corpus(stream, grammar="zipf_parentheses", num_types=num_types, open_probability=open_probability)


def text_parentheses(
    num_symbols: int,
    rng: np.random.Generator,
    *,
    text: Path | None = None,
    num_types: int = 30_000,
    open_probability: float = OPEN_PROBABILITY,
) -> Corpus:
    """Nested pairs whose symbols have the word frequencies of a text.

    As `zipf_parentheses`, with the frequencies of a text or a corpus (see `unigrams`), as in Papadimitriou & Jurafsky
    (2020) ("nesting parentheses" over the vocabulary of a language). Only the `num_types` most frequent words are used.

    Raises:
        ConfigError: If no text is given.
    """
    if text is None:
        raise ConfigError(
            "text_parentheses: expected a text with word frequencies, got none: give --text FILE"
        )
    words, probabilities = unigrams(text, num_types)
    stream = _parentheses(num_symbols, rng, probabilities, open_probability)
    digest = hashlib.sha256("\n".join(words).encode() + probabilities.tobytes()).hexdigest()[:12]
    return _corpus(
        stream,
        symbol_names=words,
        grammar="text_parentheses",
        num_types=len(words),
        open_probability=open_probability,
        text=digest,
    )


def zipf_noise(num_symbols: int, rng: np.random.Generator, *, num_types: int = 30_000) -> Corpus:
    """Independent symbols from a Zipf-Mandelbrot distribution: natural frequencies, but no structure."""
    stream = rng.choice(num_types, size=num_symbols, p=zipf_mandelbrot(num_types))
    return _corpus(stream, grammar="zipf_noise", num_types=num_types)


def uniform_noise(num_symbols: int, rng: np.random.Generator, *, num_types: int = 30_000) -> Corpus:
    """Independent symbols from the uniform distribution: no structure to learn."""
    return _corpus(rng.integers(num_types, size=num_symbols), grammar="uniform_noise", num_types=num_types)


def _parentheses(
    num_symbols: int, rng: np.random.Generator, probabilities: NDArray[np.float64], open_probability: float
) -> NDArray[np.int64]:
    check_probability("open_probability", open_probability)
    opened = rng.choice(len(probabilities), size=num_symbols, p=probabilities)
    return close_innermost(depths(rng.random(num_symbols) < open_probability), opened)


def _corpus(
    stream: NDArray[np.int64], symbol_names: tuple[str, ...] | None = None, **metadata: str | float
) -> Corpus:
    values = stream.astype(np.int32)
    offsets = np.append(np.arange(0, len(values), MESSAGE_LENGTH), len(values))
    return Corpus(messages=Ragged(values, offsets), symbol_names=symbol_names, metadata=metadata)
