"""Harris's articulation scheme: words end where the entropy of the next symbol increases.

Only the messages are used, not the meanings. Within a word the entropy of the next symbol decreases with the number of
previous symbols; an increase indicates the end of a word (Harris, 1955; Tanaka-Ishii, 2005).
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import Ragged
from ecsuite.eval.statistics.counting import Ints

_NOISE = 1e-9
"""Increases below this, in bits, are rounding errors."""
_SMALL_TABLE, _MAX_TABLE = 1 << 16, 1 << 25
"""Entries of a table of substrings: those that are faster than sorting, however few they are, and most."""
_kept: ContextVar[dict[tuple[bytes, float], NDArray[np.uint8]] | None] = ContextVar("_kept", default=None)
"""Boundaries as bits, by the digest of the messages and the threshold."""


def boundaries(messages: Ragged, *thresholds: float) -> list[NDArray[np.bool_]]:
    """Segment boundaries inside messages: Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    The branching entropy h(s) of a substring s is the entropy of the next symbol over all occurrences of s in the
    corpus that are followed by a symbol. There is a boundary before position j of a message if, for any start
    i < j - 1, h(x_i … x_j-1) - h(x_i … x_j-2) exceeds the threshold. All starts and all lengths are used; a substring
    that occurs once has entropy 0, so longer substrings from the same start need not be considered.

    Within `segmented_once` messages that were segmented before are not segmented again.

    Args:
        messages: Messages without EOS, with dense ids.
        thresholds: Thresholds in bits.

    Returns:
        For each threshold, whether a segment begins at each symbol, shape (num_values,); False at the start of a
        message.
    """
    kept = _kept.get()
    if kept is None:
        return _boundaries(messages, thresholds)
    digest = hashlib.blake2b(np.ascontiguousarray(messages.values).data)
    digest.update(messages.offsets.data)
    keys = [(digest.digest(), threshold) for threshold in thresholds]
    missing = [key for key in keys if key not in kept]
    for key, begins in zip(
        missing, _boundaries(messages, [threshold for _, threshold in missing]), strict=True
    ):
        kept[key] = np.packbits(begins)
    return [np.unpackbits(kept[key], count=len(messages.values)).view(bool) for key in keys]


@contextmanager
def segmented_once() -> Iterator[None]:
    """Keep the boundaries of messages meanwhile: several metrics segment the same shuffles and half-samples."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def _boundaries(messages: Ragged, thresholds: Sequence[float]) -> list[NDArray[np.bool_]]:
    values, num_symbols = messages.values, int(messages.values.max(initial=0)) + 1
    begins = [np.zeros(len(values), bool) for _ in thresholds]
    if not thresholds:
        return begins
    narrow = np.int32 if len(values) < 1 << 31 else np.int64  # half of the memory
    start = np.arange(len(values), dtype=narrow)
    left = np.repeat(messages.offsets[1:].astype(narrow), messages.lengths) - start - 1  # symbols that follow
    start, left = start[left > 0], left[left > 0]
    substring: Ints = values[start].astype(np.int64)
    num_substrings, width, previous = num_symbols, 1, None
    while len(start):
        codes = substring * num_symbols
        codes += values[start + width]
        codes, present, originals, count, bound = _counted(codes, num_substrings * num_symbols)
        bits = _branching(originals // num_symbols, count, num_substrings)
        entropy = bits[substring]
        if previous is not None:  # a substring of one symbol is never an increase
            increase = entropy - previous
            for threshold, begin in zip(thresholds, begins, strict=True):
                begin[start[increase > threshold + _NOISE] + width] = True
        width += 1
        number = np.full(bound, -1)
        recurring = present[count > 1]
        number[recurring] = np.arange(len(recurring))
        substring = number[codes]
        goes_on = np.flatnonzero((substring >= 0) & (left >= width))
        start, left, previous = start[goes_on], left[goes_on], entropy[goes_on]
        substring, num_substrings = substring[goes_on], len(recurring)
    return begins


def _counted(codes: Ints, bound: int) -> tuple[Ints, Ints, Ints, Ints, int]:
    """Codes, renumbered if a table were too large, those that occur, their originals, how often, and a bound."""
    if bound > max(_SMALL_TABLE, min(16 * len(codes), _MAX_TABLE)):
        originals, codes, count = np.unique(codes, return_inverse=True, return_counts=True)
        return codes, np.arange(len(originals)), originals, count, len(originals)
    table = np.bincount(codes, minlength=bound)
    originals = np.flatnonzero(table)
    return codes, originals, originals, table[originals], bound


def segments(messages: Ragged, begins: NDArray[np.bool_]) -> Ragged:
    """Cut messages into segments; empty messages have none.

    Args:
        messages: The messages.
        begins: The result of `boundaries`.
    """
    starts = begins.copy()
    starts[messages.offsets[:-1][messages.lengths > 0]] = True
    places = np.flatnonzero(starts)
    return Ragged.from_lengths(messages.values, np.diff(places, append=len(messages.values)))


def _branching(substring: Ints, count: Ints, num_substrings: int) -> NDArray[np.float64]:
    """Branching entropy of each substring in bits, from the substring and the count of each continuation."""
    total = np.bincount(substring, count, num_substrings)
    spent = np.bincount(substring, count * np.log2(count), num_substrings)
    return np.log2(np.maximum(total, 1)) - spent / np.maximum(total, 1)
