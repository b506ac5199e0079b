"""Numbers of objects in worlds that give them none."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.world import Batch, Integers


class ObjectNumbers:
    """Numbers of objects: those of the world, or where it has none, in the order in which they appear, from 0."""

    def __init__(self) -> None:
        self.by_digest: dict[bytes, int] = {}

    def of(self, batch: Batch) -> Integers:
        """The numbers of the objects of a batch, (num_objects,)."""
        return self.of_rows(batch.objects) if batch.ids is None else batch.ids

    def of_rows(self, rows: NDArray[Any]) -> Integers:
        """The numbers of rows, equal ones having one number, (num_rows,); a digest of each is kept."""
        digests = (hashlib.blake2b(each.tobytes(), digest_size=16).digest() for each in rows)
        found = [self.by_digest.setdefault(each, len(self.by_digest)) for each in digests]
        return np.array(found, dtype=np.int64)
