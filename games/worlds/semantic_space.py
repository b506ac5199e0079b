"""A world of the meanings of a semantic space, which are targets as often as they are needed."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ecsuite.games.worlds.object_lists import ObjectListOptions, ObjectListWorld
from ecsuite.games.worlds.objects import ObjectList
from ecsuite.games.worlds.world import RoundSpec, RunSizes
from ecsuite.parts.config import Positive
from ecsuite.spaces.kinds import SpaceOptions


class SpaceWorld(ObjectListWorld):
    """Meanings of a semantic space, see `ecsuite.spaces`: agents see where they are, and need them with p(m).

    Of colours, agents see CIELAB, centred and divided by one number; of a table of one's own, p(u|m). With
    `distractors: nearest` the candidates of a round are the colours around the target. The corpus names each meaning by
    its number, or its name in the table, as metric `efficiency` takes it with the same space.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(ObjectListOptions):
        """Options of the world."""

        space: str = "colour"
        """colour: the World Color Survey, see `ecsuite data wcs`; or a table p(u|m), `./space.csv`."""
        variance: Positive | None = None
        """colour: of the Gaussian p(u|m); 64 if it is not given."""
        need: Literal["space", "uniform", "power_law"] = "space"
        """p(m): that of the space, the same for all, or by the rank of the meaning."""

    data_files: ClassVar[tuple[str, ...]] = ()
    source = "space"
    default_perceptions = ("mlp", "mlp")
    names_values = shares_objects = True
    options: Options

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes, trained: None = None) -> None:
        chosen = SpaceOptions(space=options.space, variance=options.variance, need=options.need)
        space = chosen.make()
        self.space = chosen.needed(space, np.ones((len(space), 1)))
        super().__init__(options, rounds=rounds, sizes=sizes)
        if options.need != "uniform":
            self.probabilities = self.space.need

    def read(self, source: str, trained: ObjectListWorld | None) -> ObjectList:
        """See `ObjectListWorld`."""
        space, numbers = self.space, np.arange(len(self.space))
        points = space.beliefs if space.points is None else space.points
        return ObjectList(
            source=f"space {space.name}",
            table=points.astype(np.float32),
            names=(tuple(f"{space.attribute}={space.word(number)}" for number in numbers.tolist()),),
            values_table=numbers[:, None],
            meanings=space.vectors,
            rows=numbers,
            columns={},
        )
