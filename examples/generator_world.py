"""A world whose objects come from an endless generator: points in a square, all different."""

from dataclasses import dataclass

import numpy as np

from ecsuite.games.worlds.world import Batch, World
from ecsuite.parts.config import Levels


class Points(World):
    """World of points: agents see coordinates, and the meaning is the cell of a grid."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        cells: Levels = 5
        """Cells along each side."""

    shows_values = False  # objects are coordinates, not the values of attributes

    def __init__(self, options, *, rounds, sizes):
        super().__init__(rounds, sizes)
        self.cells, self.object_shape = options.cells, (2,)
        self.num_values = (options.cells, options.cells)
        self.value_names = [[f"{axis}={cell}" for cell in range(options.cells)] for axis in "xy"]

    def draw(self, split, number, size):
        """Draw batch `number` of a split, a pure function of both."""
        rng = np.random.default_rng([self.seed, *split.encode(), number])
        num_candidates = 1 + self.num_distractors
        points = rng.random((size * num_candidates, 2))
        labels = np.arange(num_candidates) == rng.integers(num_candidates, size=(size, 1))
        return Batch(
            objects=points.astype(np.float32),
            shown=np.flatnonzero(labels)[:, None],
            num_positive=1,
            candidates=None,  # each round has points of its own
            labels=labels,
            values=(points * self.cells).astype(np.int64),
        )
