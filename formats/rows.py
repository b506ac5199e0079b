"""Accumulate rows of symbol ids while a file is read."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.ragged import Ragged

ID_LIMIT = 1 << 31  # an id fits an int32

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
