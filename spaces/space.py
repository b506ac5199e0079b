"""Semantic space: meanings as distributions over referents, with the need of each meaning."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.errors import ConfigError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TOLERANCE = 1e-6
"""Maximum deviation of a sum of probabilities from 1, as in a file with seven digits."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Space:
    """A semantic space: each meaning m is a belief p(u|m) about referents u, and is needed with probability p(m).

    Zaslavsky et al. (2018), "Efficient compression in color naming and its evolution", PNAS 115, section "Theoretical
    framework".

    Raises:
        ConfigError: If a distribution has negative values, or its sum is not 1.
    """

    name: str
    """Name in messages and signatures."""
    beliefs: Floats
    """p(u|m), (num_meanings, num_referents)."""
    need: Floats
    """p(m), (num_meanings,)."""
    vectors: NDArray[Any]
    """Representation of each meaning in a corpus, (num_meanings, num_columns): attribute values, or features."""
    attribute: str = "meaning"
    """Attribute of a corpus with the number or name of a meaning."""
    points: Floats | None = None
    """Coordinates of each meaning as input of agents, (num_meanings, width); None: p(u|m)."""
    words: tuple[str, ...] = ()
    """Name of each meaning; empty: its vector as text."""
    chart: Ints | None = None
    """Row and column of each meaning in a chart, (num_meanings, 2); None: no chart."""
    colours: Floats | None = None
    """Colour of each meaning in plots, as sRGB from 0 to 1, (num_meanings, 3); None: no colours."""
    turns: tuple[Ints, ...] = ()
    """Permutations of meanings that roughly preserve similarity, as indices of the meaning whose word each meaning
    gets. The null uses them; without them, meanings are permuted at random."""

    def __post_init__(self) -> None:
        """Check the distributions, and normalise rounded sums."""
        for what, table in (("p(u|m)", self.beliefs), ("p(m)", self.need[None])):
            if not np.isfinite(table).all() or (table < 0).any():
                raise ConfigError(f"space {self.name}: {what} has a value that is not a probability")
            if (wrong := np.abs(table.sum(1) - 1) > TOLERANCE).any():
                place = int(np.flatnonzero(wrong)[0])
                of = f" of meaning {self.word(place)}" if what == "p(u|m)" else ""
                raise ConfigError(
                    f"space {self.name}: {what}{of} sums to {table[place].sum():.6g}: expected 1"
                )
        object.__setattr__(self, "beliefs", self.beliefs / self.beliefs.sum(1, keepdims=True))
        object.__setattr__(self, "need", self.need / self.need.sum())

    def __len__(self) -> int:
        """Number of meanings."""
        return len(self.need)

    def word(self, meaning: int) -> str:
        """Name of a meaning."""
        return self.words[meaning] if self.words else " ".join(map(str, self.vectors[meaning].tolist()))

    @property
    def digest(self) -> str:
        """Hash of p(u|m) and p(m), twelve hexadecimal digits, for signatures."""
        parts = (np.ascontiguousarray(each.round(12)).tobytes() for each in (self.beliefs, self.need))
        return hashlib.sha256(b"".join(parts)).hexdigest()[:12]

    def needed(self, need: Floats) -> Self:
        """Copy with another need."""
        return replace(self, need=np.asarray(need, np.float64))

    def find(self, vectors: NDArray[Any]) -> Ints:
        """Find the index of the meaning of each message, (num_messages,).

        Args:
            vectors: Meanings of a corpus, (num_messages, num_columns).

        Raises:
            ConfigError: If the space lacks a meaning.
        """
        if vectors.shape[1] != self.vectors.shape[1]:
            expected = f"{self.vectors.shape[1]} as in space {self.name}"
            raise ConfigError(f"meanings have {vectors.shape[1]} values: expected {expected}")
        kinds, rows = np.unique(vectors, axis=0, return_inverse=True)
        known = {key(row): place for place, row in enumerate(self.vectors)}
        places = [known.get(key(row)) for row in kinds]
        if None in places:
            missing = kinds[places.index(None)].tolist()
            shown = " ".join(map(str, missing))
            raise ConfigError(
                f"meaning {shown} is not in space {self.name}, which has {len(self)} meanings, such as {self.word(0)}"
            )
        return np.array(places, np.int64)[rows.ravel()]


def key(row: NDArray[Any]) -> tuple[Any, ...]:
    """Hashable key of a vector; features are rounded to six digits."""
    return tuple(f"{each:.6g}" if isinstance(each, float) else str(each) for each in row.tolist())


def similar(distances: Floats, scale: float) -> Floats:
    """Compute p(u|m), which decreases with the distance d of u and m: exp(-d / scale), with normalised rows.

    Args:
        distances: Distances of all meanings, (num_meanings, num_meanings).
        scale: Distance over which it decreases by the factor e.
    """
    exponents = -distances / scale
    weights = np.exp(exponents - exponents.max(1, keepdims=True))
    beliefs: Floats = weights / weights.sum(1, keepdims=True)
    return beliefs
