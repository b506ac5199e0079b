"""A world of the rows of a CSV file, as an example of a world; `ecsuite train-game objects.csv` does more."""

import csv
from dataclasses import dataclass

import numpy as np

from ecsuite.games.worlds.world import Batch, World, one_hot
from ecsuite.runtime.errors import ConfigError


class CsvWorld(World):
    """World in which each row is an object, and each column an attribute."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        file: str = "objects.csv"
        """The table, with a header."""

    data_files = ("file",)  # its content belongs to the run

    def __init__(self, options, *, rounds, sizes):
        super().__init__(rounds, sizes)
        try:
            with open(options.file, newline="") as file:
                header, *rows = csv.reader(file)
        except OSError as error:
            raise ConfigError(f"{options.file}: {error.strerror}") from None
        columns = [sorted(set(column)) for column in zip(*rows, strict=True)]
        self.value_names = [
            [f"{name}={value}" for value in values] for name, values in zip(header, columns, strict=True)
        ]
        places = [{value: place for place, value in enumerate(values)} for values in columns]
        self.objects = np.array([[at[cell] for at, cell in zip(places, row, strict=True)] for row in rows])
        self.num_values = tuple(map(len, columns))
        self.object_shape = (len(columns) * max(self.num_values),)

    def draw(self, split, number, size):
        """Draw different candidates; the target has a random position."""
        rng = np.random.default_rng([self.seed, *split.encode(), number])
        num_candidates = 1 + self.num_distractors
        chosen = np.stack([rng.permutation(len(self.objects))[:num_candidates] for _ in range(size)])
        labels = np.arange(num_candidates) == rng.integers(num_candidates, size=(size, 1))
        objects = self.objects[chosen.ravel()]
        return Batch(
            objects=objects,
            shown=np.flatnonzero(labels)[:, None],
            num_positive=1,
            candidates=None,
            labels=labels,
            values=objects,
        )

    def features(self, objects, dtype):
        """Return one-hot attribute values."""
        return one_hot(objects, max(self.num_values), dtype)
