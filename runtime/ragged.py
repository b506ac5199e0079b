"""Rows of different lengths in two flat arrays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

_BLOCK = 1 << 14
"""Number of rows processed at once, to fit the cache."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths in two flat arrays.

    Row i is `values[offsets[i]:offsets[i + 1]]`.
    """

    values: NDArray[np.int32]
    """All rows concatenated, shape (num_values,)."""
    offsets: NDArray[np.int64]
    """Start of each row, and the end of the last row, shape (num_rows + 1,)."""

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[int]]) -> Self:
        """Build from an iterable of integer sequences.

        Raises:
            OverflowError: If an integer has more than 32 bits.
        """
        arrays = [np.asarray(row, dtype=np.int64) for row in rows]
        values = np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
        found = values.astype(np.int32)
        if not np.array_equal(found, values):
            raise OverflowError(f"expected integers of 32 bits, got {values[found != values][0]}")
        return cls.from_lengths(found, np.array([len(array) for array in arrays], dtype=np.int64))

    @classmethod
    def from_lengths(cls, values: NDArray[np.int32], lengths: NDArray[np.integer[Any]]) -> Self:
        """Split flat values, shape (num_values,), into rows of these lengths, shape (num_rows,)."""
        offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        return cls(values, offsets)

    @classmethod
    def from_table(cls, table: NDArray[np.integer[Any]]) -> Self:
        """Make rows of equal length from a table of 32-bit integers, shape (num_rows, length)."""
        num_rows, length = table.shape
        return cls(table.astype(np.int32).ravel(), np.arange(num_rows + 1, dtype=np.int64) * length)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Row `index`, as a view; negative indices count from the end."""
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        return self.values[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each row, shape (num_rows,)."""
        return np.diff(self.offsets)

    def places(self, rows: Any) -> NDArray[np.integer[Any]]:
        """Convert NumPy indices, negative indices or a mask to indices of rows from 0, (num_taken,).

        Raises:
            IndexError: If an index is out of range, or a mask has another length.
        """
        found = np.asarray(rows)
        if found.dtype.kind == "b":
            if found.shape != (len(self),):
                raise IndexError(f"expected a mask of {len(self)} rows, got {found.shape}")
            return np.flatnonzero(found)
        if not found.size:
            return np.zeros(0, np.int64)
        if (
            found.ndim != 1
            or found.dtype.kind not in "iu"
            or not -len(self) <= found.min() <= found.max() < len(self)
        ):
            raise IndexError(f"expected indices of {len(self)} rows, got {rows!r:.60}")
        return np.where(found < 0, found + len(self), found) if found.min() < 0 else found

    def take(self, rows: Any) -> "Ragged":
        """Select rows by index, (num_taken,), or by mask; see `places`."""
        rows = self.places(rows)
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.subtract(self.offsets[1:][rows], self.offsets[:-1][rows], out=offsets[1:])
        np.cumsum(offsets, out=offsets)
        values = np.empty(offsets[-1], dtype=self.values.dtype)
        for start in range(0, len(rows), _BLOCK):  # limits memory
            some, bounds = rows[start : start + _BLOCK], offsets[start : start + _BLOCK + 1]
            shifts = np.repeat(self.offsets[some] - bounds[:-1], np.diff(bounds))
            values[bounds[0] : bounds[-1]] = self.values[np.arange(bounds[0], bounds[-1]) + shifts]
        return Ragged(values, offsets)

    def blocks(self, num_rows: int = _BLOCK) -> Iterator["Ragged"]:
        """Iterate over blocks of consecutive rows: views of the values, and offsets from 0."""
        for start in range(0, len(self), num_rows):
            yield self.between(start, start + num_rows)

    def between(self, start: int, stop: int) -> "Ragged":
        """Select consecutive rows: a view of the values, and offsets from 0."""
        bounds = self.offsets[start : stop + 1]
        return Ragged(self.values[bounds[0] : bounds[-1]], bounds - bounds[0])

    def before(self, value: int) -> "Ragged":
        """Truncate each row before the first occurrence of `value`."""
        values, offsets = np.empty_like(self.values), np.zeros(len(self) + 1, np.int64)
        filled, number = 0, 1
        for block in self.blocks():  # limits memory
            kept, ends = block._before(value)
            values[filled : filled + len(kept)] = kept
            offsets[number : number + len(ends)] = ends
            filled, number = filled + len(kept), number + len(ends)
        return Ragged(values[:filled], np.cumsum(offsets, out=offsets))

    def through(self, value: int) -> "Ragged":
        """Truncate each row after the first occurrence of `value`."""
        before = self.before(value)
        lengths = np.minimum(before.lengths + 1, self.lengths)
        if np.array_equal(lengths, self.lengths):
            return self
        found = Ragged.from_lengths(np.full(lengths.sum(), value, self.values.dtype), lengths)
        is_before = np.ones(len(found.values), bool)
        is_before[found.offsets[1:][lengths > before.lengths] - 1] = False
        found.values[is_before] = before.values
        return found

    def _before(self, value: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Values of `before`, and lengths of its rows."""
        differs = self.values != value
        hits = np.flatnonzero(~differs)
        if np.array_equal(hits, self.offsets[1:] - 1):  # at the end of each row
            return self.values[differs], np.diff(self.offsets) - 1
        rows = np.searchsorted(self.offsets, hits, side="right") - 1
        is_first = np.diff(rows, prepend=-1) > 0
        ends = self.offsets[1:].copy()
        ends[rows[is_first]] = hits[is_first]
        lengths = ends - self.offsets[:-1]
        if np.count_nonzero(differs) > lengths.sum():  # values follow an end
            differs &= np.repeat(ends, self.lengths) > np.arange(len(self.values))
        return self.values[differs], lengths

    def narrowed(self) -> "Ragged":
        """Store values in the smallest integer type that holds them; not for arithmetic."""
        if self.values.min(initial=0) < 0:
            return self
        return Ragged(self.values.astype(np.min_scalar_type(self.values.max(initial=0))), self.offsets)

    def reindexed(self) -> "tuple[Ragged, NDArray[np.int32]]":
        """Renumber the values densely, 0 to V-1 in order of id, so that tables over ids stay small.

        Returns:
            The rows with dense ids, and the original id of each dense id, shape (V,).
        """
        originals = self.distinct()
        if len(originals) and originals[-1] == len(originals) - 1:
            return self, originals
        if not len(originals) or originals[-1] > 2 * self.values.size + 1024:  # a table would be too sparse
            dense = np.searchsorted(originals, self.values)
            return Ragged(dense.astype(self.values.dtype), self.offsets), originals
        table = np.zeros(int(originals[-1]) + 1, self.values.dtype)
        table[originals] = np.arange(len(originals))
        return Ragged(table[self.values], self.offsets), originals

    def distinct(self) -> NDArray[np.int32]:
        """Distinct non-negative values, ascending."""
        if not len(self.values):
            return np.zeros(0, np.int32)
        highest = int(self.values.max())
        if highest > 2 * self.values.size + 1024:  # a table would be too sparse
            ordered = np.sort(self.values)
            return np.append(ordered[0], ordered[1:][ordered[1:] != ordered[:-1]]).astype(np.int32)
        is_used = np.zeros(highest + 1, dtype=bool)
        is_used[self.values] = True
        return np.flatnonzero(is_used).astype(np.int32)
