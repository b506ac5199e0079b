"""Objects of a world by index: combinations of values or a list, and splits for training and evaluation."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import SPLIT
from ecsuite.games.worlds.world import Description, Integers, attribute_names, describe
from ecsuite.runtime.errors import ConfigError, unknown_name

MAX_TABLE = 2**16
"""Maximum number of combinations of values that are stored as a table."""


OWN_SPLIT = f"{SPLIT} (kept)"
"""Column of a corpus with a table's own split of each object, such as `dev`."""


class Objects(ABC):
    """Objects with indices from 0."""

    number: int
    """Number of objects."""
    names: Sequence[Sequence[str]]
    """Names of the values of each attribute as concepts, such as `color=red`; empty if objects have no values."""

    @abstractmethod
    def seen(self, numbers: Integers) -> NDArray[Any]:
        """Objects as agents see them, (num_objects, ...): attribute values, features, or images of bytes."""

    @abstractmethod
    def values(self, numbers: Integers) -> Integers:
        """Attribute values of objects, (..., num_attributes), from their indices, (...)."""

    def all_values(self) -> Integers:
        """Attribute values of all objects, in order, (num_objects, num_attributes)."""
        return self.values(np.arange(self.number))

    def ids(self, numbers: Integers) -> Integers | None:
        """Number of each object in its source, such as its row in a file; None without a source."""
        return None


class Product(Objects):
    """All combinations of attribute values; the last attribute varies fastest.

    Args:
        num_values: Number of values of each attribute.
        names: Names of the values of each attribute; empty: `attribute0=3`.

    Raises:
        ConfigError: If there are more combinations than 63-bit indices.
    """

    def __init__(self, num_values: Sequence[int], names: Sequence[Sequence[str]] = ()) -> None:
        if len(num_values) > 63 or prod(num_values) >= 2**63:
            raise ConfigError(
                f"{len(num_values)} attributes of {max(num_values)} values make more than 2^63 objects: "
                "lower world.num_attributes or world.num_values"
            )
        self.number = prod(num_values)
        self.steps = np.array([prod(num_values[place + 1 :]) for place in range(len(num_values))], np.int64)
        """Index difference of successive values of each attribute, (num_attributes,)."""
        self.bases = num_values[0] if len(set(num_values)) == 1 else np.array(num_values, dtype=np.int64)
        """Number of values of each attribute, (num_attributes,), or of all attributes."""
        self.names = names or attribute_names(num_values)
        self.table = self._computed(np.arange(self.number)) if self.number <= MAX_TABLE else None
        """Values of each object, for fast look-up; None if there are too many objects."""

    def values(self, numbers: Integers) -> Integers:
        """See `Objects`."""
        return self._computed(numbers) if self.table is None else self.table[numbers]

    seen = values
    """Agents see the values."""

    def _computed(self, numbers: Integers) -> Integers:
        """Digits of indices, (..., num_attributes)."""
        values: Integers = numbers[..., None] // self.steps % self.bases
        return values

    def numbers(self, values: Integers) -> Integers:
        """Indices of objects with these values, (...), from (..., num_attributes)."""
        numbers: Integers = values @ self.steps
        return numbers


class SelectedCombinations:
    """Combinations with selected values in a few attributes and any values in the others, without a list.

    Args:
        objects: All combinations.
        attributes: The restricted attributes.
        is_chosen: Mask of the selected combinations of their values, the last attribute varying fastest.
    """

    def __init__(self, objects: Product, attributes: Sequence[int], is_chosen: NDArray[np.bool_]) -> None:
        counts = [len(names) for names in objects.names]
        self.objects, self.attributes, self.chosen = objects, list(attributes), np.flatnonzero(is_chosen)
        self.others = [place for place in range(len(counts)) if place not in self.attributes]
        self.few = Product([counts[place] for place in self.attributes])
        self.rest = Product([counts[place] for place in self.others])

    def __len__(self) -> int:
        """Number of selected combinations."""
        return len(self.chosen) * self.rest.number

    def __getitem__(self, places: Integers) -> Integers:
        """Indices of the selected objects at positions, from 0, (...)."""
        values = np.empty((*places.shape, len(self.objects.names)), dtype=np.int64)
        values[..., self.attributes] = self.few.values(self.chosen[places // self.rest.number])
        values[..., self.others] = self.rest.values(places % self.rest.number)
        return self.objects.numbers(values)

    def contains(self, numbers: Integers) -> NDArray[np.bool_]:
        """Whether objects are selected, (...)."""
        values = self.objects.values(numbers)[..., self.attributes]
        return np.isin(self.few.numbers(values), self.chosen)


Members = Integers | SelectedCombinations | None
"""Indices of objects, in order; None: all objects."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectList(Objects):
    """Objects of a file, a folder or a data set, in order."""

    source: str
    """Name of the source, for messages."""
    table: NDArray[Any]
    """Objects as agents see them, (num_objects, ...)."""
    names: Sequence[Sequence[str]] = ()
    """Names of the values of each attribute as concepts."""
    values_table: Integers
    """Attribute values of objects, (num_objects, num_attributes)."""
    phrases: Integers | None = None
    """Values that are concepts, as `values_table`, with `FREE` for other values; None: all values are concepts."""
    meanings: NDArray[Any] | None = None
    """Meanings in a corpus, (num_objects, width); None: attribute values."""
    rows: Integers | None
    """Number of each object in its source, (num_objects,); None: no numbers."""
    is_held_out: NDArray[np.bool_] | None = None
    """Mask of objects that the source itself holds out from training; None: undefined."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Further columns of a corpus about the objects, (num_objects,)."""
    notes: tuple[str, ...] = ()
    """Messages about the treatment of the source."""

    @property
    def number(self) -> int:  # type: ignore[override]
        """Number of objects."""
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
        """Describe all objects as rules: meanings, and values as concepts."""
        meanings = self.values_table if self.meanings is None else self.meanings
        if not self.names:
            return Description(meanings=meanings, concepts=None, concept_names=(), columns=self.columns)
        phrases = self.values_table if self.phrases is None else self.phrases
        return replace(describe(phrases, self.names), meanings=meanings, columns=self.columns)


RARE = "rare"
"""Split of objects with a rare value that are not in training."""
NOT_TESTED = (
    "world.candidates=split: all candidates of a held-out round are held out, so agents need not communicate their "
    "common values: the combination is not tested"
)
"""Message about held-out rounds whose candidates are all held out."""
MAX_SPLIT_OBJECTS = 2**22
"""Maximum number of objects from which some can be held out with a table."""
KEY = "world.held_out_value"
HeldOutValue = str | tuple[str, ...] | None
"""Option: held-out combination of values, such as `shape=cup,color=red`, or several of them; None: no objects."""
CandidatePool = Literal["all", "split"]
"""Option: objects that candidates of held-out rounds are drawn from. all: all objects, so that agents have to
distinguish the held-out target from training objects. split: only held-out objects, as in some papers; their common
values then need not be communicated."""


def require_held_out(candidates: CandidatePool, is_any_held_out: object) -> None:
    """Raise `ConfigError` if candidates are restricted to held-out objects, but no object is held out."""
    if candidates == "split" and not is_any_held_out:
        raise ConfigError("world.candidates: expected all, since nothing is held out")


@dataclass(frozen=True, kw_only=True, slots=True)
class Subsets:
    """Objects, or rules, of each split, by index."""

    members: Mapping[str, Integers | SelectedCombinations] = field(default_factory=dict)
    """Indices of each split; a missing split has all objects."""
    candidates: CandidatePool = "all"
    """Objects that candidates of held-out rounds are drawn from."""

    @classmethod
    def of(
        cls,
        trained: Integers | SelectedCombinations,
        held_out: Integers | SelectedCombinations | None,
        candidates: CandidatePool = "all",
        **further: Integers,
    ) -> "Subsets":
        """Train on `trained`; evaluate on `held_out`, or on `trained` if None; plus further named splits."""
        evaluated = trained if held_out is None else held_out
        members = {"train": trained, "seen": trained, "valid": evaluated, "test": evaluated, **further}
        return cls(members=members, candidates=candidates)

    @classmethod
    def without(cls, is_held_out: NDArray[np.bool_], candidates: CandidatePool = "all") -> "Subsets":
        """Train without the held-out objects, and evaluate on them; `is_held_out`: (total,)."""
        return cls.of(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out), candidates)

    @classmethod
    def without_values(
        cls, combinations: str | tuple[str, ...], objects: Product, candidates: CandidatePool = "all"
    ) -> "Subsets":
        """Train without the objects that have all values of one of the combinations; see `have_values`."""
        if objects.number <= MAX_SPLIT_OBJECTS:
            is_held_out = have_values(combinations, objects.all_values(), objects.names)
            return cls.without(is_held_out, candidates)
        asked = values_in(combinations, objects.names)
        attributes = sorted({attribute for values in asked.values() for attribute, _ in values})
        few = Product([len(objects.names[attribute]) for attribute in attributes])
        if few.number > MAX_SPLIT_OBJECTS:
            raise ConfigError(
                f"{KEY}: expected attributes with at most {MAX_SPLIT_OBJECTS:,} combinations, got {few.number:,}"
            )
        values = np.zeros((few.number, len(objects.names)), dtype=np.int64)
        values[:, attributes] = few.all_values()
        is_held_out = have_values(combinations, values, objects.names)
        trained, held_out = (
            SelectedCombinations(objects, attributes, which) for which in (~is_held_out, is_held_out)
        )
        return cls.of(trained, held_out, candidates)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all splits."""
        if not self.members:
            return ("train", "valid")
        return ("train", "valid", "test", "seen", "all", *(RARE,) * (RARE in self.members))

    @property
    def evaluates_others(self) -> bool:
        """Whether evaluations use other objects than training."""
        return bool(self.members) and self.members["valid"] is not self.members["train"]

    def pool(self, split: str) -> Members:
        """Objects from which the candidates of a split are drawn: by default all objects if targets are held out."""
        members = self.members.get(split)
        if self.candidates == "split" or members is self.members.get("train"):
            return members
        return None

    def column(self, numbers: Integers) -> dict[str, NDArray[Any]]:
        """Column `split` of messages about objects, (num_rows,); empty if no object is held out."""
        if not self.evaluates_others and RARE not in self.members:
            return {}
        names = split_names(~self._are_in("train", numbers))
        if RARE in self.members:
            names = np.where(self._are_in(RARE, numbers), RARE, names)
        return {"split": names}

    def trained_note(self, trained: "Subsets", word: str) -> str | None:
        """Message if objects held out here were training objects in other subsets of the same world.

        Args:
            trained: Subsets in training.
            word: Plural noun of the held-out items, for the message.
        """
        if not self.evaluates_others or trained.members is self.members:
            return None
        held_out = self.members["valid"]
        numbers = held_out[np.arange(min(len(held_out), MAX_SPLIT_OBJECTS))]
        number = int(trained._are_in("train", numbers).sum()) if trained.members else len(numbers)
        if not number:
            return None
        return (
            f"{number:,} of the {len(numbers):,} {word} held out here were in training, so their "
            "accuracy is not about new ones"
        )

    def _are_in(self, split: str, numbers: Integers) -> NDArray[np.bool_]:
        """Mask of members of a split, (num_rows,)."""
        members = self.members[split]
        return (
            members.contains(numbers)
            if isinstance(members, SelectedCombinations)
            else np.isin(numbers, members)
        )

    def require(self, least: int, source: str, total: int) -> None:
        """Raise `ConfigError` if a split has fewer objects than candidates of a round, or no target."""
        sizes = {name: len(self.members[name]) for name in ("train", "valid", RARE) if name in self.members}
        pools = [(name, self.pool(name)) for name in sizes]
        fewest = [total if pool is None else len(pool) for _, pool in pools]
        are = ", ".join(f"{size} in {name}" for name, size in sizes.items())
        if min(sizes.values(), default=total) < 1:
            raise ConfigError(f"of {source} there are {are}: expected some in each: hold out others")
        if min(fewest, default=total) < least:
            raise ConfigError(
                f"{least} distinct candidates need {least} objects, but of {source} there are {are or total}: "
                f"lower task.num_distractors{', or hold out others' if self.members else ''}"
            )


def divided(members: Integers, sizes: Sequence[int], rng: np.random.Generator) -> list[Integers]:
    """Split members at random into parts of these sizes and a rest, each sorted."""
    return [np.sort(part) for part in np.split(rng.permutation(members), np.cumsum(sizes))]


def random_share(members: Integers, share: float, seed: int, stream: str) -> tuple[Integers, Integers]:
    """Split members at random into a share and the rest, each sorted."""
    rng = np.random.default_rng([seed, *stream.encode()])
    drawn, rest = divided(members, [round(share * len(members))], rng)
    return drawn, rest


def have_values(
    combinations: str | tuple[str, ...],
    values: Integers,
    names: Sequence[Sequence[str]],
    word: str = "object",
) -> NDArray[np.bool_]:
    """Mask of objects that have all values of one of the combinations, (num_objects,).

    Args:
        combinations: Comma-separated names of values, such as `shape=cup,color=red`.
        values: Attribute values, (num_objects, num_attributes).
        names: Names of the values of each attribute.
        word: Noun of the items, for messages.

    Raises:
        ConfigError: If a name is unknown, no object has a combination, or all objects have one.
    """
    are_held_out = np.zeros(len(values), dtype=bool)
    for text, asked in values_in(combinations, names).items():
        attributes, wanted = np.array(asked).T
        has_all = (values[:, attributes] == wanted).all(1)
        if not has_all.any():
            raise ConfigError(f"{KEY}: no {word} has {text}: expected a combination that some {word}s have")
        are_held_out |= has_all
    if are_held_out.all():
        raise ConfigError(f"{KEY}: all {len(values)} {word}s have it: none is left for training")
    return are_held_out


def values_in(
    combinations: str | tuple[str, ...], names: Sequence[Sequence[str]]
) -> dict[str, list[tuple[int, int]]]:
    """Attributes and values of each combination; see `have_values`."""
    places = {
        name: (attribute, value)
        for attribute, of_attribute in enumerate(names)
        for value, name in enumerate(of_attribute)
    }
    texts = (combinations,) if isinstance(combinations, str) else combinations
    if not texts:
        raise ConfigError(f"{KEY}: expected values such as color=red, got []")
    if not places:
        raise ConfigError(f"{KEY}: no object has the value {texts[0]}: objects have no values")
    return {text: [places[name] for name in _names_in(text, places)] for text in texts}


def _names_in(text: str, known: Collection[str]) -> list[str]:
    """Split comma-separated names; a name may contain commas itself."""
    parts, names = text.split(","), list[str]()
    while parts:
        starts = [",".join(parts[:end]).strip() for end in range(len(parts), 0, -1)]
        name = next((start for start in starts if start in known), None)
        if name is None:
            raise ConfigError(f"{KEY}: {unknown_name('value', parts[0].strip(), known)}")
        names.append(name)
        parts = parts[name.count(",") + 1 :]
    return names


def split_names(is_held_out: NDArray[np.bool_]) -> NDArray[np.str_]:
    """Name the split of each row, `held_out` or `train`, (num_rows,)."""
    return np.where(is_held_out, "held_out", "train")
