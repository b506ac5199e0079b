"""Harris's articulation scheme: words end where the entropy of the next symbol increases.

Only the messages are used, not the meanings. Within a word the entropy of the next symbol decreases with the number of
previous symbols; an increase indicates the end of a word (Harris, 1955; Tanaka-Ishii, 2005).
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.eval.statistics.cache import cached_by
from ecsuite.eval.statistics.contingency import Ints
from ecsuite.runtime.ragged import Ragged

_NOISE = 1e-9
"""Increases below this, in bits, are rounding errors."""
_SMALL_TABLE, _MAX_TABLE = 1 << 16, 1 << 25
"""Entries of a table of substrings: those that are faster than sorting, however few they are, and most."""


def boundaries(messages: Ragged, *thresholds: float) -> list[NDArray[np.bool_]]:
    """Segment boundaries inside messages: Ueda et al. (2023), https://arxiv.org/abs/2305.05939.

    The branching entropy h(s) of a substring s is the entropy of the next symbol over all occurrences of s in the
    corpus that are followed by a symbol. There is a boundary before position j of a message if, for any start
    i < j - 1, h(x_i … x_j-1) - h(x_i … x_j-2) exceeds the threshold. All starts and all lengths are used; a substring
    that occurs once has entropy 0, so longer substrings from the same start need not be considered.

    While a corpus is scored, messages that were segmented before are not segmented again: several metrics segment the
    same shuffles and half-samples.

    Args:
        messages: Messages without EOS, with dense ids.
        thresholds: Thresholds in bits.

    Returns:
        For each threshold, whether a segment begins at each symbol, shape (num_values,); False at the start of a
        message.
    """
    kept: dict[tuple[bytes, float], NDArray[np.uint8]] | None = cached_by(boundaries, dict)
    if kept is None:  # boundaries as bits, by the digest of the messages and the threshold
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


def _boundaries(messages: Ragged, thresholds: Sequence[float]) -> list[NDArray[np.bool_]]:
    values, num_symbols = messages.values, int(messages.values.max(initial=0)) + 1
    begins = [np.zeros(len(values), bool) for _ in thresholds]
    if not thresholds:
        return begins
    start, left = _starts(messages)
    substring: NDArray[Any] = values[start]
    num_substrings, width, before = num_symbols, 1, None
    while len(start):
        bound = num_substrings * num_symbols
        blocks = [slice(begin, begin + _block(bound)) for begin in range(0, len(start), _block(bound))]

        def codes_of(block: slice) -> Ints:
            codes: Ints = substring[block] * np.int64(num_symbols)  # noqa: B023 - called in this round
            codes += values[start[block] + width]  # noqa: B023
            return codes

        if bound > max(_SMALL_TABLE, min(16 * len(start), _MAX_TABLE)):
            originals, codes, count = np.unique(
                np.concatenate([codes_of(block) for block in blocks]), return_inverse=True, return_counts=True
            )
            codes_in: Callable[[slice], Ints] = codes.__getitem__
            present, bound = np.arange(len(originals)), len(originals)
        else:
            table = np.zeros(bound, np.int64)
            for block in blocks:
                table += np.bincount(codes_of(block), minlength=bound)
            originals = present = np.flatnonzero(table)
            count, codes_in = table[present], codes_of
        entropy = _branching(originals // num_symbols, count, num_substrings)
        if before is not None:  # a substring of one symbol is never an increase
            for threshold, begin in zip(thresholds, begins, strict=True):
                rises = entropy - before > threshold + _NOISE
                for block in blocks:
                    begin[start[block][rises[substring[block]]] + width] = True
        recurs = count > 1
        number = np.full(bound, -1, np.int32)
        num_substrings = int(recurs.sum())
        number[present[recurs]] = np.arange(num_substrings)
        longer, filled = np.empty(len(start), np.min_scalar_type(num_substrings)), 0
        for block in blocks:  # what goes on takes the places of what came before it, which limits memory
            own = number[codes_in(block)]
            goes_on = np.flatnonzero((own >= 0) & (left[block] > width))
            place = slice(filled, filled + len(goes_on))
            longer[place] = own[goes_on]
            start[place], left[place] = start[block][goes_on], left[block][goes_on]
            filled = place.stop
        start, left, substring = start[:filled], left[:filled], longer[:filled]
        width, before = width + 1, entropy[originals[recurs] // num_symbols]
    return begins


def _starts(messages: Ragged) -> tuple[NDArray[Any], NDArray[Any]]:
    """The places of symbols that others follow in their message, and how many do, in the smallest types."""
    place = np.int32 if len(messages.values) < 1 << 31 else np.int64
    narrow = np.min_scalar_type(int(messages.lengths.max(initial=0)))
    starts, lefts = [np.zeros(0, place)], [np.zeros(0, narrow)]
    begin = 0
    for rows in messages.blocks():
        left = np.repeat(rows.offsets[1:], rows.lengths) - np.arange(1, len(rows.values) + 1)
        followed = np.flatnonzero(left)
        starts.append((followed + begin).astype(place))
        lefts.append(left[followed].astype(narrow))
        begin += len(rows.values)
    return np.concatenate(starts), np.concatenate(lefts)


def _block(bound: int) -> int:
    """Substrings that are looked at once, with a table of so many entries."""
    return max(1 << 18, bound // 2)


def segments(messages: Ragged, begins: NDArray[np.bool_]) -> Ragged:
    """Cut messages into segments; empty messages have none.

    Args:
        messages: The messages.
        begins: The result of `boundaries`.
    """
    starts = begins.copy()
    starts[messages.offsets[: np.searchsorted(messages.offsets, len(starts))]] = True  # but those at the end
    return Ragged(messages.values, np.append(np.flatnonzero(starts), len(starts)))


def _branching(substring: Ints, count: Ints, num_substrings: int) -> NDArray[np.float64]:
    """Branching entropy of each substring in bits, from the substring and the count of each continuation."""
    total = np.bincount(substring, count, num_substrings)
    spent = np.bincount(substring, count * np.log2(count), num_substrings)
    return np.log2(np.maximum(total, 1)) - spent / np.maximum(total, 1)
