"""A world of the objects of a user's table or npz file, one target a round."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ecsuite.games.worlds.object_lists import (
    ObjectListWorld,
    OwnListOptions,
    described_by,
    shown_places,
)
from ecsuite.games.worlds.object_tables import ObjectTable, read_objects
from ecsuite.games.worlds.world import Batch, Integers, RoundSpec, RunSizes, one_hot


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

    def __init__(
        self,
        options: Options,
        *,
        rounds: RoundSpec,
        sizes: RunSizes,
        trained: "OwnObjectsWorld | None" = None,
    ) -> None:
        super().__init__(options, rounds, sizes)
        self.table: ObjectTable = read_objects(
            options.objects or "",
            options.numeric,
            None if trained is None else trained.table,
            options.columns,
        )
        table = self.table
        self.notes = table.notes
        counts = tuple(len(names) for names in table.names)
        if counts and (table.features is None or rounds.needs_values):
            self.num_values = counts
        self.most_values = max(counts, default=0)
        self.value_names = table.names
        width = len(counts) * self.most_values if table.features is None else table.features.shape[1]
        self.object_shape = (width,)
        meanings = table.objects if table.features is None else table.features
        columns = ({} if table.features is None else {"row": table.rows}) | dict(table.kept)
        described = described_by(table.phrases, table.names, meanings, **columns)
        self._list(described, table.is_held_out, trained)

    @property
    def shows_values(self) -> bool:
        """Whether agents see attribute values, not features."""
        return self.table.features is None

    def batch_of(self, candidates: Integers, labels: NDArray[np.bool_]) -> Batch:
        """See the base class. Objects are laid out by place."""
        table = self.table
        first = np.arange(len(candidates))[:, None] * candidates.shape[1]
        flat = candidates.ravel()
        return Batch(
            objects=(table.objects if table.features is None else table.features)[flat],
            shown=first + shown_places(labels, self.rounds.sender_sees_all),
            num_positive=1,
            candidates=None,
            labels=labels,
            values=None if self.num_values is None else table.objects[flat],
            rules=candidates[labels],
            ids=table.rows[flat],
        )

    def vectors(self, objects: Integers) -> NDArray[np.generic]:
        """The features, or the values one-hot. See the base class."""
        if self.table.features is not None:
            return self.table.features[objects]
        return one_hot(torch.from_numpy(self.table.objects[objects]), self.most_values, torch.float32).numpy()

    def features(self, objects: Tensor, dtype: torch.dtype) -> Tensor:
        """One-hot attribute values, concatenated; or the features. See `World`."""
        if self.shows_values:
            return one_hot(objects, self.most_values, dtype)
        return super().features(objects, dtype)
