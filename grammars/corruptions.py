"""ICY's corruptions: transformations of the messages of a concatenation grammar that obscure their composition.

Each function takes the messages of all meanings, with symbols from 0 and shape (num_meanings, message_length), and the
meanings, (num_meanings, num_attributes), and returns new messages of the same shape (Perkins 2021, sections 3.1.3-3.1.6
and appendix H).
"""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.words import Symbols
from ecsuite.runtime.errors import ConfigError

WORKING_SET = 2**18
"""Number of entries of projected messages computed at once, to fit the processor cache."""

MAX_BLOCK = 1024
"""Maximum number of distinct contents of a block of positions that is projected as a whole."""

MAX_PROJECTION = 2**27
"""Maximum number of entries of the projection matrix: 1 GiB."""

Meanings = NDArray[np.int64]


def permute(messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Permute the positions, in the same way in all messages (PERM, section 3.1.3)."""
    return messages.take(rng.permutation(geometry.message_length), axis=1)


def rotate(messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Replace symbols by their cumulative sum, modulo the vocabulary size (ROT, section 3.1.5).

    Deterministic: `rng` is not used.
    """
    rotated = np.empty_like(messages)
    total = np.zeros(len(messages), dtype=np.int64)
    for position in range(messages.shape[1]):
        total += messages[:, position]
        total %= geometry.vocab_size
        rotated[:, position] = total
    return rotated


def project(messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Apply a random projection to the one-hot message, then argmax per position (PROJ, section 3.1.4).

    The paper does not define the matrix. As in its program the entries are uniform in [0, 1), all positive; the
    language is not injective, and at each position one symbol is more frequent than the others. Here entries are
    multiples of 2^-32, so that sums are exact in float64 in any order (the program rounds to float32). Ties, which are
    very rare, go to the first symbol.
    """
    length, vocab_size = geometry.message_length, geometry.vocab_size
    width = length * vocab_size
    if width**2 > MAX_PROJECTION:
        raise ConfigError(
            f"proj: messages of {length} symbols over {vocab_size} need a matrix of {width:,} x {width:,} entries "
            f"(at most {MAX_PROJECTION:,}): lower --word-length or --vocab-size"
        )
    matrix = rng.integers(2**32, size=(length, vocab_size, length, vocab_size), dtype=np.uint32) / 2.0**32
    matrix = matrix.swapaxes(2, 3).reshape(length, vocab_size, width)  # symbols before positions
    blocks = list(_blocks(messages, matrix))
    projected = np.empty_like(messages)
    step = 1 + WORKING_SET // width
    for start in range(0, len(messages), step):
        totals = sum(vectors[which[start : start + step]] for which, vectors in blocks)
        projected[start : start + step] = _argmax(np.reshape(totals, (-1, vocab_size, length)))
    return projected


def _blocks(
    messages: Symbols, matrix: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Split the projection into a sum over blocks of adjacent positions, with one vector per distinct block content.

    A block is extended while it has few distinct contents: over several words in a concatenation grammar, over a few
    positions in grammars with independent symbols. The matrix has a vector for each position and
    symbol. For each block: the index of each message's vector, (num_messages,), and the vectors, (num_vectors, width).
    """
    length, vocab_size, width = matrix.shape
    which, vectors = np.zeros(len(messages), dtype=np.int64), np.zeros((1, width))
    for position in range(length):
        longer = which * vocab_size + messages[:, position]
        is_used = np.zeros(len(vectors) * vocab_size, dtype=bool)
        is_used[longer] = True
        if len(vectors) > 1 and is_used.sum() > MAX_BLOCK:
            yield which, vectors
            longer, vectors = messages[:, position].astype(np.int64), np.zeros((1, width))
            is_used = np.bincount(longer, minlength=vocab_size) > 0
        beginnings, symbols = np.divmod(np.flatnonzero(is_used), vocab_size)
        vectors = vectors[beginnings] + matrix[position, symbols]
        which = (np.cumsum(is_used) - 1)[longer]
    yield which, vectors


def _argmax(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The symbol with the largest entry at each position (ties: the lowest), from (messages, symbols, positions)."""
    best, symbols = scores[:, 0].copy(), np.zeros(scores[:, 0].shape, dtype=np.int64)
    for symbol in range(1, scores.shape[1]):
        symbols[scores[:, symbol] > best] = symbol
        np.maximum(best, scores[:, symbol], out=best)
    return symbols


def shuffle_by_value(
    messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator, decides: str
) -> Symbols:
    """Reorder the words by an order that depends on the value of one attribute (SHUFDET, section 3.1.6).

    For each value of the deciding attribute an order is drawn independently; two orders may be equal, and an order
    may be the identity. In section 3.1.6 and in the program the last attribute decides, in appendix H the first.
    """
    orders = np.stack([rng.permutation(geometry.num_attributes) for _ in range(geometry.num_values)])
    return _in_order(messages, geometry, orders[meanings[:, 0 if decides == "first" else -1]])


def shuffle(messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Reorder the words of each message by a random order of its own (SHUF, appendix H)."""
    orders = np.tile(np.arange(geometry.num_attributes), (len(messages), 1))
    return _in_order(messages, geometry, rng.permuted(orders, axis=1, out=orders))


def _in_order(messages: Symbols, geometry: Geometry, orders: NDArray[np.int64]) -> Symbols:
    """Reorder the words of each message; orders (num_meanings, num_attributes)."""
    words = messages.reshape(-1, geometry.word_length)
    first = np.arange(len(messages))[:, None] * geometry.num_attributes
    return words.take(orders + first, axis=0).reshape(messages.shape)


def add_pairs(
    messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator, last: str
) -> Symbols:
    """Add the next word to each word, symbol by symbol modulo the vocabulary size (PAIRSUM, appendix G).

    The first word is the next word of the last word. Deterministic. The paper names this grammar in its tables but does
    not define it; we follow its program, except for the last word: the program, which works in place, adds the sum of
    the first and the second word to it, as does `last=program`.
    """
    ahead = np.roll(messages, -geometry.word_length, axis=1).astype(np.int64)
    if last == "program" and geometry.num_attributes > 1:
        ahead[:, -geometry.word_length :] += messages[:, geometry.word_length : 2 * geometry.word_length]
    return ((messages + ahead) % geometry.vocab_size).astype(messages.dtype)


OPTIONS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "shufdet": {"decides": ("last", "first")},
    "pairsum": {"last": ("first-word", "program")},
}
"""Allowed values of each option, the default first, by corruption; other corruptions have no options."""
