"""Formal languages of sentences, without meanings; each sentence is a message.

Boldt & Mortensen (2025), "Searching for the most human-like emergent language", compare emergent languages with these
families. Symbols are drawn from a Zipf-Mandelbrot distribution over a vocabulary of `num_types`. A corpus has exactly
`num_symbols` symbols, so the last sentence may be cut. No symbols mark the beginning and end of a sentence.
"""

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Corpus
from ecsuite.grammars.frequencies import zipf_mandelbrot
from ecsuite.grammars.nesting import check_probability, close_any, close_innermost, depths
from ecsuite.runtime.errors import ConfigError, shown
from ecsuite.runtime.ragged import Ragged

MAX_RUNS = 2**30
"""Maximum number of runs of a sentence of `regular`."""


def dyck(
    num_symbols: int, rng: np.random.Generator, *, num_types: int = 30_000, open_probability: float = 0.5
) -> Corpus:
    """Nested brackets of many kinds: a sentence ends when its first bracket is closed.

    Each kind has an opening and a closing symbol: bracket k of n is opened by k and closed by n + k. At an
    `open_probability` of 0.5 the sentence length has no finite mean (half of the sentences have two symbols);
    above 0.5, some sentences never end. `open_probability` is the probability that a step inside a sentence opens a
    bracket instead of closing one.

    Raises:
        ConfigError: If `num_types` is below 2, or `open_probability` is not a probability.
    """
    depth, opened = _brackets(num_symbols, rng, num_types, open_probability)
    return _bracketed("dyck", depth, close_innermost(depth, opened), num_types, open_probability)


def shuffle_dyck(
    num_symbols: int, rng: np.random.Generator, *, num_types: int = 30_000, open_probability: float = 0.5
) -> Corpus:
    """Brackets of many kinds that may cross: a sentence ends when no bracket is open.

    As `dyck`, but each open bracket is equally likely to be closed: each kind by itself is balanced.
    """
    depth, opened = _brackets(num_symbols, rng, num_types, open_probability)
    return _bracketed("shuffle_dyck", depth, close_any(depth, opened, rng), num_types, open_probability)


def regular(
    num_symbols: int,
    rng: np.random.Generator,
    *,
    num_types: int = 30_000,
    runs: int = 10,
    repeat_probability: float = 0.4,
) -> Corpus:
    """Sentences of ten symbols, each repeated once or more: the regular language s1+ s2+ … s10+.

    The symbols of each sentence, `runs` without repetitions, are drawn independently from the whole vocabulary;
    `repeat_probability` is the probability of each further repetition of a symbol.

    Raises:
        ConfigError: If `runs` is not from 1 to `MAX_RUNS`, or `repeat_probability` is not at least 0 and below 1.
    """
    if not 1 <= runs <= MAX_RUNS:
        raise ConfigError(f"runs: expected 1 to {MAX_RUNS:,}, got {shown(runs)}")
    check_probability("repeat_probability", repeat_probability, below=1)
    is_new = rng.random(num_symbols) >= repeat_probability
    is_new[:1] = True
    run = np.cumsum(is_new) - 1
    symbols = rng.choice(num_types, size=int(is_new.sum()), p=zipf_mandelbrot(num_types))
    options = {"num_types": num_types, "runs": runs, "repeat_probability": repeat_probability}
    return _sentences("regular", symbols[run], is_new & (run % runs == 0), options)


def bag_of_words(
    num_symbols: int, rng: np.random.Generator, *, num_types: int = 30_000, stop_probability: float = 0.1
) -> Corpus:
    """Sentences of independent symbols, of geometrically distributed length.

    A sentence ends after each of its symbols with `stop_probability`, whose inverse is the mean length.

    Raises:
        ConfigError: If `stop_probability` is not a probability.
    """
    check_probability("stop_probability", stop_probability)
    symbols = rng.choice(num_types, size=num_symbols, p=zipf_mandelbrot(num_types))
    begins = np.ones(num_symbols, dtype=bool)
    begins[1:] = rng.random(num_symbols)[1:] < stop_probability
    options = {"num_types": num_types, "stop_probability": stop_probability}
    return _sentences("bag_of_words", symbols, begins, options)


def _brackets(
    num_symbols: int, rng: np.random.Generator, num_types: int, open_probability: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Depth before each step and after the last step, and the kind of bracket of each opening step."""
    check_probability("open_probability", open_probability)
    if num_types < 2:
        raise ConfigError(f"brackets: expected at least 2 symbols, got {num_types}: raise --vocab-size")
    kinds = rng.choice(num_types // 2, size=num_symbols, p=zipf_mandelbrot(num_types // 2))
    return depths(rng.random(num_symbols) < open_probability), kinds


def _bracketed(
    grammar: str, depth: NDArray[np.int64], kinds: NDArray[np.int64], num_types: int, open_probability: float
) -> Corpus:
    symbols = kinds + num_types // 2 * (depth[1:] < depth[:-1])
    options = {"num_types": num_types // 2 * 2, "open_probability": open_probability}
    return _sentences(grammar, symbols, depth[:-1] == 0, options)


def _sentences(
    grammar: str, symbols: NDArray[np.int64], begins: NDArray[np.bool_], options: dict[str, float]
) -> Corpus:
    """Split a stream into sentences; `begins` is true at the first symbol of each sentence; both (num_symbols,)."""
    offsets = np.append(np.flatnonzero(begins), len(symbols))
    messages = Ragged(symbols.astype(np.int32), offsets)
    return Corpus(messages=messages, metadata={"grammar": grammar, **options})
