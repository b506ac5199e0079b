"""What is held out from training: parts drawn at random, or what has given values; and the splits that follow."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.objects import Members, Product, Selection
from ecsuite.games.worlds.world import Integers
from ecsuite.runtime.errors import ConfigError, unknown_name

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

    members: Mapping[str, Integers | Selection] = field(default_factory=dict)
    """The numbers of a split; a split that is not there has all of them."""
    candidates: CandidatePool = "all"
    """The objects that candidates of held-out rounds are drawn from."""

    @classmethod
    def of(
        cls,
        trained: Integers | Selection,
        held_out: Integers | Selection | None,
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
        trained, held_out = (Selection(objects, attributes, which) for which in (~is_held_out, is_held_out))
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
        return members.contains(numbers) if isinstance(members, Selection) else np.isin(numbers, members)

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
