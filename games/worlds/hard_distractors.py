"""Distractors that are like the target: with some of its attribute values, or near to it among all objects."""

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.world import Integers
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import distinct_draws

MAX_CHOICES = 2**16
"""Most ways to choose the attributes in which distractors differ: they are a table."""


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
        key, num_differing = "world.shared_values", num_attributes - num_shared
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


def nearest_objects(vectors: NDArray[Any], number: int) -> Integers:
    """The objects nearest to each, by Euclidean distance and without itself, (num_objects, number).

    Args:
        vectors: Each object, (num_objects, width).
        number: How many, less than there are objects.
    """
    from sklearn.neighbors import NearestNeighbors  # half a second, for those who ask

    found = (
        NearestNeighbors(n_neighbors=number + 1).fit(vectors).kneighbors(return_distance=True, X=vectors)[1]
    )
    is_other = found != np.arange(len(vectors))[:, None]
    # Where others are at the same place, the object itself may be missing: then the farthest is left out.
    is_other[is_other.all(1), -1] = False
    nearest: Integers = found[is_other].reshape(len(vectors), number).astype(np.int64)
    return nearest
