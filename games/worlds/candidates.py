"""Targets and candidates of rounds: frequencies of objects, random and similar distractors."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.objects import Members, SelectedCombinations
from ecsuite.games.worlds.world import Integers
from ecsuite.parts.config import Positive
from ecsuite.parts.registry import Registry
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.randomness import distinct_draws, mixed

Floats = NDArray[np.float64]

FREQUENCIES = Registry(
    word="frequencies",
    parts={
        "uniform": ("ecsuite.games.worlds.candidates:Uniform", "every object is equally frequent"),
        "power_law": (
            "ecsuite.games.worlds.candidates:PowerLaw",
            "by a power of the rank (Zipf 1935), the first object most often",
        ),
        "given": ("ecsuite.games.worlds.candidates:Given", "a number for each object"),
    },
    base="builtins:object",
    needs=("probabilities",),
)

MAX_OBJECTS = 2**22
"""Most objects whose frequencies may differ: they are a table."""


class Uniform:
    """Every object is equally frequent."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Equal frequencies have no options."""

    def __init__(self, options: Options) -> None:
        pass

    def probabilities(self, num_objects: int) -> Floats | None:
        """None: there is no table, whatever the number of objects."""
        return None


class PowerLaw:
    """The frequency of the object of rank r, from 1, is proportional to r^-exponent (Zipf 1935)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the law."""

        exponent: Positive = 1.0
        """Exponent of the rank; 1: Zipf's law."""

    def __init__(self, options: Options) -> None:
        self.exponent = options.exponent

    def probabilities(self, num_objects: int) -> Floats | None:
        """The probability of each object, (num_objects,).

        Raises:
            ConfigError: If there are more than `MAX_OBJECTS`.
        """
        if num_objects > MAX_OBJECTS:
            raise ConfigError(
                f"world.frequencies: expected at most {MAX_OBJECTS:,} objects, got {num_objects:,}: "
                "lower world.num_attributes or world.num_values"
            )
        return power_law(num_objects, self.exponent)


class Given:
    """Frequencies of the user's own."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of given frequencies."""

        weights: tuple[Positive, ...] = ()
        """The frequency of each object, in any unit: [3, 1.5, 0.5]."""

    def __init__(self, options: Options) -> None:
        self.weights = options.weights

    def probabilities(self, num_objects: int) -> Floats | None:
        """The probability of each object, (num_objects,).

        Raises:
            ConfigError: If there are not as many weights as objects.
        """
        if len(self.weights) != num_objects:
            raise ConfigError(
                f"world.frequencies.weights: expected a list of {num_objects} numbers, one for each object, "
                f"got {len(self.weights)}"
            )
        weights = np.array(self.weights) / max(self.weights)  # their sum is finite
        return np.asarray(weights / weights.sum())


def power_law(number: int, exponent: float) -> Floats:
    """The probabilities of ranks by a power law, (number,); equal ones where the exponent is 0."""
    frequencies = np.arange(1, number + 1) ** -exponent
    return np.asarray(frequencies / frequencies.sum())


def drawn(probabilities: Floats, words: NDArray[np.uint64]) -> Integers:
    """An object for each random word, (batch,), by probabilities up to a factor, (num_objects,)."""
    cumulative = probabilities.cumsum()
    places: Integers = np.searchsorted(cumulative, words / 2.0**64 * cumulative[-1], side="right")
    return places.clip(max=len(cumulative) - 1)


def others_by_frequency(probabilities: Floats, targets: Integers, words: NDArray[np.uint64]) -> Integers:
    """Objects beside targets, all distinct, one after the other by the probabilities of those left.

    Args:
        probabilities: Of each object, (num_objects,), up to a factor.
        targets: (batch,).
        words: Random, (batch, number), with `number` less than the number of objects.
    """
    starts = np.concatenate([[0.0], probabilities.cumsum()])
    chosen = np.concatenate([targets[:, None], np.empty(words.shape, dtype=np.int64)], axis=1)
    for column in range(1, chosen.shape[1]):
        taken = np.sort(chosen[:, :column], axis=1)
        shares = probabilities[taken]
        place = words[:, column - 1] / 2.0**64 * (starts[-1] - shares.sum(1))
        for each, share in zip(taken.T, shares.T, strict=True):  # those taken are left out of the line
            place += np.where(place >= starts[each], share, 0.0)
        found = np.searchsorted(starts, place, side="right") - 1
        chosen[:, column] = _next_left(found.clip(0, len(probabilities) - 1), taken, len(probabilities))
    return chosen[:, 1:]


def _next_left(found: Integers, taken: Integers, total: int) -> Integers:
    """Objects that are not taken: where rounding found one that is, (batch,), the next of `total` in a circle."""
    while (again := (taken == found[:, None]).any(1)).any():
        found = np.where(again, (found + 1) % total, found)
    return found


MOST_UNUSED = 16
"""Up to this ratio of the largest number of an object to those in use, a table of all takes a third of the time of
sorting, or less."""
Words = NDArray[np.uint64]
Distractors = Callable[[Integers, Words], Integers]
"""The distractors of targets, (batch,), by random words, (batch, num_distractors): (batch, num_distractors)."""


def one_target(
    words: Words,
    total: int,
    targets: Members = None,
    pool: Members = None,
    *,
    probabilities: Floats | None = None,
    distractors: Distractors | None = None,
) -> tuple[Integers, Integers]:
    """Rounds of one target among distinct objects.

    Args:
        words: Random, (batch, num_candidates + 1).
        total: Number of objects.
        targets: Objects that targets are drawn from.
        pool: Objects that distractors are drawn from, which may be others.
        probabilities: Of each of `targets`, up to a factor; None: all are equally likely.
        distractors: Draws distractors, by the numbers of targets; None: all sets of objects of the pool are equally
            likely.

    Returns:
        The candidates by their numbers, (batch, num_candidates), and the place of each target, (batch,).
    """
    num_candidates = words.shape[1] - 1
    places = (words[:, -1] % np.uint64(num_candidates)).astype(np.int64)
    size = total if targets is None else len(targets)
    if targets is pool and probabilities is None and distractors is None:
        return members(targets, distinct_draws(words[:, :-1], size)), places
    if probabilities is None:
        drawn_targets = (words[:, 0] % np.uint64(size)).astype(np.int64)
    else:
        drawn_targets = drawn(probabilities, words[:, 0])
    chosen = members(targets, drawn_targets)
    if distractors is not None:
        others = distractors(chosen, words[:, 1:-1])
    elif targets is pool:
        others = members(pool, distinct_others(drawn_targets, words[:, 1:-1], size))
    else:
        assert not isinstance(pool, SelectedCombinations), (
            "a pool of other objects than targets is a list, or has all of them"
        )
        others = others_of(pool, chosen, words[:, 1:-1], total)
    return with_target_at(chosen, others, places), places


def members(of: Members, places: Integers) -> Integers:
    """The objects at places, (...), by their numbers."""
    return places if of is None else of[places]


def distinct_others(targets: Integers, words: Words, total: int) -> Integers:
    """Sets of objects without the target, (batch, number), of `total`; the words are random, (batch, number)."""
    others = distinct_draws(words, total - 1)
    return others + (others >= targets[:, None])


def others_of(pool: Integers | None, targets: Integers, words: Words, total: int) -> Integers:
    """Distinct objects of a pool without the target, which need not be in it, (batch, number).

    Args:
        pool: Numbers of objects, ascending; None: all.
        targets: Their numbers, (batch,).
        words: Random, (batch, number).
        total: Number of all objects.
    """
    if pool is None:
        return distinct_others(targets, words, total)
    places = np.searchsorted(pool, targets).clip(max=len(pool) - 1)
    is_there = pool[places] == targets
    others = np.empty(words.shape, dtype=np.int64)
    if is_there.any():
        others[is_there] = distinct_others(places[is_there], words[is_there], len(pool))
    if not is_there.all():
        others[~is_there] = distinct_draws(words[~is_there], len(pool))
    return pool[others]


def with_target_at(targets: Integers, others: Integers, places: Integers) -> Integers:
    """Candidates with the target at a place, (batch, 1 + number).

    Args:
        targets: (batch,).
        others: (batch, number).
        places: Place of each target among the candidates, from 0, (batch,).
    """
    candidates = np.concatenate([targets[:, None], others], axis=1)
    rounds = np.arange(len(targets))
    candidates[rounds, 0] = candidates[rounds, places]
    candidates[rounds, places] = targets
    return candidates


def each_once(*numbers: Integers) -> tuple[Integers, list[Integers]]:
    """The objects that are in use, each once and in order, and the place of each number among them.

    Args:
        numbers: Objects by number, (batch, any width) each.
    """
    joined = np.concatenate(numbers, axis=1)
    if (last := joined.max(initial=0)) < MOST_UNUSED * joined.size:
        is_used = np.zeros(last + 1, dtype=bool)
        is_used[joined] = True
        used, place_of = np.flatnonzero(is_used), np.empty(last + 1, dtype=np.int64)
        place_of[used] = np.arange(len(used))
        places = place_of[joined]
    else:
        used, places = np.unique(joined, return_inverse=True)
    ends = np.cumsum([each.shape[1] for each in numbers])[:-1]
    return used, np.split(places.reshape(joined.shape), ends, axis=1)


MAX_CHOICES = 2**16
"""Most ways to choose the attributes in which distractors differ: they are a table."""
MAX_COMPARED = 2**22
"""Most pairs of a target and another object that are compared at once."""
CHUNK = 256
"""Targets that are checked at once."""
TIES = 1e-12
"""Squared distances that differ by less, relative to the squared lengths of vectors, are equal."""
SHARED_VALUES = "world.shared_values"


class SharingDistractors:
    """Distractors that have a number of values in common with the target, and no more; all such are equally likely.

    Args:
        num_shared: Values in common.
        num_distractors: Distractors of a round, all different.
        num_attributes: Attributes of an object.
        num_values: Values of each attribute.

    Raises:
        ConfigError: If there are not as many.
    """

    def __init__(self, num_shared: int, num_distractors: int, num_attributes: int, num_values: int) -> None:
        key, num_differing = SHARED_VALUES, num_attributes - num_shared
        if num_distractors == 0:
            raise ConfigError(f"{key}: the task draws no distractors, expected null")
        if num_differing < 1:
            raise ConfigError(
                f"{key}: expected less than the {num_attributes} attributes of an object, got {num_shared}"
            )
        num_choices = comb(num_attributes, num_shared)
        if num_choices > MAX_CHOICES or (total := num_choices * (num_values - 1) ** num_differing) >= 2**62:
            raise ConfigError(
                f"{key}: {num_shared} of {num_attributes} attributes of {num_values} values have too many "
                "combinations: lower world.num_attributes"
            )
        if total < num_distractors:
            raise ConfigError(
                f"{key}: {total} objects share {num_shared} values with a target, and {num_distractors} distractors "
                "are asked for: lower task.num_distractors"
            )
        self.num_values, self.total = num_values, total
        self.differing = np.array(list(combinations(range(num_attributes), num_differing)))

    def of(self, targets: Integers, words: NDArray[np.uint64]) -> Integers:
        """Distractors, (batch, num_distractors, num_attributes).

        Args:
            targets: Attribute values, (batch, num_attributes).
            words: Random, (batch, num_distractors).
        """
        drawn = distinct_draws(words, self.total)
        places = self.differing[drawn % len(self.differing)]  # (batch, num_distractors, num_differing)
        powers = (self.num_values - 1) ** np.arange(places.shape[-1], dtype=np.int64)
        steps = 1 + drawn[..., None] // len(self.differing) // powers % (self.num_values - 1)
        found = np.repeat(targets[:, None], words.shape[1], axis=1)
        changed = (np.take_along_axis(found, places, axis=2) + steps) % self.num_values
        np.put_along_axis(found, places, changed, axis=2)
        return found


class SimilarDistractors:
    """Distractors from a list that are similar to the target, drawn at random among equally similar ones.

    With `num_shared`, they have so many values in common with the target, and no more. Otherwise they are the nearest
    ones: by the number of different values or, of objects without values, by Euclidean distance. Where only some of
    equally near objects are drawn, and with `num_shared`, the attributes in which a distractor differs are drawn first,
    all possible ones being equally likely, and then one of the objects that differ in these: an attribute of many
    values is not asked for more often.

    Args:
        number: Distractors of a round, all different.
        num_shared: Values in common; None: the nearest objects.
        values: Attribute values of all objects, (num_objects, num_attributes); None: they have none.
        vectors: All objects as vectors, (num_objects, width); None: `values` are compared.

    Raises:
        ConfigError: If an object can't share as many values.
    """

    def __init__(
        self,
        number: int,
        num_shared: int | None,
        values: Integers | None,
        vectors: NDArray[Any] | None = None,
    ) -> None:
        key = "world.distractors" if num_shared is None else SHARED_VALUES
        if not number:
            raise ConfigError(
                f"{key}: the task draws no distractors, expected {'random' if num_shared is None else 'null'}"
            )
        if num_shared is not None and (values is None or num_shared >= values.shape[1]):
            has = "have no attribute values" if values is None else f"have {values.shape[1]} attributes"
            raise ConfigError(
                f"{key}: the objects {has}: expected {'null' if values is None else 'less'}, got {num_shared}"
            )
        self.number, self.num_shared = number, num_shared
        self.values = None if values is None else values.astype(np.int32)
        self.vectors = None if vectors is None else vectors.reshape(len(vectors), -1).astype(np.float64)
        self.squares = None if self.vectors is None else (self.vectors**2).sum(1)

    def require(self, targets: Integers, pool: Integers, source: str) -> None:
        """Raise `ConfigError` if a target has fewer similar objects in a pool than a round has distractors.

        Of many targets some are tried, evenly spaced.
        """
        if self.num_shared is None:
            return
        most = max(1, MAX_COMPARED // len(pool))
        for each in np.array_split(targets[:: -(-len(targets) // most)], -(-len(targets) // CHUNK) or 1):
            if len(each):
                self._require_enough(each, self._similar(each, pool)[1].sum(1), source)

    def _require_enough(self, targets: Integers, numbers: Integers, source: str = "the objects") -> None:
        if self.num_shared is not None and numbers.min() < self.number:
            raise ConfigError(
                f"{SHARED_VALUES}: of {source}, {numbers.min()} share {self.num_shared} values with object "
                f"{targets[numbers.argmin()]}, and {self.number} distractors are asked for: lower task.num_distractors"
            )

    def of(self, targets: Integers, words: NDArray[np.uint64], pool: Integers) -> Integers:
        """Distractors by their numbers, (batch, number).

        Args:
            targets: Numbers of objects, (batch,).
            words: Random, (batch, number).
            pool: Numbers of the objects to draw from.
        """
        rows = max(1, MAX_COMPARED // len(pool))
        parts = [slice(start, start + rows) for start in range(0, len(targets), rows)]
        return np.concatenate([self._drawn(targets[part], words[part], pool) for part in parts])

    def _similar(self, targets: Integers, pool: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Objects of the pool that are distractors for sure, and those that others are drawn from, (batch, pool)."""
        if self.vectors is None:
            assert self.values is not None
            distances: NDArray[Any] = np.zeros((len(targets), len(pool)), dtype=np.int32)
            for column in self.values.T:
                distances += column[targets, None] != column[pool]
            slack: Any = 0
        else:
            assert self.squares is not None
            distances = self.squares[targets, None] + self.squares[pool]
            distances -= 2 * self.vectors[targets] @ self.vectors[pool].T
            # Errors of squares and products are relative to the largest of them.
            slack = TIES * (self.squares[targets, None] + self.squares[pool].max())
        if self.num_shared is not None:
            is_drawn: NDArray[np.bool_] = distances == self.values.shape[1] - self.num_shared  # type: ignore[union-attr]
            return np.zeros_like(is_drawn), is_drawn
        is_itself = targets[:, None] == pool
        distances = np.where(is_itself, np.inf, distances)
        farthest = np.partition(distances, self.number - 1, axis=1)[:, self.number - 1, None]
        is_nearer = distances < farthest - slack
        return is_nearer, ~is_nearer & (distances <= farthest + slack)

    def _drawn(self, targets: Integers, words: NDArray[np.uint64], pool: Integers) -> Integers:
        """Distractors of some rounds, see `of`."""
        is_sure, is_drawn = self._similar(targets, pool)
        self._require_enough(targets, is_drawn.sum(1))
        chosen = np.empty(words.shape, dtype=np.int64)
        num_sure = is_sure.sum(1)
        rows, found = np.nonzero(is_sure)
        chosen[rows, np.arange(len(rows)) - (np.cumsum(num_sure) - num_sure)[rows]] = pool[found]

        # Every object that may be drawn, by round and differing attributes, in a random order within these.
        rows, found = np.nonzero(is_drawn)
        order = mixed(words[rows, 0] + pool[found].astype(np.uint64))
        kinds = np.zeros(len(rows), dtype=np.uint64)
        if self.values is not None:
            differs = self.values[targets[rows]] != self.values[pool[found]]
            kinds = (differs * mixed(np.arange(1, differs.shape[1] + 1, dtype=np.uint64))).sum(
                1, dtype=np.uint64
            )
        by_kind = np.lexsort((order, kinds, rows))
        rows, found, kinds = rows[by_kind], found[by_kind], kinds[by_kind]
        is_first = np.ones(len(rows), dtype=bool)
        is_first[1:] = (rows[1:] != rows[:-1]) | (kinds[1:] != kinds[:-1])
        starts = np.flatnonzero(is_first)
        left, rounds = np.diff(np.append(starts, len(rows))), rows[starts]
        for column in range(self.number):
            asking = np.flatnonzero(num_sure <= column)
            is_left = left > 0
            before = np.cumsum(is_left)
            first = np.searchsorted(rounds, asking)
            skipped: Integers = before[first] - is_left[first]
            choices = np.bincount(rounds, is_left, len(targets)).astype(np.uint64)[asking]
            places = np.searchsorted(before, skipped + (words[asking, column] % choices).astype(np.int64) + 1)
            chosen[asking, column] = pool[found[starts[places]]]
            starts[places] += 1
            left[places] -= 1
        return chosen
