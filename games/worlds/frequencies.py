"""How often each object of a world is spoken about, the first object of the world's order first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ecsuite.parts.config import Positive
from ecsuite.parts.registry import Registry
from ecsuite.runtime.errors import ConfigError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FREQUENCIES = Registry(
    word="frequencies",
    parts={
        "uniform": ("ecsuite.games.worlds.frequencies:Uniform", "every object is equally frequent"),
        "power_law": (
            "ecsuite.games.worlds.frequencies:PowerLaw",
            "by a power of the rank (Zipf 1935), the first object most often",
        ),
        "given": ("ecsuite.games.worlds.frequencies:Given", "a number for each object"),
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
