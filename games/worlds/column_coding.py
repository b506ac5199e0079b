"""How the cells of a table become values and features: names, numbers in bins, or numbers as they are."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.world import Integers
from ecsuite.runtime.errors import ConfigError

Numeric = Literal["bins", "features"]
Floats = NDArray[np.float32]

MOST_VALUES = 20
"""A column of more different numbers than this is sorted into bins."""
NUM_BINS = 5
"""Bins of a column of numbers, with about equally many objects each."""
MOST_NAMES = 1000
"""Most different values of a column that are not numbers."""
SHARE_OF_NUMBERS = 0.9
"""A column with at least this share of numbers, and more than `MOST_VALUES` different ones, is meant as numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextTable:
    """The values of objects as texts, by attribute, and what is kept beside them."""

    source: str
    """The file, or the name of the data set."""
    columns: Mapping[str, Sequence[str]]
    """The values of each attribute or feature by its name."""
    rows: Sequence[int]
    """The number of each row: from 1; where there is a header, that is row 1, as a spreadsheet counts."""
    kept: Mapping[str, NDArray[Any]]
    """Columns that are neither, by name."""
    features: frozenset[str] = frozenset()
    """Attributes that are to be features."""
    notes: Sequence[str] = ()
    """What was taken for what, where it is not plain."""

    def place(self, index: int, column: str) -> str:
        """Where a value is, for messages."""
        return f'{self.source}: row {self.rows[index]}, column "{column}"'


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """How the cells of a column become values or features."""

    name: str
    labels: tuple[str, ...] = ()
    """The values, or the bins, in the order of their numbers; none where the numbers are features."""
    edges: tuple[float, ...] | None = None
    """The edges between bins; None where labels are values."""
    mean: float = 0.0
    """Of a column of features: what is subtracted."""
    scale: float = 1.0
    """Of a column of features: what the rest is divided by."""

    @property
    def concepts(self) -> tuple[str, ...]:
        """The values as concepts, such as `shape=star`."""
        return tuple(f"{self.name}={label}" for label in self.labels)

    def values(self, table: TextTable) -> Integers:
        """The number of each cell's value, (num_rows,); `ConfigError` for a value that the column does not have."""
        texts = table.columns[self.name]
        if self.edges is not None:
            return np.searchsorted(self.edges, self._numbers(table), side="right").astype(np.int64)
        places = {label: place for place, label in enumerate(self.labels)}
        unknown = [index for index, text in enumerate(texts) if text not in places]
        if unknown:
            known = ", ".join(self.labels[:10]) + (", …" if len(self.labels) > 10 else "")
            raise ConfigError(
                f"{table.place(unknown[0], self.name)}: expected a value of training ({known}), got "
                f"{texts[unknown[0]]}"
            )
        return np.array([places[text] for text in texts], dtype=np.int64)

    def features(self, table: TextTable) -> Floats:
        """The scaled numbers of a column of features, or each value one-hot, (num_rows, width)."""
        if self.labels:
            return np.eye(len(self.labels), dtype=np.float32)[self.values(table)]
        return ((self._numbers(table) - self.mean) / self.scale).astype(np.float32)[:, None]

    def _numbers(self, table: TextTable) -> NDArray[np.float64]:
        """The numbers of the cells, (num_rows,)."""
        texts = table.columns[self.name]
        for index, text in enumerate(texts):
            if not is_number(text):
                raise ConfigError(f"{table.place(index, self.name)}: expected a number, got {text}")
        return np.array([float(text) for text in texts])


def columns_of(table: TextTable, numeric: Numeric, notes: list[str]) -> list[Column]:
    """How each column is read; adds a line to `notes` about those that are not taken as they are."""
    columns = []
    for name, texts in table.columns.items():
        own = "features" if name in table.features else numeric
        are_equal = own == "features" and all(map(is_number, texts)) and len(set(map(float, texts))) == 1
        if are_equal or len(set(texts)) == 1:
            notes.append(f"{table.source}: column {name} is left out: it has the one value {texts[0]}")
            continue
        columns.append(_column(table, name, texts, own))
    if not columns:
        raise ConfigError(f"{table.source}: expected a column with different values")
    for column in columns:
        if column.edges is not None:
            notes.append(
                f"{table.source}: column {column.name} holds many numbers, sorted into {len(column.labels)} bins: "
                f"{', '.join(column.labels)} (--set world.numeric=features keeps the numbers)"
            )
    scaled = [column.name for column in columns if not column.labels]
    if numeric == "features" and not scaled:
        raise ConfigError(f"world.numeric: expected bins: {table.source} has no column of numbers")
    if scaled:
        notes.append(
            f"{table.source}: the numbers of {', '.join(scaled)} are features, scaled to mean 0 and deviation 1"
        )
    return columns


def _column(table: TextTable, name: str, texts: Sequence[str], numeric: Numeric) -> Column:
    """How a column is read."""
    distinct = set(texts)
    numbers = [text for text in texts if is_number(text)]
    if len(set(numbers)) > MOST_VALUES and len(numbers) >= SHARE_OF_NUMBERS * len(texts):
        for index, text in enumerate(texts):
            if not is_number(text):
                raise ConfigError(
                    f"{table.place(index, name)}: expected a number, as in {len(numbers)} other rows, got {text}"
                )
    if len(numbers) == len(texts) and (numeric == "features" or len(distinct) > MOST_VALUES):
        figures = np.array([float(text) for text in texts])
        if numeric == "features":
            with np.errstate(over="ignore"):
                mean, scale = float(figures.mean()), float(figures.std())
            if not math.isfinite(scale):
                raise ConfigError(
                    f'{table.source}: column "{name}": expected smaller numbers, got {max(texts, key=_size)}'
                )
            return Column(name=name, mean=mean, scale=scale)
        return _binned(name, figures)
    if len(distinct) > MOST_NAMES:
        raise ConfigError(
            f'{table.source}: column "{name}": expected at most {MOST_NAMES} different values, got {len(distinct)}: '
            "leave it out of the table"
        )
    labels = sorted(distinct)
    if len(numbers) == len(texts):
        labels.sort(key=float)  # of one number in two spellings, that of the first text comes first
    return Column(name=name, labels=tuple(labels))


def _binned(name: str, numbers: NDArray[np.float64]) -> Column:
    """A column of bins with about equally many objects each."""
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, NUM_BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, numbers, side="right")
    edges = edges[np.isin(np.arange(1, len(edges) + 1), bins) & (np.arange(1, len(edges) + 1) > bins.min())]
    bins = np.searchsorted(edges, numbers, side="right")
    ends = [(numbers[bins == each].min(), numbers[bins == each].max()) for each in np.unique(bins)]
    for digits in (6, 9, 12, 17):  # as many as tell bins apart
        labels = tuple(f"{first:.{digits}g}..{last:.{digits}g}" for first, last in ends)
        if len(set(labels)) == len(ends):
            break
    return Column(name=name, labels=labels, edges=tuple(edges.tolist()))


def _size(text: str) -> float:
    return abs(float(text))


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
