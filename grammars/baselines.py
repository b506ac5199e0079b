"""Languages without meanings, to compare others with: endless streams, cut into messages of equal length.

Parentheses and two kinds of noise are the synthetic and random baselines of XferBench (Boldt & Mortensen 2024,
section 4.2); `ecsuite.grammars.sentences` has baselines that are made of sentences.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError
from ecsuite.corpus import Corpus, Ragged
from ecsuite.grammars.frequencies import unigrams, zipf_mandelbrot
from ecsuite.grammars.nesting import check_probability, close_innermost, depths
from ecsuite.grammars.sentences import bag_of_words, dyck, regular, shuffle_dyck

MESSAGE_LENGTH = 256
OPEN_PROBABILITY = 0.4
"""Papadimitriou & Jurafsky (2020): below one half, so that pairs close soon (mean depth 2.5)."""


def zipf_parentheses(
    num_symbols: int,
    rng: np.random.Generator,
    *,
    num_types: int = 30_000,
    open_probability: float = OPEN_PROBABILITY,
) -> Corpus:
    """Nested pairs: every symbol is said twice, and pairs may enclose but never cross each other.

    At each step a new pair is opened, its symbol drawn by Zipf-Mandelbrot's law, or the innermost open pair
    is closed by saying its symbol again; with nothing open, one is opened. Pairs still open at the end stay
    open.

    XferBench's program opens with a probability of 0.5 (it sets 0.4, but does not use it). Then pairs stay open
    ever longer: the depth grows as the square root of the length, and has no mean.

    Args:
        num_symbols: How many symbols to say in all.
        rng: Draws everything.
        num_types: Size of the vocabulary.
        open_probability: How likely a pair is opened rather than closed.
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
    """Nested pairs whose symbols are as frequent as the words of a text.

    As `zipf_parentheses`, but with the frequencies of a real text, as Papadimitriou & Jurafsky (2020) have them
    ("nesting parentheses" over the vocabulary of a language). Rarer words are left out.

    Args:
        num_symbols: How many symbols to say in all.
        rng: Draws everything.
        text: A text, or a corpus (see `unigrams`).
        num_types: Most words taken from the text.
        open_probability: How likely a pair is opened rather than closed.

    Raises:
        ConfigError: If there is no text.
    """
    if text is None:
        raise ConfigError("text_parentheses: expected a text to take frequencies from: give --text FILE")
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
    """Symbols drawn one by one by Zipf-Mandelbrot's law: human-like frequencies, and no structure."""
    stream = rng.choice(num_types, size=num_symbols, p=zipf_mandelbrot(num_types))
    return _corpus(stream, grammar="zipf_noise", num_types=num_types)


def uniform_noise(num_symbols: int, rng: np.random.Generator, *, num_types: int = 30_000) -> Corpus:
    """Symbols drawn one by one, all alike: nothing to learn."""
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


BASELINES: dict[str, Callable[..., Corpus]] = {
    "zipf_parentheses": zipf_parentheses,
    "text_parentheses": text_parentheses,
    "dyck": dyck,
    "shuffle_dyck": shuffle_dyck,
    "regular": regular,
    "bag_of_words": bag_of_words,
    "zipf_noise": zipf_noise,
    "uniform_noise": uniform_noise,
}
"""All baselines by name; each is called as `(num_symbols, rng, num_types=…)`, and has options of its own."""
