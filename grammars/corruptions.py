"""What ICY does to the messages of a concatenation grammar: each hides how they are composed, and nothing else.

Each takes the messages of all meanings, symbols from 0 and shape (num_meanings, message_length), and gives new
ones alike (Perkins 2021, sections 3.1.3-3.1.6 and appendix H).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError
from ecsuite.grammars.geometry import Geometry
from ecsuite.grammars.words import Symbols

WORKING_SET = 2**18
"""Entries of projected messages at a time, so that what is being worked on stays in the cache."""

MAX_BLOCK = 1024
"""Most different beginnings of a block of positions that are projected as one."""

MAX_PROJECTION = 2**27
"""Most entries of a projection: 1 GiB."""

Meanings = NDArray[np.int64]


def permute(messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Permute the positions, in the same way in all messages (PERM, section 3.1.3)."""
    return messages.take(rng.permutation(geometry.message_length), axis=1)


def rotate(messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Say the sum of the symbols so far, modulo the vocabulary (ROT, section 3.1.5).

    Nothing is drawn.
    """
    rotated = np.empty_like(messages)
    total = np.zeros(len(messages), dtype=np.int64)
    for position in range(messages.shape[1]):
        total += messages[:, position]
        total %= geometry.vocab_size
        rotated[:, position] = total
    return rotated


def project(messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Project the one-hot message at random, and say the largest entries (PROJ, section 3.1.4).

    The paper leaves the matrix open. As in its program the entries are uniform in [0, 1), all positive; the
    language is not injective, and each position has a symbol that it prefers. Ours are multiples of 2^-32, so
    that sums are exact in float64, whatever their order (the program rounds to float32). Of equal entries,
    hardly ever met, the first one counts.
    """
    length, vocab_size = geometry.message_length, geometry.vocab_size
    width = length * vocab_size
    if width**2 > MAX_PROJECTION:
        raise ConfigError(
            f"proj: messages of {length} symbols over {vocab_size} need a matrix of {width:,} x {width:,} entries "
            f"(at most {MAX_PROJECTION:,}): lower --word-length or --vocab-size"
        )
    matrix = rng.integers(2**32, size=(length, vocab_size, length, vocab_size), dtype=np.uint32) / 2.0**32
    matrix = matrix.swapaxes(2, 3).reshape(length, vocab_size, width)  # an entry's symbol before its position
    blocks = list(_blocks(messages, matrix))
    projected = np.empty_like(messages)
    step = 1 + WORKING_SET // width
    for start in range(0, len(messages), step):
        scores = sum(vectors[which[start : start + step]] for which, vectors in blocks)
        projected[start : start + step] = _argmax(np.reshape(scores, (-1, vocab_size, length)))
    return projected


def _blocks(
    messages: Symbols, matrix: NDArray[np.float64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """What adds up to the projected messages: a vector for each neighbourhood of symbols, instead of each symbol.

    A block of positions grows as long as few different things are said in it: in a concatenation grammar over
    several words, where symbols are independent over a few positions.

    Args:
        messages: Symbols, shape (num_messages, length).
        matrix: A vector for each position and symbol, shape (length, vocab_size, width).

    Yields:
        For each block which of its vectors belongs to each message, (num_messages,), and the vectors,
        (num_vectors, width).
    """
    length, vocab_size, width = matrix.shape
    which, vectors = np.zeros(len(messages), dtype=np.int64), np.zeros((1, width))
    for position in range(length):
        longer = which * vocab_size + messages[:, position]
        is_said = np.zeros(len(vectors) * vocab_size, dtype=bool)
        is_said[longer] = True
        if len(vectors) > 1 and is_said.sum() > MAX_BLOCK:
            yield which, vectors
            longer, vectors = messages[:, position].astype(np.int64), np.zeros((1, width))
            is_said = np.bincount(longer, minlength=vocab_size) > 0
        beginnings, symbols = np.divmod(np.flatnonzero(is_said), vocab_size)
        vectors = vectors[beginnings] + matrix[position, symbols]
        which = (np.cumsum(is_said) - 1)[longer]
    yield which, vectors


def _argmax(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first largest symbol of each position; scores (messages, symbols, positions)."""
    best, symbols = scores[:, 0].copy(), np.zeros(scores[:, 0].shape, dtype=np.int64)
    for symbol in range(1, scores.shape[1]):
        symbols[scores[:, symbol] > best] = symbol
        np.maximum(best, scores[:, symbol], out=best)
    return symbols


def shuffle_by_value(
    messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator, decides: str
) -> Symbols:
    """Let the value of one attribute decide the order of the words (SHUFDET, section 3.1.6).

    For each value of the deciding attribute an order is drawn, independently; two may be alike, and an order
    may change nothing. The section and the program let the last attribute decide, appendix H the first.

    Args:
        messages: Symbols, shape (num_meanings, message_length).
        meanings: Attribute values, shape (num_meanings, num_attributes).
        geometry: Their sizes.
        rng: Draws the orders.
        decides: `first` or `last`, the attribute that decides.
    """
    orders = np.stack([rng.permutation(geometry.num_attributes) for _ in range(geometry.num_values)])
    return _in_order(messages, geometry, orders[meanings[:, 0 if decides == "first" else -1]])


def shuffle(messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator) -> Symbols:
    """Draw an order of the words for each message (SHUF, appendix H)."""
    orders = np.tile(np.arange(geometry.num_attributes), (geometry.num_meanings, 1))
    return _in_order(messages, geometry, rng.permuted(orders, axis=1, out=orders))


def _in_order(messages: Symbols, geometry: Geometry, orders: NDArray[np.int64]) -> Symbols:
    """The words of each message in its own order, (num_meanings, num_attributes)."""
    words = messages.reshape(-1, geometry.word_length)
    first = np.arange(geometry.num_meanings)[:, None] * geometry.num_attributes
    return words.take(orders + first, axis=0).reshape(messages.shape)


def add_pairs(
    messages: Symbols, meanings: Meanings, geometry: Geometry, rng: np.random.Generator, last: str
) -> Symbols:
    """Add to each word the next one, symbol by symbol modulo the vocabulary (PAIRSUM, appendix G).

    The last word is added to the first. Nothing is drawn. The paper names this grammar in its tables and does not
    define it; this is what its program does, but for the last word.

    Args:
        messages: Symbols, shape (num_meanings, message_length).
        meanings: Not needed.
        geometry: Their sizes.
        rng: Not needed.
        last: `first-word`: to the first word as it was. `program`: to the first word's sum with the second, as
            the paper's program, which works in place.
    """
    ahead = np.roll(messages, -geometry.word_length, axis=1).astype(np.int64)
    if last == "program" and geometry.num_attributes > 1:
        ahead[:, -geometry.word_length :] += messages[:, geometry.word_length : 2 * geometry.word_length]
    return ((messages + ahead) % geometry.vocab_size).astype(messages.dtype)


@dataclass(frozen=True, kw_only=True, slots=True)
class Corruption:
    """A corruption and its options."""

    apply: Callable[..., Symbols]
    """Called as `apply(messages, meanings, geometry, rng, **options)`."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Choices of each option, the default one first."""


CORRUPTIONS: dict[str, Corruption] = {
    "perm": Corruption(apply=permute),
    "proj": Corruption(apply=project),
    "rot": Corruption(apply=rotate),
    "shufdet": Corruption(apply=shuffle_by_value, options={"decides": ("last", "first")}),
    "shuf": Corruption(apply=shuffle),
    "pairsum": Corruption(apply=add_pairs, options={"last": ("first-word", "program")}),
}
"""Corruptions by name."""
