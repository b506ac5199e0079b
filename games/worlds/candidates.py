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
"""Maximum number of objects with different frequencies, which are stored as a table."""


class Uniform:
    """Equal frequencies of all objects."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """No options."""

    def __init__(self, options: Options) -> None:
        pass

    def probabilities(self, num_objects: int) -> Floats | None:
        """Return None: no table is needed, whatever the number of objects."""
        return None


class PowerLaw:
    """Frequencies in proportion to r^-exponent for the object of rank r, from 1 (Zipf 1935)."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of the power law."""

        exponent: Positive = 1.0
        """Exponent of the rank; 1: Zipf's law."""

    def __init__(self, options: Options) -> None:
        self.exponent = options.exponent

    def probabilities(self, num_objects: int) -> Floats | None:
        """Compute the probability of each object, (num_objects,).

        Raises:
            ConfigError: If there are more than `MAX_OBJECTS` objects.
        """
        if num_objects > MAX_OBJECTS:
            raise ConfigError(
                f"world.frequencies: expected at most {MAX_OBJECTS:,} objects, got {num_objects:,}: "
                "lower world.num_attributes or world.num_values"
            )
        return power_law(num_objects, self.exponent)


class Given:
    """Given frequencies."""

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        """Options of given frequencies."""

        weights: tuple[Positive, ...] = ()
        """Frequency of each object, in any unit: [3, 1.5, 0.5]."""

    def __init__(self, options: Options) -> None:
        self.weights = options.weights

    def probabilities(self, num_objects: int) -> Floats | None:
        """Compute the probability of each object, (num_objects,).

        Raises:
            ConfigError: If the number of weights is not the number of objects.
        """
        if len(self.weights) != num_objects:
            raise ConfigError(
                f"world.frequencies.weights: expected a list of {num_objects} numbers, one for each object, "
                f"got {len(self.weights)}"
            )
        weights = np.array(self.weights) / max(self.weights)  # so that the sum is finite
        return np.asarray(weights / weights.sum())


def power_law(number: int, exponent: float) -> Floats:
    """Probabilities of ranks by a power law, (number,); uniform for exponent 0."""
    frequencies = np.arange(1, number + 1) ** -exponent
    return np.asarray(frequencies / frequencies.sum())


def drawn(probabilities: Floats, words: NDArray[np.uint64]) -> Integers:
    """Draw an object for each random word, (batch,), by unnormalised probabilities, (num_objects,)."""
    cumulative = probabilities.cumsum()
    places: Integers = np.searchsorted(cumulative, words / 2.0**64 * cumulative[-1], side="right")
    return places.clip(max=len(cumulative) - 1)


def others_by_frequency(probabilities: Floats, targets: Integers, words: NDArray[np.uint64]) -> Integers:
    """Draw distinct objects other than the targets without replacement, in proportion to their probabilities.

    Args:
        probabilities: Unnormalised probabilities of objects, (num_objects,).
        targets: Target indices, (batch,).
        words: Random words, (batch, number), with `number` less than the number of objects.
    """
    starts = np.concatenate([[0.0], probabilities.cumsum()])
    chosen = np.concatenate([targets[:, None], np.empty(words.shape, dtype=np.int64)], axis=1)
    for column in range(1, chosen.shape[1]):
        taken = np.sort(chosen[:, :column], axis=1)
        shares = probabilities[taken]
        place = words[:, column - 1] / 2.0**64 * (starts[-1] - shares.sum(1))
        for each, share in zip(taken.T, shares.T, strict=True):  # intervals of drawn objects are removed
            place += np.where(place >= starts[each], share, 0.0)
        found = np.searchsorted(starts, place, side="right") - 1
        chosen[:, column] = _next_left(found.clip(0, len(probabilities) - 1), taken, len(probabilities))
    return chosen[:, 1:]


def _next_left(found: Integers, taken: Integers, total: int) -> Integers:
    """Replace objects that are already taken, by rounding, (batch,), with the next free one of `total`, cyclically."""
    while (again := (taken == found[:, None]).any(1)).any():
        found = np.where(again, (found + 1) % total, found)
    return found


MOST_UNUSED = 16
"""Maximum ratio of the largest object index to the number of objects in use at which a table takes a third of the
time of sorting, or less."""
Words = NDArray[np.uint64]
Distractors = Callable[[Integers, Words], Integers]
"""Sampler of distractors, (batch, num_distractors), given targets, (batch,), and random words of the same shape."""


def one_target(
    words: Words,
    total: int,
    targets: Members = None,
    pool: Members = None,
    *,
    probabilities: Floats | None = None,
    distractors: Distractors | None = None,
) -> tuple[Integers, Integers]:
    """Draw rounds of one target among distinct objects.

    Args:
        words: Random words, (batch, num_candidates + 1).
        total: Number of objects.
        targets: Objects that targets are drawn from.
        pool: Objects that distractors are drawn from, which may differ from `targets`.
        probabilities: Unnormalised probabilities of `targets`; None: uniform.
        distractors: Sampler of distractors, given target indices; None: all sets of objects of the pool are equally
            likely.

    Returns:
        Candidate indices, (batch, num_candidates), and the position of each target, (batch,).
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
            "a pool that differs from the targets is a list, or has all objects"
        )
        others = others_of(pool, chosen, words[:, 1:-1], total)
    return with_target_at(chosen, others, places), places


def members(of: Members, places: Integers) -> Integers:
    """Object indices at positions, (...), of a set of members."""
    return places if of is None else of[places]


def distinct_others(targets: Integers, words: Words, total: int) -> Integers:
    """Draw distinct objects of `total` other than the target by random words, (batch, number): (batch, number)."""
    others = distinct_draws(words, total - 1)
    return others + (others >= targets[:, None])


def others_of(pool: Integers | None, targets: Integers, words: Words, total: int) -> Integers:
    """Draw distinct objects of a pool other than the target, (batch, number); the target need not be in the pool.

    Args:
        pool: Object indices, ascending; None: all objects.
        targets: Target indices, (batch,).
        words: Random words, (batch, number).
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
    """Insert targets into candidates at positions, (batch, 1 + number).

    Args:
        targets: Target indices, (batch,).
        others: Other candidates, (batch, number).
        places: Position of each target among the candidates, from 0, (batch,).
    """
    candidates = np.concatenate([targets[:, None], others], axis=1)
    rounds = np.arange(len(targets))
    candidates[rounds, 0] = candidates[rounds, places]
    candidates[rounds, places] = targets
    return candidates


def each_once(*numbers: Integers) -> tuple[Integers, list[Integers]]:
    """Unique object indices in order, and the position of each input index among them.

    Args:
        numbers: Arrays of object indices, (batch, any width) each.
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
"""Maximum number of ways to choose the attributes in which distractors differ, which are stored as a table."""
MAX_COMPARED = 2**22
"""Maximum number of pairs of a target and another object that are compared at once."""
CHUNK = 256
"""Number of targets that are checked at once."""
TIES = 1e-12
"""Relative tolerance, in squared vector lengths, within which squared distances are equal."""
SHARED_VALUES = "world.shared_values"


class SharingDistractors:
    """Sampler of distractors with exactly `num_shared` values in common with the target, uniformly distributed.

    Args:
        num_shared: Number of shared values.
        num_distractors: Number of distractors per round, all distinct.
        num_attributes: Number of attributes of an object.
        num_values: Number of values per attribute.

    Raises:
        ConfigError: If there are fewer such objects.
    """

    def __init__(self, num_shared: int, num_distractors: int, num_attributes: int, num_values: int) -> None:
        key, num_differing = SHARED_VALUES, num_attributes - num_shared
        if num_distractors == 0:
            raise ConfigError(f"{key}: the task draws no distractors: expected null")
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
                f"{key}: {total} objects share {num_shared} values with a target, but {num_distractors} distractors "
                "are needed: lower task.num_distractors"
            )
        self.num_values, self.total = num_values, total
        self.differing = np.array(list(combinations(range(num_attributes), num_differing)))

    def of(self, targets: Integers, words: NDArray[np.uint64]) -> Integers:
        """Draw distractors, (batch, num_distractors, num_attributes).

        Args:
            targets: Attribute values, (batch, num_attributes).
            words: Random words, (batch, num_distractors).
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
    """Sampler of distractors that are similar to the target from a list, with ties broken at random.

    With `num_shared`, distractors share exactly this number of values with the target. Otherwise they are the nearest
    objects, by the number of different values or, for objects without values, by Euclidean distance. If only some of
    several equally near objects are drawn, and with `num_shared`, the attributes in which a distractor differs are
    drawn first, uniformly, and then one of the objects that differ in them, so that an attribute with many values
    is not tested more often.

    Args:
        number: Number of distractors per round, all distinct.
        num_shared: Number of shared values; None: the nearest objects.
        values: Attribute values of all objects, (num_objects, num_attributes); None: no values.
        vectors: All objects as vectors, (num_objects, width); None: `values` are compared.

    Raises:
        ConfigError: If objects can't share this number of values.
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
                f"{key}: the task draws no distractors: expected {'random' if num_shared is None else 'null'}"
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
        """Raise `ConfigError` if the pool has too few objects similar to a target for the distractors of a round.

        If there are many targets, an evenly spaced sample is checked.
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
                f"{targets[numbers.argmin()]}, but {self.number} distractors are needed: lower task.num_distractors"
            )

    def of(self, targets: Integers, words: NDArray[np.uint64], pool: Integers) -> Integers:
        """Draw distractor indices, (batch, number).

        Args:
            targets: Target indices, (batch,).
            words: Random words, (batch, number).
            pool: Indices of the objects to draw from.
        """
        rows = max(1, MAX_COMPARED // len(pool))
        parts = [slice(start, start + rows) for start in range(0, len(targets), rows)]
        return np.concatenate([self._drawn(targets[part], words[part], pool) for part in parts])

    def _similar(self, targets: Integers, pool: Integers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the pool, (batch, pool): certain distractors, and objects that the others are drawn from."""
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
            # Rounding errors of squares and products are relative to the largest one.
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
        """Draw the distractors of some rounds; see `of`."""
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
