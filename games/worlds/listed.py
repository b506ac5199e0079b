"""Worlds with built-in lists of objects: handwritten digits, events, and meanings of a semantic space."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ecsuite.games.worlds.object_worlds import ObjectListOptions, ObjectListWorld
from ecsuite.games.worlds.objects import ObjectList
from ecsuite.games.worlds.world import RoundSpec, RunSizes
from ecsuite.grammars.clauses import ATTRIBUTES, all_events
from ecsuite.parts.config import Count, Levels, Positive
from ecsuite.spaces.kinds import SpaceOptions

BRIGHTEST = 16
"""Value of a white pixel."""
NAMES = tuple(f"digit={digit}" for digit in range(10))
"""Classes as concepts."""


class DigitsWorld(ObjectListWorld):
    """The digits of scikit-learn (Alpaydin & Kaynak 1998, UCI), as vectors of 64 pixels from 0 to 1.

    The meaning is the digit, which is the answer in the task `reconstruction`.
    """

    Options = ObjectListOptions
    data_files: ClassVar[tuple[str, ...]] = ()
    source = "digits"
    default_perceptions = ("mlp", "mlp")
    names_values = shares_objects = True

    def read(self, source: str, trained: ObjectListWorld | None) -> ObjectList:
        """See `ObjectListWorld`."""
        from sklearn.datasets import load_digits  # imported here, as it takes half a second

        images, classes = load_digits(return_X_y=True)
        rows = np.arange(len(images))
        return ObjectList(
            source=source,
            table=(images / BRIGHTEST).astype(np.float32),
            names=(NAMES,),
            values_table=classes.astype(np.int64)[:, None],
            rows=rows,
            columns={"image": rows},
        )


class EventsWorld(ObjectListWorld):
    """Events with an agent, a patient and an action; agent and patient are different entities of one set.

    As in Lian et al. 2023 (arXiv 2301.13083). Agents see one-hot values; grammar `clauses` describes these events.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(ObjectListOptions):
        """Options of the world."""

        entities: Levels = 10
        """Number of entities, each of which can be agent or patient."""
        actions: Count = 8
        """Number of actions."""

    data_files: ClassVar[tuple[str, ...]] = ()
    source = "events"
    default_perceptions = ("identity", "tanh")

    def __init__(self, options: Options, *, rounds: RoundSpec, sizes: RunSizes, trained: None = None) -> None:
        super().__init__(options, rounds=rounds, sizes=sizes)

    def read(self, source: str, trained: ObjectListWorld | None) -> ObjectList:
        """See `ObjectListWorld`."""
        entities, actions = self.options.entities, self.options.actions
        events = all_events(entities, actions)
        return ObjectList(
            source=source,
            table=events,
            names=[
                tuple(f"{attribute}={value}" for value in range(number))
                for attribute, number in zip(ATTRIBUTES, (entities, entities, actions), strict=True)
            ],
            values_table=events,
            rows=None,
            columns={},
        )


class SpaceWorld(ObjectListWorld):
    """Meanings of a semantic space, see `ecsuite.spaces`: agents see positions of meanings, which occur with p(m).

    For colours, agents see centred and scaled CIELAB coordinates; for a user's table, p(u|m). With
    `distractors: nearest` the candidates of a round are the colours around the target. The corpus names each meaning by
    number, or by its name in the table, as metric `efficiency` expects with the same space.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(ObjectListOptions):
        """Options of the world."""

        space: str = "colour"
        """colour: the World Color Survey, see `ecsuite data wcs`; or a table p(u|m), `./space.csv`."""
        variance: Positive | None = None
        """Variance of the Gaussian p(u|m) of space colour; 64 by default."""
        need: Literal["space", "uniform", "power_law"] = "space"
        """p(m): of the space, uniform, or by the rank of the meaning."""

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
