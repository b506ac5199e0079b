"""The objects of a world by number: combinations of values or a list, and the splits of training and evaluation."""

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
        """Objects as agents see them, (num_objects, ...): attribute values, features, or images of bytes."""

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

    def values(self, numbers: Integers) -> Integers:
        """See `Objects`."""
        return self._computed(numbers) if self.table is None else self.table[numbers]

    seen = values
    """Agents see the values."""

    def _computed(self, numbers: Integers) -> Integers:
        """The digits of numbers, (..., num_attributes)."""
        values: Integers = numbers[..., None] // self.steps % self.bases
        return values

    def numbers(self, values: Integers) -> Integers:
        """The numbers of objects with these values, (...), from (..., num_attributes)."""
        numbers: Integers = values @ self.steps
        return numbers


class SelectedCombinations:
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


Members = Integers | SelectedCombinations | None
"""Objects by their numbers, in order; None: all objects."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectList(Objects):
    """Objects of a file, a folder or a data set, in its order."""

    source: str
    """Name of their source, for messages."""
    table: NDArray[Any]
    """Each as agents see it, (num_objects, ...)."""
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
    """Notes about the treatment of the source, for people."""

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


RARE = "rare"
"""The split of objects with a rare value that are not in training."""
NOT_TESTED = (
    "world.candidates=split: all candidates of a held-out round are held out, so that agents need not tell what these "
    "have in common: the combination is not tested"
)
"""A line for people about held-out rounds whose candidates are held-out objects alone."""
MAX_SPLIT_OBJECTS = 2**22
"""Most objects of which some can be held out by a table of them."""
KEY = "world.held_out_value"
HeldOutValue = str | tuple[str, ...] | None
"""An option: a combination of values, such as `shape=cup,color=red`, or several of them; None: none is held out."""
CandidatePool = Literal["all", "split"]
"""An option: the objects that candidates of held-out rounds are drawn from. all: every object, so that agents have to
tell the held-out target from what they know. split: held-out objects alone, as in some papers; what these have in
common then need not be said."""


def require_held_out(candidates: CandidatePool, is_any_held_out: object) -> None:
    """Raise `ConfigError` if candidates are to be of a split where nothing is held out."""
    if candidates == "split" and not is_any_held_out:
        raise ConfigError("world.candidates: expected all, since nothing is held out")


@dataclass(frozen=True, kw_only=True, slots=True)
class Subsets:
    """The objects, or the rules, of each split, by their numbers from 0."""

    members: Mapping[str, Integers | SelectedCombinations] = field(default_factory=dict)
    """The numbers of a split; a split that is not there has all of them."""
    candidates: CandidatePool = "all"
    """The objects that candidates of held-out rounds are drawn from."""

    @classmethod
    def of(
        cls,
        trained: Integers | SelectedCombinations,
        held_out: Integers | SelectedCombinations | None,
        candidates: CandidatePool = "all",
        **further: Integers,
    ) -> "Subsets":
        """Training and evaluation: of what is held out or, if that is None, of the same; and further splits."""
        evaluated = trained if held_out is None else held_out
        members = {"train": trained, "seen": trained, "valid": evaluated, "test": evaluated, **further}
        return cls(members=members, candidates=candidates)

    @classmethod
    def without(cls, is_held_out: NDArray[np.bool_], candidates: CandidatePool = "all") -> "Subsets":
        """Training without what is held out, and evaluation of it, (total,)."""
        return cls.of(np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out), candidates)

    @classmethod
    def without_values(
        cls, combinations: str | tuple[str, ...], objects: Product, candidates: CandidatePool = "all"
    ) -> "Subsets":
        """Training without the objects that have all values of one of the combinations; see `have_values`."""
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
        """The names of all splits."""
        if not self.members:
            return ("train", "valid")
        return ("train", "valid", "test", "seen", "all", *(RARE,) * (RARE in self.members))

    @property
    def evaluates_others(self) -> bool:
        """Whether evaluations are about others than training."""
        return bool(self.members) and self.members["valid"] is not self.members["train"]

    def pool(self, split: str) -> Members:
        """The objects from which the candidates of a split are drawn: all of them where its targets are held out."""
        members = self.members.get(split)
        if self.candidates == "split" or members is self.members.get("train"):
            return members
        return None

    def column(self, numbers: Integers) -> dict[str, NDArray[Any]]:
        """The column `split` of messages about these, (num_rows,); none where nothing is held out."""
        if not self.evaluates_others and RARE not in self.members:
            return {}
        names = split_names(~self._are_in("train", numbers))
        if RARE in self.members:
            names = np.where(self._are_in(RARE, numbers), RARE, names)
        return {"split": names}

    def trained_note(self, trained: "Subsets", word: str) -> str | None:
        """A line for people if what is held out here was in training, in other subsets of the same.

        Args:
            trained: The subsets of training.
            word: What is held out, for the line.
        """
        if not self.evaluates_others or trained.members is self.members:
            return None
        held_out = self.members["valid"]
        numbers = held_out[np.arange(min(len(held_out), MAX_SPLIT_OBJECTS))]
        number = int(trained._are_in("train", numbers).sum()) if trained.members else len(numbers)
        if not number:
            return None
        return (
            f"{number:,} of the {len(numbers):,} {word} that are held out here were in training, so that their "
            "accuracy is not of new ones"
        )

    def _are_in(self, split: str, numbers: Integers) -> NDArray[np.bool_]:
        """Which of these are of a split, (num_rows,)."""
        members = self.members[split]
        return (
            members.contains(numbers)
            if isinstance(members, SelectedCombinations)
            else np.isin(numbers, members)
        )

    def require(self, least: int, source: str, total: int) -> None:
        """Raise `ConfigError` if a split has fewer objects than a round has candidates, or no target."""
        sizes = {name: len(self.members[name]) for name in ("train", "valid", RARE) if name in self.members}
        pools = [(name, self.pool(name)) for name in sizes]
        fewest = [total if pool is None else len(pool) for _, pool in pools]
        are = ", ".join(f"{size} in {name}" for name, size in sizes.items())
        if min(sizes.values(), default=total) < 1:
            raise ConfigError(f"of {source} there are {are}: expected some in each, hold out others")
        if min(fewest, default=total) < least:
            raise ConfigError(
                f"{least} distinct candidates need as many objects, but of {source} there are {are or total}: "
                f"lower task.num_distractors{', or hold out others' if self.members else ''}"
            )


def divided(members: Integers, sizes: Sequence[int], rng: np.random.Generator) -> list[Integers]:
    """Parts of these sizes that are drawn at random, one after the other, and the rest; each is sorted."""
    return [np.sort(part) for part in np.split(rng.permutation(members), np.cumsum(sizes))]


def random_share(members: Integers, share: float, seed: int, stream: str) -> tuple[Integers, Integers]:
    """A share of numbers that is drawn at random, and the rest, each sorted."""
    rng = np.random.default_rng([seed, *stream.encode()])
    drawn, rest = divided(members, [round(share * len(members))], rng)
    return drawn, rest


def have_values(
    combinations: str | tuple[str, ...],
    values: Integers,
    names: Sequence[Sequence[str]],
    word: str = "object",
) -> NDArray[np.bool_]:
    """Which objects have all values of one of the combinations, (num_objects,).

    Args:
        combinations: Names of values with commas between them, such as `shape=cup,color=red`.
        values: Attribute values, (num_objects, num_attributes).
        names: Names of the values of each attribute.
        word: What has the values, for messages.

    Raises:
        ConfigError: If a name is unknown, no object has a combination, or all objects have one.
    """
    are_held_out = np.zeros(len(values), dtype=bool)
    for text, asked in values_in(combinations, names).items():
        attributes, wanted = np.array(asked).T
        has_all = (values[:, attributes] == wanted).all(1)
        if not has_all.any():
            raise ConfigError(f"{KEY}: no {word} has {text}: expected a combination that some have")
        are_held_out |= has_all
    if are_held_out.all():
        raise ConfigError(f"{KEY}: all {len(values)} {word}s have it, which leaves none for training")
    return are_held_out


def values_in(
    combinations: str | tuple[str, ...], names: Sequence[Sequence[str]]
) -> dict[str, list[tuple[int, int]]]:
    """The attributes and values of each combination; see `have_values`."""
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
    """The names with commas between them; a name may have commas itself."""
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
    """`held_out` or `train`, (num_rows,)."""
    return np.where(is_held_out, "held_out", "train")
