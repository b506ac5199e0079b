"""A world of the objects of a user's table or npz file, one target a round."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ecsuite.games.worlds.object_lists import ObjectListWorld, OwnListOptions
from ecsuite.games.worlds.object_tables import ObjectTable, read_objects


class OwnObjectsWorld(ObjectListWorld):
    """The objects of a table, whose columns are attributes or features.

    Raises:
        ConfigError: If the table can't be used, or has too few objects.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OwnListOptions):
        """Options of the world."""

        numeric: Literal["bins", "features"] = "bins"
        """bins: a column of many numbers is sorted into five bins. features: agents see the numbers, scaled."""
        columns: Mapping[str, str] = field(default_factory=dict)
        """Roles of columns where their names do not say them: `{trial: kept, "Unnamed: 0": kept}`."""

    default_perceptions = ("identity", "tanh")
    expected_source = "a table of objects, such as --objects objects.csv"

    objects: ObjectTable

    def read(self, source: str, trained: ObjectListWorld | None) -> ObjectTable:
        """See `ObjectListWorld`."""
        coding = trained.objects if isinstance(trained, OwnObjectsWorld) else None
        return read_objects(source, self.options.numeric, coding, self.options.columns)
