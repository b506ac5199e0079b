"""Sources of semantic spaces: attribute values, features, tables, and the colours of the World Color Survey."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from ecsuite.files.data_folder import data_folder
from ecsuite.parts.config import Positive
from ecsuite.runtime.errors import ConfigError, unknown_name
from ecsuite.spaces.colour import VARIANCE, colour_space
from ecsuite.spaces.need import capacity_achieving, power_law
from ecsuite.spaces.space import Floats, Space, similar

KINDS = ("attributes", "features", "colour")
OWN = "./space.csv"
NEEDS = ("space", "uniform", "power_law", "corpus", "capacity")
OWN_NEED = "./need.csv"
NEED = "need"
"""Column of a table with the need of each meaning."""
MOST_MEANINGS = 1000
"""Maximum number of meanings of a space from a corpus."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceOptions:
    """Options of a space and the need of its meanings."""

    space: Annotated[str, Meta(description=f"{', '.join(KINDS)}, or {OWN}")] = "attributes"
    """attributes: the meanings of the corpus, similar by the number of shared attributes; features: the meanings of the
    corpus, similar by distance; colour: the 330 chips of the World Color Survey, by number; or a table p(u|m)."""
    scale: Positive = 1.0
    """attributes: number of unlike attributes over which p(u|m) falls by e."""
    variance: Positive | None = None
    """features, colour: variance of the Gaussian p(u|m); colour: 64 (squared units of CIELAB) if it is not given."""
    need: Annotated[str, Meta(description=f"{', '.join(NEEDS)}, or {OWN_NEED}")] = "space"
    """p(m). space: the need of the space (for colours and tables that have it, else uniform); power_law: by the rank
    of the meaning; corpus: relative frequency in the corpus; capacity: maximises the information of this language; or
    a table of meanings and their `need`."""

    def __post_init__(self) -> None:
        """Check the names, and that features have a variance."""
        if self.space not in KINDS and not self.space.endswith(".csv"):
            raise ConfigError(f"space: {unknown_name('space', self.space, (*KINDS, OWN))}")
        if self.need not in NEEDS and not self.need.endswith(".csv"):
            raise ConfigError(f"need: {unknown_name('need', self.need, (*NEEDS, OWN_NEED))}")
        if self.space == "features" and self.variance is None:
            raise ConfigError("space: features need a variance: space=features,variance=1")

    def require_files(self) -> None:
        """Check that the tables can be read.

        Raises:
            ConfigError: If a table is missing or invalid.
        """
        if self.space not in KINDS:
            read_table(Path(self.space))
        if self.need not in NEEDS:
            _read_needs(Path(self.need))

    def make(self, vectors: NDArray[Any] | None = None) -> Space:
        """Make the space, with its default need.

        Args:
            vectors: The meanings of a corpus, (num_messages, num_columns), for `attributes` and `features`; None for
                colours and tables.

        Raises:
            ConfigError: If a file is missing or invalid, or features are not numbers.
        """
        if self.space == "colour":
            return colour_space(data_folder("wcs"), self.variance or VARIANCE)
        if self.space.endswith(".csv"):
            return read_table(Path(self.space))
        if vectors is None:
            raise ConfigError(f"space: {self.space} need a corpus: expected colour or {OWN}")
        kinds = np.unique(vectors, axis=0)
        if len(kinds) > MOST_MEANINGS:
            raise ConfigError(
                f"space: expected at most {MOST_MEANINGS:,} different meanings, since the bound "
                f"of more takes hours, got {len(kinds):,}"
            )
        if self.space == "attributes":
            distances = (kinds[:, None] != kinds[None]).sum(-1).astype(np.float64)
            return _uniform("attributes", similar(distances, self.scale), kinds)
        if kinds.dtype.kind not in "fiu":
            raise ConfigError("space: features are numbers, but the meanings of this corpus are names")
        assert self.variance is not None
        squared = ((kinds[:, None].astype(np.float64) - kinds[None]) ** 2).sum(-1)
        return _uniform("features", similar(squared, 2 * self.variance), kinds)

    def needed(self, space: Space, counts: Floats) -> Space:
        """Set the need of a space according to the option `need`.

        Args:
            space: Returned by `make`.
            counts: Joint counts of meanings and words in the corpus, (num_meanings, num_words).
        """
        of_meaning = counts.sum(1)
        if self.need == "uniform":
            return space.needed(np.full(len(space), 1 / len(space)))
        if self.need == "power_law":
            return space.needed(power_law(len(space)))
        if self.need == "corpus":
            return space.needed(of_meaning / of_meaning.sum())
        if self.need == "capacity":
            return space.needed(capacity_achieving(counts / np.maximum(of_meaning[:, None], 1)))
        if self.need != "space":
            return space.needed(read_need(Path(self.need), space))
        return space


def read_table(file: Path) -> Space:
    """Read a space from a CSV file: one row per meaning, with its name, p(u|m), and optionally its `need`.

    Raises:
        ConfigError: If a cell is not a number, or a distribution does not sum to 1.
    """
    columns, names, table = _read_numbers(file)
    is_need = np.array([name == NEED for name in columns], bool)
    if not names or is_need.all():
        raise ConfigError(f"{file}: expected a row per meaning and a column per referent")
    need = table[:, is_need][:, 0] if is_need.any() else np.full(len(names), 1 / len(names))
    return Space(
        name=file.name,
        beliefs=table[:, ~is_need],
        need=need,
        vectors=np.array(names)[:, None],
        words=(*names,),
    )


def read_need(file: Path, space: Space) -> Floats:
    """Read the need of each meaning of a space from a CSV file: one row per meaning, with its name and `need`.

    Raises:
        ConfigError: If the file can't be read, or has other meanings than the space.
    """
    columns, names, table = _read_needs(file)
    expected = [space.word(place) for place in range(len(space))]
    if other := sorted({*names} ^ {*expected}):
        what = "is not in" if other[0] in names else "is missing, which is in"
        raise ConfigError(f"{file}: meaning {other[0]} {what} space {space.name}")
    rows = {name: row for row, name in enumerate(names)}
    need: Floats = table[[rows[name] for name in expected], columns.index(NEED)]
    return need


def _read_needs(file: Path) -> tuple[list[str], list[str], Floats]:
    """Read a table with `_read_numbers`; `ConfigError` without a column `NEED`."""
    columns, names, table = _read_numbers(file)
    if NEED not in columns:
        raise ConfigError(f"{file}: expected a column {NEED}")
    return columns, names, table


def _read_numbers(file: Path) -> tuple[list[str], list[str], Floats]:
    """Names of columns (without the first), names of rows, and numbers of a CSV file, (num_rows, num_columns)."""
    try:
        with file.open(newline="", encoding="utf-8") as lines:
            header, *rows = csv.reader(lines)
    except (OSError, ValueError, UnicodeDecodeError, csv.Error) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else "not a text table"
        raise ConfigError(
            f"{file}: {reason}: expected a CSV file with a header and a row per meaning"
        ) from None
    table = np.zeros((len(rows), len(header) - 1))
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ConfigError(f"{file}:{number}: expected {len(header)} cells, as in row 1, got {len(row)}")
        for column, cell in enumerate(row[1:], 1):
            try:
                table[number - 2, column - 1] = float(cell)
            except ValueError:
                raise ConfigError(
                    f"{file}:{number}, column {header[column]}: expected a probability, got {cell!r}"
                ) from None
    names = [row[0] for row in rows]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"{file}: meaning {twice} occurs twice: expected unique meanings")
    return header[1:], names, table


def _uniform(name: str, beliefs: Floats, vectors: NDArray[Any]) -> Space:
    return Space(name=name, beliefs=beliefs, need=np.full(len(vectors), 1 / len(vectors)), vectors=vectors)
