"""The objects of a world by number: a list of them, or all combinations of attribute values, which need no list."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import SPLIT
from ecsuite.games.worlds.world import Description, Integers, attribute_names, describe
from ecsuite.runtime.errors import ConfigError

MAX_TABLE = 2**16
"""Most combinations of values that are kept in a table."""


OWN_SPLIT = f"{SPLIT} (kept)"
"""The column of a corpus with what a table itself calls the splits of its objects, such as `dev`."""


class Objects(ABC):
    """Objects with numbers from 0."""

    number: int
    """How many there are."""
    names: Sequence[Sequence[str]]
    """Names of the values of each attribute as concepts, such as `color=red`; none where objects have no values."""

    @abstractmethod
    def seen(self, numbers: Integers) -> NDArray[Any]:
        """What agents see of objects, (num_objects, ...): attribute values, features, or images of bytes."""

    @abstractmethod
    def values(self, numbers: Integers) -> Integers:
        """Attribute values of objects, (..., num_attributes), from their numbers, (...)."""

    def all_values(self) -> Integers:
        """Attribute values of all objects, in their order, (num_objects, num_attributes)."""
        return self.values(np.arange(self.number))

    def ids(self, numbers: Integers) -> Integers | None:
        """The number of each object where it is from, such as its row in a file; None where there is no list."""
        return None


class Product(Objects):
    """All combinations of attribute values; the last attribute varies fastest.

    Args:
        num_values: Number of values of each attribute.
        names: Names of the values of each attribute; empty: `attribute0=3`.

    Raises:
        ConfigError: If 63-bit numbers can't number them.
    """

    def __init__(self, num_values: Sequence[int], names: Sequence[Sequence[str]] = ()) -> None:
        if len(num_values) > 63 or prod(num_values) >= 2**63:
            raise ConfigError(
                f"{len(num_values)} attributes of {max(num_values)} values make more than 2^63 objects: "
                "lower world.num_attributes or world.num_values"
            )
        self.number = prod(num_values)
        self.steps = np.array([prod(num_values[place + 1 :]) for place in range(len(num_values))], np.int64)
        """How far the next value of each attribute is, (num_attributes,)."""
        self.bases = num_values[0] if len(set(num_values)) == 1 else np.array(num_values, dtype=np.int64)
        """The number of values of each attribute, (num_attributes,), or of all."""
        self.names = names or attribute_names(num_values)
        self.table = self._computed(np.arange(self.number)) if self.number <= MAX_TABLE else None
        """The values of each object where these are few, since a look-up is faster; None where they are many."""

    def seen(self, numbers: Integers) -> NDArray[Any]:
        """The values. See `Objects`."""
        return self.values(numbers)

    def values(self, numbers: Integers) -> Integers:
        """See `Objects`."""
        return self._computed(numbers) if self.table is None else self.table[numbers]

    def _computed(self, numbers: Integers) -> Integers:
        """The digits of numbers, (..., num_attributes)."""
        values: Integers = numbers[..., None] // self.steps % self.bases
        return values

    def numbers(self, values: Integers) -> Integers:
        """The numbers of objects with these values, (...), from (..., num_attributes)."""
        numbers: Integers = values @ self.steps
        return numbers


class Selection:
    """The combinations that have some values in a few attributes, and any in the others; there is no list of them.

    Args:
        objects: All combinations.
        attributes: The few attributes.
        is_chosen: Which combinations of their values are selected, the last attribute varying fastest.
    """

    def __init__(self, objects: Product, attributes: Sequence[int], is_chosen: NDArray[np.bool_]) -> None:
        counts = [len(names) for names in objects.names]
        self.objects, self.attributes, self.chosen = objects, list(attributes), np.flatnonzero(is_chosen)
        self.others = [place for place in range(len(counts)) if place not in self.attributes]
        self.few = Product([counts[place] for place in self.attributes])
        self.rest = Product([counts[place] for place in self.others])

    def __len__(self) -> int:
        """How many there are."""
        return len(self.chosen) * self.rest.number

    def __getitem__(self, places: Integers) -> Integers:
        """The numbers of those at places from 0, (...)."""
        values = np.empty((*places.shape, len(self.objects.names)), dtype=np.int64)
        values[..., self.attributes] = self.few.values(self.chosen[places // self.rest.number])
        values[..., self.others] = self.rest.values(places % self.rest.number)
        return self.objects.numbers(values)

    def contains(self, numbers: Integers) -> NDArray[np.bool_]:
        """Which objects are selected, (...)."""
        values = self.objects.values(numbers)[..., self.attributes]
        return np.isin(self.few.numbers(values), self.chosen)


Members = Integers | Selection | None
"""Objects by their numbers, in order; None: all objects."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectList(Objects):
    """Objects of a file, a folder or a data set, in its order."""

    source: str
    """Where they are from, for messages."""
    table: NDArray[Any]
    """What agents see of each, (num_objects, ...)."""
    names: Sequence[Sequence[str]] = ()
    """Names of the values of each attribute as concepts."""
    values_table: Integers
    """Attribute values of each, (num_objects, num_attributes)."""
    phrases: Integers | None = None
    """The values that are concepts of each, as `values_table`, and `FREE` where one is none; None: all are."""
    meanings: NDArray[Any] | None = None
    """The meaning of each in a corpus, (num_objects, width); None: its values."""
    rows: Integers | None
    """The number of each where it is from, (num_objects,); None: they have no numbers."""
    is_held_out: NDArray[np.bool_] | None = None
    """Which of them the source itself keeps from training; None where it does not say."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns of a corpus about them, (num_objects,)."""
    notes: tuple[str, ...] = ()
    """What was done with the source, in lines for people."""

    @property
    def number(self) -> int:  # type: ignore[override]
        """How many there are."""
        return len(self.table)

    def seen(self, numbers: Integers) -> NDArray[Any]:
        """See `Objects`."""
        return self.table[numbers]

    def values(self, numbers: Integers) -> Integers:
        """See `Objects`."""
        return self.values_table[numbers]

    def ids(self, numbers: Integers) -> Integers | None:
        """See `Objects`."""
        return None if self.rows is None else self.rows[numbers]

    def described(self) -> Description:
        """Each as a rule: its meaning, and its values as concepts."""
        meanings = self.values_table if self.meanings is None else self.meanings
        if not self.names:
            return Description(meanings=meanings, concepts=None, concept_names=(), columns=self.columns)
        phrases = self.values_table if self.phrases is None else self.phrases
        return replace(describe(phrases, self.names), meanings=meanings, columns=self.columns)
