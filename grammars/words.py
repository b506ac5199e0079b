"""Random words, random messages, and their random generators.

In these modules symbols are numbered 0 to vocab_size - 1; in `GrammarLanguage` they are content ids from 1.
"""

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.grammars.geometry import Geometry
from ecsuite.runtime.errors import ConfigError

Symbols = NDArray[Any]
"""Symbols in the smallest sufficient integer type."""

IID_FROM = 1000
"""Random messages are drawn independently if there are at least this many possible messages per meaning."""


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The random generator for one purpose, independent of the generators for other purposes."""
    if seed < 0:
        raise ConfigError(f"--seed: expected at least 0, got {seed}")
    return np.random.default_rng(np.random.SeedSequence([seed, *purpose.encode()]))


def symbol_type(vocab_size: int) -> np.dtype[Any]:
    """The smallest type that holds content ids up to `vocab_size`."""
    for kind in (np.uint8, np.uint16):
        if vocab_size <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.int32)


def all_meanings(geometry: Geometry) -> NDArray[np.int64]:
    """Attribute values of all meanings in order, (num_meanings, num_attributes); the last attribute changes fastest."""
    powers = np.arange(geometry.num_attributes - 1, -1, -1)
    index = np.arange(geometry.num_meanings)
    return np.stack([index // geometry.num_values ** int(k) % geometry.num_values for k in powers], axis=1)


def has_distinct_words(geometry: Geometry) -> bool:
    """Whether there are enough words to give all values of all attributes different words."""
    num_words = int(geometry.vocab_size**geometry.word_length)
    return num_words >= geometry.num_attributes * geometry.num_values


def draw_words(geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Draw a word for each value of each attribute, (num_attributes, num_values, word_length) (section 3.1.1).

    The paper requires a bijection between the values of an attribute and their words. Its program draws words
    that also differ between attributes, as does this function if there are enough words. If not, words of different
    attributes may be equal (see `has_distinct_words`).

    Raises:
        ConfigError: If there are fewer words than values.
    """
    num_attributes, num_values, length = geometry.num_attributes, geometry.num_values, geometry.word_length
    num_words = geometry.vocab_size**length
    if num_words < num_values:
        raise ConfigError(_too_few_words(geometry))
    if has_distinct_words(geometry):
        words = distinct_rows(num_attributes * num_values, length, geometry.vocab_size, rng)
        return words.reshape(num_attributes, num_values, length)
    return np.stack(
        [distinct_rows(num_values, length, geometry.vocab_size, rng) for _ in range(num_attributes)]
    )


def concatenate(words: Symbols, meanings: NDArray[np.int64]) -> Symbols:
    """Concatenate the words of a meaning's attribute values (CONCAT, section 3.1.1).

    Args:
        words: Shape (num_attributes, num_values, word_length).
        meanings: Shape (num_meanings, num_attributes).

    Returns:
        Messages, shape (num_meanings, num_attributes * word_length).
    """
    return words[np.arange(len(words)), meanings].reshape(len(meanings), -1)


def draw_messages(geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Draw a random message for each meaning, (num_meanings, message_length) (HOL, section 3.1.2).

    If there are fewer than a thousand possible messages per meaning, all messages are different. Otherwise they are
    drawn independently, as in the paper's program, and are very rarely equal.

    Raises:
        ConfigError: If there are fewer messages than meanings.
    """
    num_meanings, length, vocab_size = geometry.num_meanings, geometry.message_length, geometry.vocab_size
    num_messages = vocab_size**length
    if num_messages < num_meanings:
        raise ConfigError(
            f"{num_meanings:,} meanings need {num_meanings:,} different messages, but messages of {length} "
            f"symbols over {vocab_size} make only {num_messages:,}: raise --word-length or --vocab-size"
        )
    if num_messages >= IID_FROM * num_meanings:
        return rng.integers(vocab_size, size=(num_meanings, length), dtype=symbol_type(vocab_size))
    return distinct_rows(num_meanings, length, vocab_size, rng)


def distinct_rows(num_rows: int, length: int, vocab_size: int, rng: np.random.Generator) -> Symbols:
    """Draw distinct random rows of symbols, shape (num_rows, length)."""
    kind = symbol_type(vocab_size)
    if vocab_size**length < 2**63:
        codes = rng.choice(vocab_size**length, size=num_rows, replace=False)
        rows = np.empty((num_rows, length), dtype=kind)
        for position in range(length):
            codes, rows[:, position] = np.divmod(codes, vocab_size)
        return rows
    while True:  # equal rows are very rare among so many possible ones
        rows = rng.integers(vocab_size, size=(num_rows, length), dtype=kind)
        if len(np.unique(rows, axis=0)) == num_rows:
            return rows


def _too_few_words(geometry: Geometry) -> str:
    values, length, size = geometry.num_values, geometry.word_length, geometry.vocab_size
    enough_length = next((n for n in range(length + 1, 32) if size**n >= values), None)
    enough_size = bisect_left(range(values + 1), values, key=lambda n: n**length)
    longer = f"--word-length to {enough_length} or " if enough_length else ""
    return (
        f"{values} values need {values} different words, but words of {length} symbols over {size} make only "
        f"{size**length}: raise {longer}--vocab-size to {enough_size}"
    )
