"""A world of events: who does what to whom."""

from dataclasses import dataclass
from typing import ClassVar

from ecsuite.games.worlds.object_lists import ObjectListOptions, ObjectListWorld
from ecsuite.games.worlds.objects import ObjectList
from ecsuite.games.worlds.world import RoundSpec, RunSizes
from ecsuite.grammars.clauses import ATTRIBUTES, all_events
from ecsuite.parts.config import Count, Levels


class EventsWorld(ObjectListWorld):
    """Events with an agent, a patient and an action, of which the first two are of the same entities and never equal.

    As in Lian et al. 2023 (arXiv 2301.13083). Agents see one-hot values; grammar `clauses` speaks of these events.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(ObjectListOptions):
        """Options of the world."""

        entities: Levels = 10
        """Number of entities, each of which may be agent or patient."""
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
