"""A world of the objects of a user's table, one target a round."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ecsuite.config import ConfigError, Share, unknown_name
from ecsuite.games.worlds.attributes import SingleObjectWorld
from ecsuite.games.worlds.object_tables import read_objects
from ecsuite.games.worlds.world import Integers, RoundSpec, RunSizes, World
from ecsuite.randomness import distinct_draws, random_words


class OwnObjectsWorld(SingleObjectWorld):
    """The objects of a table, each equally likely; the candidates of a round are distinct.

    Raises:
        ConfigError: If the table can't be used, or has too few objects.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the world."""

        objects: str | None = None
        """The table: .csv or .tsv with a header, .json or .parquet; a row an object, a column an attribute."""
        held_out: Share = 0.0
        """Share of the objects that are held out from training; evaluations are then about these."""
        held_out_value: str | None = None
        """Hold out the objects with this value, such as color=red, instead of a share."""

        def __post_init__(self) -> None:
            """Check that there is one way to hold objects out."""
            if self.held_out and self.held_out_value:
                raise ConfigError("held_out_value: expected no held_out beside it")

    data_files = ("objects",)

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes) -> None:
        if options.objects is None:
            raise ConfigError("world.objects: expected a table of objects, such as --objects objects.csv")
        table = read_objects(Path(options.objects))
        counts = [len(names) for names in table.names]
        super().__init__(rounds, sizes, len(counts), max(counts))
        self.num_values, self.value_names, self.notes = tuple(counts), table.names, table.notes
        self.table, self.num_candidates = table, 1 + self.num_distractors
        self.objects_of_split = self._split(options)
        fewest = min((len(each) for each in self.objects_of_split.values()), default=len(table.objects))
        if fewest < self.num_candidates:
            raise ConfigError(
                f"{self.num_candidates} distinct candidates need as many objects, but {options.objects} has {fewest}"
                f"{' in a split' if self.objects_of_split else ''}: lower task.num_distractors"
            )

    def examples(self, split: str, indices: Integers) -> tuple[Integers, Integers]:
        """See the base class."""
        allowed = self.objects_of_split.get(split, np.arange(len(self.table.objects)))
        draws = random_words(self.seed, split, indices, self.num_candidates + 1)
        chosen = allowed[distinct_draws(draws[:, :-1], len(allowed))]
        targets = (draws[:, -1:] % np.uint64(self.num_candidates)).astype(np.int64)
        return self.table.objects[chosen], targets

    def distinct_meanings(self, number: int) -> Integers:
        """The objects in the order of the table."""
        return self.table.objects[:number]

    def extra_evaluations(self) -> dict[str, tuple[World, str]]:
        """Training objects in new rounds, if evaluations are about held-out objects. See `World`."""
        return {"seen objects": (self, "seen")} if self.objects_of_split else {}

    def _split(self, options: Options) -> dict[str, Integers]:
        """The objects of each split; empty where none are held out."""
        number = len(self.table.objects)
        if options.held_out_value is not None:
            is_held_out = self._has(options.held_out_value)
        elif options.held_out:
            order = np.random.default_rng([self.seed, *b"held out"]).permutation(number)
            is_held_out = np.isin(np.arange(number), order[: round(options.held_out * number)])
        else:
            return {}
        trained, held_out = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        self.splits = ("train", "valid", "test", "seen", "all")
        return {"train": trained, "seen": trained, "valid": held_out, "test": held_out}

    def _has(self, value: str) -> NDArray[np.bool_]:
        """Which objects have a value, (num_objects,)."""
        for place, names in enumerate(self.value_names):
            if value in names:
                found: NDArray[np.bool_] = self.table.objects[:, place] == list(names).index(value)
                return found
        raise unknown_name("value", value, [name for names in self.value_names for name in names])
