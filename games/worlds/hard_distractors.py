"""Distractors that are like the target: with some of its attribute values, or near to it among all objects."""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.world import Integers
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import distinct_draws, mixed

MAX_CHOICES = 2**16
"""Most ways to choose the attributes in which distractors differ: they are a table."""
MAX_COMPARED = 2**22
"""Most pairs of a target and another object that are compared at once."""
CHUNK = 256
"""Targets that are checked at once."""
TIES = 1e-12
"""Squared distances that differ by less, relative to the squared lengths of vectors, are equal."""
SHARED_VALUES = "world.shared_values"


class SharingDistractors:
    """Distractors that have a number of values in common with the target, and no more; all such are equally likely.

    Args:
        num_shared: Values in common.
        num_distractors: Distractors of a round, all different.
        num_attributes: Attributes of an object.
        num_values: Values of each attribute.

    Raises:
        ConfigError: If there are not as many.
    """

    def __init__(self, num_shared: int, num_distractors: int, num_attributes: int, num_values: int) -> None:
        key, num_differing = SHARED_VALUES, num_attributes - num_shared
        if num_distractors == 0:
            raise ConfigError(f"{key}: the task draws no distractors, expected null")
        if num_differing < 1:
            raise ConfigError(
                f"{key}: expected less than the {num_attributes} attributes of an object, got {num_shared}"
            )
        num_choices = comb(num_attributes, num_shared)
        if num_choices > MAX_CHOICES or (total := num_choices * (num_values - 1) ** num_differing) >= 2**62:
            raise ConfigError(
                f"{key}: {num_shared} of {num_attributes} attributes of {num_values} values have too many "
                "combinations: lower world.num_attributes"
            )
        if total < num_distractors:
            raise ConfigError(
                f"{key}: {total} objects share {num_shared} values with a target, and {num_distractors} distractors "
                "are asked for: lower task.num_distractors"
            )
        self.num_values, self.total = num_values, total
        self.differing = np.array(list(combinations(range(num_attributes), num_differing)))

    def of(self, targets: Integers, words: NDArray[np.uint64]) -> Integers:
        """Distractors, (batch, num_distractors, num_attributes).

        Args:
            targets: Attribute values, (batch, num_attributes).
            words: Random, (batch, num_distractors).
        """
        drawn = distinct_draws(words, self.total)
        places = self.differing[drawn % len(self.differing)]  # (batch, num_distractors, num_differing)
        powers = (self.num_values - 1) ** np.arange(places.shape[-1], dtype=np.int64)
        steps = 1 + drawn[..., None] // len(self.differing) // powers % (self.num_values - 1)
        found = np.repeat(targets[:, None], words.shape[1], axis=1)
        changed = (np.take_along_axis(found, places, axis=2) + steps) % self.num_values
        np.put_along_axis(found, places, changed, axis=2)
        return found


class SimilarDistractors:
    """Distractors from a list that are similar to the target, drawn at random among equally similar ones.

    With `num_shared`, they have so many values in common with the target, and no more. Otherwise they are the nearest
    ones: by the number of different values or, of objects without values, by Euclidean distance. Where only some of
    equally near objects are drawn, and with `num_shared`, the attributes in which a distractor differs are drawn first,
    all possible ones being equally likely, and then one of the objects that differ in these: an attribute of many
    values is not asked for more often.

    Args:
        number: Distractors of a round, all different.
        num_shared: Values in common; None: the nearest objects.
        values: Attribute values of all objects, (num_objects, num_attributes); None: they have none.
        vectors: All objects as vectors, (num_objects, width); None: `values` are compared.

    Raises:
        ConfigError: If an object can't share as many values.
    """

    def __init__(
        self,
        number: int,
        num_shared: int | None,
        values: Integers | None,
        vectors: NDArray[Any] | None = None,
    ) -> None:
        key = "world.distractors" if num_shared is None else SHARED_VALUES
        if not number:
            raise ConfigError(
                f"{key}: the task draws no distractors, expected {'random' if num_shared is None else 'null'}"
            )
        if num_shared is not None and (values is None or num_shared >= values.shape[1]):
            has = "have no attribute values" if values is None else f"have {values.shape[1]} attributes"
            raise ConfigError(
                f"{key}: the objects {has}: expected {'null' if values is None else 'less'}, got {num_shared}"
            )
        self.number, self.num_shared = number, num_shared
        self.values = None if values is None else values.astype(np.int32)
        self.vectors = None if vectors is None else vectors.reshape(len(vectors), -1).astype(np.float64)
        self.squares = None if self.vectors is None else (self.vectors**2).sum(1)

    def require(self, targets: Integers, pool: Integers, source: str) -> None:
        """Raise `ConfigError` if a target has fewer similar objects in a pool than a round has distractors.

        Of many targets some are tried, evenly spaced.
        """
        if self.num_shared is None:
            return
        most = max(1, MAX_COMPARED // len(pool))
        for each in np.array_split(targets[:: -(-len(targets) // most)], -(-len(targets) // CHUNK) or 1):
            if len(each):
                self._require_enough(each, self._similar(each, pool)[1].sum(1), source)

    def _require_enough(self, targets: Integers, numbers: Integers, source: str = "the objects") -> None:
        if self.num_shared is not None and numbers.min() < self.number:
            raise ConfigError(
                f"{SHARED_VALUES}: of {source}, {numbers.min()} share {self.num_shared} values with object "
                f"{targets[numbers.argmin()]}, and {self.number} distractors are asked for: lower task.num_distractors"
            )

    def of(self, targets: Integers, words: NDArray[np.uint64], pool: Integers) -> Integers:
        """Distractors by their numbers, (batch, number).

        Args:
            targets: Numbers of objects, (batch,).
            words: Random, (batch, number).
            pool: Numbers of the objects to draw from.
        """
        rows = max(1, MAX_COMPARED // len(pool))
        parts = [slice(start, start + rows) for start in range(0, len(targets), rows)]
        return np.concatenate([self._drawn(targets[part], words[part], pool) for part in parts])

    def _similar(self, targets: Integers, pool: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Objects of the pool that are distractors for sure, and those that others are drawn from, (batch, pool)."""
        if self.vectors is None:
            assert self.values is not None
            distances: NDArray[Any] = np.zeros((len(targets), len(pool)), dtype=np.int32)
            for column in self.values.T:
                distances += column[targets, None] != column[pool]
            slack: Any = 0
        else:
            assert self.squares is not None
            distances = self.squares[targets, None] + self.squares[pool]
            distances -= 2 * self.vectors[targets] @ self.vectors[pool].T
            # Errors of squares and products are relative to the largest of them.
            slack = TIES * (self.squares[targets, None] + self.squares[pool].max())
        if self.num_shared is not None:
            is_drawn: NDArray[np.bool_] = distances == self.values.shape[1] - self.num_shared  # type: ignore[union-attr]
            return np.zeros_like(is_drawn), is_drawn
        is_itself = targets[:, None] == pool
        distances = np.where(is_itself, np.inf, distances)
        farthest = np.partition(distances, self.number - 1, axis=1)[:, self.number - 1, None]
        is_nearer = distances < farthest - slack
        return is_nearer, ~is_nearer & (distances <= farthest + slack)

    def _drawn(self, targets: Integers, words: NDArray[np.uint64], pool: Integers) -> Integers:
        """Distractors of some rounds, see `of`."""
        is_sure, is_drawn = self._similar(targets, pool)
        self._require_enough(targets, is_drawn.sum(1))
        chosen = np.empty(words.shape, dtype=np.int64)
        num_sure = is_sure.sum(1)
        rows, found = np.nonzero(is_sure)
        chosen[rows, np.arange(len(rows)) - (np.cumsum(num_sure) - num_sure)[rows]] = pool[found]

        # Every object that may be drawn, by round and differing attributes, in a random order within these.
        rows, found = np.nonzero(is_drawn)
        order = mixed(words[rows, 0] + pool[found].astype(np.uint64))
        kinds = np.zeros(len(rows), dtype=np.uint64)
        if self.values is not None:
            differs = self.values[targets[rows]] != self.values[pool[found]]
            kinds = (differs * mixed(np.arange(1, differs.shape[1] + 1, dtype=np.uint64))).sum(
                1, dtype=np.uint64
            )
        by_kind = np.lexsort((order, kinds, rows))
        rows, found, kinds = rows[by_kind], found[by_kind], kinds[by_kind]
        is_first = np.ones(len(rows), dtype=bool)
        is_first[1:] = (rows[1:] != rows[:-1]) | (kinds[1:] != kinds[:-1])
        starts = np.flatnonzero(is_first)
        left, rounds = np.diff(np.append(starts, len(rows))), rows[starts]
        for column in range(self.number):
            asking = np.flatnonzero(num_sure <= column)
            is_left = left > 0
            before = np.cumsum(is_left)
            first = np.searchsorted(rounds, asking)
            skipped: Integers = before[first] - is_left[first]
            choices = np.bincount(rounds, is_left, len(targets)).astype(np.uint64)[asking]
            places = np.searchsorted(before, skipped + (words[asking, column] % choices).astype(np.int64) + 1)
            chosen[asking, column] = pool[found[starts[places]]]
            starts[places] += 1
            left[places] -= 1
        return chosen
