"""Formal languages made of sentences, without meanings; each sentence is a message.

The families are those that Boldt & Mortensen (2025), "Searching for the most human-like emergent language", compare
emergent languages with. Symbols are drawn by Zipf-Mandelbrot's law. As many symbols are said as asked for, so
the last sentence may be cut. Sentences have no symbols for their begin and end: messages have borders.
"""

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError
from ecsuite.corpus import Corpus, Ragged
from ecsuite.grammars.frequencies import zipf_mandelbrot
from ecsuite.grammars.nesting import check_probability, close_any, close_innermost, depths


def dyck(
    num_symbols: int,
    rng: np.random.Generator,
    *,
    num_types: int = 30_000,
    open_probability: float = 0.5,
) -> Corpus:
    """Brackets of many kinds that nest: a sentence ends as its first bracket is closed.

    Each kind has a symbol that opens and one that closes: bracket k of n is opened by k and closed by n + k.
    At 0.5 sentences have no mean length (half of them have two symbols); above, some never end.

    Args:
        num_symbols: How many symbols to say in all.
        rng: Draws everything.
        num_types: Size of the vocabulary: twice the number of kinds of brackets.
        open_probability: How likely a bracket is opened rather than closed inside a sentence.

    Raises:
        ConfigError: If there is no vocabulary for one bracket, or no such probability.
    """
    depth, opened = _brackets(num_symbols, rng, num_types, open_probability)
    return _bracketed("dyck", depth, close_innermost(depth, opened), num_types, open_probability)


def shuffle_dyck(
    num_symbols: int,
    rng: np.random.Generator,
    *,
    num_types: int = 30_000,
    open_probability: float = 0.5,
) -> Corpus:
    """Brackets of many kinds that may cross: a sentence ends as nothing is open any more.

    As `dyck`, but any of the open brackets is closed, all as likely: the kinds are balanced, each for itself.

    Args:
        num_symbols: How many symbols to say in all.
        rng: Draws everything.
        num_types: Size of the vocabulary: twice the number of kinds of brackets.
        open_probability: How likely a bracket is opened rather than closed inside a sentence.

    Raises:
        ConfigError: If there is no vocabulary for one bracket, or no such probability.
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
    """Sentences of ten symbols, each said once or more: the regular language s1+ s2+ … s10+.

    The symbols of a sentence are drawn anew for each sentence, from the whole vocabulary.

    Args:
        num_symbols: How many symbols to say in all.
        rng: Draws everything.
        num_types: Size of the vocabulary.
        runs: Symbols of a sentence, repetitions not counted.
        repeat_probability: How likely a symbol is said once more; below 1.

    Raises:
        ConfigError: If a sentence would have no symbols, or no end.
    """
    if runs < 1:
        raise ConfigError(f"runs: expected at least 1, got {runs}")
    check_probability("repeat_probability", repeat_probability, below=1)
    is_new = rng.random(num_symbols) >= repeat_probability
    is_new[:1] = True
    run = np.cumsum(is_new) - 1
    symbols = rng.choice(num_types, size=int(is_new.sum()), p=zipf_mandelbrot(num_types))
    options = {"num_types": num_types, "runs": runs, "repeat_probability": repeat_probability}
    return _sentences("regular", symbols[run], is_new & (run % runs == 0), options)


def bag_of_words(
    num_symbols: int,
    rng: np.random.Generator,
    *,
    num_types: int = 30_000,
    stop_probability: float = 0.1,
) -> Corpus:
    """Sentences of symbols that have nothing to do with each other; only their length varies.

    Args:
        num_symbols: How many symbols to say in all.
        rng: Draws everything.
        num_types: Size of the vocabulary.
        stop_probability: How likely a sentence ends after each of its symbols; its inverse is the mean length.

    Raises:
        ConfigError: If it is not a probability.
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
    """The depth before each step and after the last, and the kind of bracket that it opens if it opens one."""
    check_probability("open_probability", open_probability)
    if num_types < 2:
        raise ConfigError(
            f"brackets need 2 symbols to open and to close, got {num_types}: raise --vocab-size"
        )
    kinds = rng.choice(num_types // 2, size=num_symbols, p=zipf_mandelbrot(num_types // 2))
    return depths(rng.random(num_symbols) < open_probability), kinds


def _bracketed(
    grammar: str,
    depth: NDArray[np.int64],
    kinds: NDArray[np.int64],
    num_types: int,
    open_probability: float,
) -> Corpus:
    symbols = kinds + num_types // 2 * (depth[1:] < depth[:-1])
    options = {"num_types": num_types // 2 * 2, "open_probability": open_probability}
    return _sentences(grammar, symbols, depth[:-1] == 0, options)


def _sentences(
    grammar: str, symbols: NDArray[np.int64], begins: NDArray[np.bool_], options: dict[str, float]
) -> Corpus:
    """Cut a stream where sentences begin, both (num_symbols,)."""
    offsets = np.append(np.flatnonzero(begins), len(symbols))
    messages = Ragged(symbols.astype(np.int32), offsets)
    return Corpus(messages=messages, metadata={"grammar": grammar, **options})
