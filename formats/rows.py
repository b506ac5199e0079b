"""Rows of symbol ids while a file is read, and the vectorised parser of lines like `[1, 2, 3]`."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.formats.strict_json import ID_LIMIT
from ecsuite.runtime.ragged import Ragged

Arrays = tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]  # flat values, and lengths of rows


class Rows:
    """An append-only list of rows. Strings are mapped to ids in order of first appearance."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = {name: index for index, name in enumerate(names)}
        self.arrays: list[Arrays] = [(np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))]

    def extend(self, rows: Sequence[Sequence[int | str]]) -> None:
        """Add rows of ids or strings."""
        names = self.names
        flat = chain.from_iterable(rows)
        ids = [names.setdefault(item, len(names)) if isinstance(item, str) else item for item in flat]
        lengths = [len(row) for row in rows]
        self.arrays.append((np.array(ids, dtype=np.int32), np.array(lengths, dtype=np.int32)))

    def ragged(self) -> Ragged:
        """All rows so far."""
        values, lengths = zip(*self.arrays, strict=True)
        return Ragged.from_lengths(np.concatenate(values, dtype=np.int32), np.concatenate(lengths))


_BLOCK = 1 << 18
"""Bytes that are parsed at once; the working memory fits the second-level cache."""
_DIGIT, _OPEN, _CLOSE, _COMMA, _SPACE, _NEWLINE = (1 << bit for bit in range(6))
_BITS = {b"0123456789": _DIGIT, b"[": _OPEN, b"]": _CLOSE, b",": _COMMA, b" ": _SPACE, b"\n": _NEWLINE}
"""The bit of each byte of plain lines."""
_BITS_AFTER = {
    b"0123456789": _DIGIT | _COMMA | _CLOSE,
    b"[": _DIGIT | _CLOSE,
    b"]": _NEWLINE,
    b",": _DIGIT | _SPACE,
    b" ": _DIGIT,
    b"\n": _OPEN,
}
"""The bits of the bytes that may follow each of them."""
_CLASS, _FOLLOWERS = (
    bytes(sum(value for some, value in bits.items() if byte in some) for byte in range(256))
    for bits in (_BITS, _BITS_AFTER)
)
"""Tables for `bytes.translate`."""


def parse_plain(lines: bytes) -> Arrays | None:
    """Symbols, shape (num_symbols,), and message lengths, shape (num_messages,), of lines like `[1, 2, 3]`.

    Apart from leading zeros and the size of numbers, pairs of adjacent bytes suffice to check the syntax. So the
    text can be split into blocks after any comma, even inside a long line.

    Returns:
        The two arrays, or None if any byte differs from this form; the JSON parser then reads the block.
    """
    text = b"\n" + lines
    start, last, num_values = 0, len(text) - 1, 0
    values: list[NDArray[np.integer[Any]]] = []
    ends = [np.zeros(1, dtype=np.int64)]
    while start < last:  # text[start] is the comma or newline before the block
        stop = last
        if last - start > _BLOCK:
            stop = max(text.rfind(mark, start + 1, start + _BLOCK) for mark in (b",", b"\n"))
            if stop < 0:
                return None
        block = text[start : stop + 1]
        found = np.frombuffer(block[1:].translate(_CLASS), dtype=np.uint8)
        if not (found & np.frombuffer(block[:-1].translate(_FOLLOWERS), dtype=np.uint8)).all():
            return None
        digits = np.frombuffer(block, dtype=np.uint8) - np.uint8(ord("0"))
        is_digit = digits < 10
        if ((digits[1:-1] == 0) & is_digit[2:] & ~is_digit[:-2]).any():
            return None  # a leading zero
        place = np.flatnonzero(is_digit[:-1] > is_digit[1:])  # index of each number's last digit
        ends.append(np.searchsorted(place, np.flatnonzero(found == _NEWLINE)) + num_values)
        numbers = digits[place].astype(np.int64)
        is_inside = np.ones(len(place), dtype=np.bool_)
        for power in range(1, 11):
            place -= 1
            is_inside &= is_digit[place]
            if not is_inside.any():
                break
            numbers += (digits[place] * is_inside) * np.int64(10**power)
        highest = int(numbers.max(initial=0))
        if is_inside.any() or highest >= ID_LIMIT:
            return None
        values.append(numbers.astype(np.min_scalar_type(highest)))  # allocation dominates the cost
        num_values += len(numbers)
        start = stop
    bounds: NDArray[np.int64] = np.concatenate(ends)
    return np.concatenate(values), np.diff(bounds).astype(np.int32)
