"""Languages without meanings, to compare others with: parentheses and two kinds of noise.

They are the synthetic and random baselines of XferBench (Boldt & Mortensen 2024, section 4.2). Each is one
endless stream cut into messages of equal length.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus, Ragged

MESSAGE_LENGTH = 256
OPEN_PROBABILITY = 0.4
"""Papadimitriou & Jurafsky (2020): below one half, so that pairs close soon (mean depth 2.5)."""


def zipf_mandelbrot(num_types: int, *, exponent: float = 1.0, offset: float = 2.7) -> NDArray[np.float64]:
    """Probability of each rank, as 1 / (rank + offset)^exponent (Boldt & Mortensen 2024, equation 2).

    Returns:
        Probabilities, shape (num_types,), falling.
    """
    weights = (np.arange(1, num_types + 1) + offset) ** -exponent
    return np.asarray(weights / weights.sum(), dtype=np.float64)


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

    Args:
        num_symbols: How many symbols to say in all.
        rng: Draws everything.
        num_types: Size of the vocabulary.
        open_probability: How likely a pair is opened rather than closed.
    """
    opened = rng.choice(num_types, size=num_symbols, p=zipf_mandelbrot(num_types)).tolist()
    opens = (rng.random(num_symbols) < open_probability).tolist()
    stack: list[int] = []
    stream: list[int] = []
    for symbol, opening in zip(opened, opens, strict=True):
        if opening or not stack:
            stack.append(symbol)
            stream.append(symbol)
        else:
            stream.append(stack.pop())
    return _corpus(stream, grammar="zipf_parentheses", num_types=num_types, open_probability=open_probability)


def zipf_noise(num_symbols: int, rng: np.random.Generator, *, num_types: int = 30_000) -> Corpus:
    """Symbols drawn one by one by Zipf-Mandelbrot's law: human-like frequencies, and no structure."""
    stream = rng.choice(num_types, size=num_symbols, p=zipf_mandelbrot(num_types))
    return _corpus(stream, grammar="zipf_noise", num_types=num_types)


def uniform_noise(num_symbols: int, rng: np.random.Generator, *, num_types: int = 30_000) -> Corpus:
    """Symbols drawn one by one, all alike: nothing to learn."""
    return _corpus(rng.integers(num_types, size=num_symbols), grammar="uniform_noise", num_types=num_types)


def _corpus(stream: list[int] | NDArray[np.int64], **metadata: str | float) -> Corpus:
    values = np.asarray(stream, dtype=np.int32)
    offsets = np.append(np.arange(0, len(values), MESSAGE_LENGTH), len(values))
    return Corpus(messages=Ragged(values, offsets), metadata=metadata)


BASELINES: dict[str, Callable[..., Corpus]] = {
    "zipf_parentheses": zipf_parentheses,
    "zipf_noise": zipf_noise,
    "uniform_noise": uniform_noise,
}
"""All baselines by name; each is called as `(num_symbols, rng, num_types=…)`."""
