"""Tables of objects: a row an object, a column an attribute or a feature; and npz files of features."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.games.worlds.feature_files import FeatureFile, read_features
from ecsuite.games.worlds.table_files import TextTable, is_number, read_table
from ecsuite.games.worlds.world import FREE, Integers
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


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectTable:
    """The objects of a table, each once."""

    names: tuple[tuple[str, ...], ...]
    """The values of each attribute as concepts, such as `shape=star`, in the order of their numbers."""
    objects: Integers
    """Values of each object, (num_objects, num_attributes)."""
    phrases: Integers
    """The values that are concepts of each object, as `objects`; `FREE` where a value is no concept."""
    features: Floats | None
    """What agents see of each object, (num_objects, width); None: its values."""
    rows: Integers
    """The row of each object in the file, (num_objects,)."""
    is_held_out: NDArray[np.bool_] | None = None
    """Which objects the file itself keeps from training; None where it does not say."""
    columns: tuple[Column, ...] = ()
    """How the cells became values and features."""
    notes: tuple[str, ...] = ()
    """What was done with the table, in lines for people."""


def read_objects(source: str, numeric: Numeric = "bins", trained: ObjectTable | None = None) -> ObjectTable:
    """Read a table of objects.

    Args:
        source: A table, see `read_table`; or an npz file of features, see `feature_files`.
        numeric: Whether columns of many numbers are sorted into bins, or columns of numbers are kept as features.
        trained: The table of training, whose values, bins and scales are used; None: those of this table.

    Raises:
        ConfigError: If it can't be read, or a row or column can't be used; the message names it.
    """
    if Path(source).suffix == ".npz":
        return _of_features(read_features(source, 0), trained)
    table = read_table(source)
    notes: list[str] = []
    columns = _columns(table, numeric, notes) if trained is None else _columns_of(trained, table)
    attributes = [column for column in columns if column.labels]
    objects = np.empty((len(table.rows), len(attributes)), dtype=np.int64)
    for place, column in enumerate(attributes):
        objects[:, place] = column.values(table)
    features = None
    if len(attributes) < len(columns):
        features = np.concatenate([column.features(table) for column in columns], axis=1)
    distinct = np.sort(np.unique(objects if features is None else features, axis=0, return_index=True)[1])
    if len(distinct) < len(table.rows):
        notes.append(
            f"{source}: {len(table.rows)} rows are {len(distinct)} different objects; each is taken once"
        )
    return ObjectTable(
        names=tuple(column.concepts for column in attributes),
        objects=objects[distinct],
        phrases=objects[distinct],
        features=None if features is None else features[distinct],
        rows=np.array(table.rows, dtype=np.int64)[distinct],
        columns=tuple(columns),
        notes=tuple(notes),
    )


def _columns(table: TextTable, numeric: Numeric, notes: list[str]) -> list[Column]:
    """How each column is read; adds a line to `notes` about those that are not taken as they are."""
    columns = []
    for name, texts in table.columns.items():
        if len(set(texts)) == 1:
            notes.append(f"{table.source}: column {name} is left out: it has the one value {texts[0]}")
            continue
        columns.append(_column(table, name, texts, numeric))
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
            return Column(name=name, mean=float(figures.mean()), scale=float(figures.std()))
        return _binned(name, figures)
    if len(distinct) > MOST_NAMES:
        raise ConfigError(
            f'{table.source}: column "{name}": expected at most {MOST_NAMES} different values, got {len(distinct)}: '
            "leave it out of the table"
        )
    labels = sorted(distinct, key=float) if len(numbers) == len(texts) else sorted(distinct)
    return Column(name=name, labels=tuple(labels))


def _binned(name: str, numbers: NDArray[np.float64]) -> Column:
    """A column of bins with about equally many objects each."""
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, NUM_BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, numbers, side="right")
    edges = edges[np.isin(np.arange(1, len(edges) + 1), bins) & (np.arange(1, len(edges) + 1) > bins.min())]
    bins = np.searchsorted(edges, numbers, side="right")
    labels = [f"{numbers[bins == each].min():g}..{numbers[bins == each].max():g}" for each in np.unique(bins)]
    return Column(name=name, labels=tuple(labels), edges=tuple(edges.tolist()))


def _columns_of(trained: ObjectTable, table: TextTable) -> list[Column]:
    """The columns of training, which the table must have."""
    missing = [column.name for column in trained.columns if column.name not in table.columns]
    if missing or not trained.columns:
        expected = ", ".join(column.name for column in trained.columns) or "of an npz file"
        raise ConfigError(f"{table.source}: expected the columns of training, {expected}")
    return list(trained.columns)


def _of_features(file: FeatureFile, trained: ObjectTable | None) -> ObjectTable:
    """The rows of an npz file: features that agents see as they are; classes and attributes are concepts."""
    width = None if trained is None or trained.features is None else trained.features.shape[1]
    if trained is not None and (trained.columns or width != file.features.shape[1]):
        expected = "a table with the columns of training" if trained.columns else f"{width} features"
        raise ConfigError(f"{file.path}: expected {expected}, got {file.features.shape[1]} features")
    names: list[tuple[str, ...]] = []
    values, phrases = list[Integers](), list[Integers]()
    if file.class_id is not None:
        names.append(tuple(f"class={name}" for name in file.class_names))
        values.append(file.class_id)
        phrases.append(file.class_id)
    if file.attributes is not None:
        has = file.attributes.astype(np.int64)
        names += [(f"no {name}", name) for name in file.attribute_names]
        values += list(has.T)
        phrases += list(np.where(has, 1, FREE).T)
    empty = np.empty((len(file.features), 0), dtype=np.int64)
    distinct = np.sort(np.unique(file.features, axis=0, return_index=True)[1])
    notes = []
    if len(distinct) < len(file.features):
        notes = [
            f"{file.path}: {len(file.features)} rows are {len(distinct)} different ones; each is taken once"
        ]
    return ObjectTable(
        names=tuple(names),
        objects=(np.stack(values, axis=1) if values else empty)[distinct],
        phrases=(np.stack(phrases, axis=1) if phrases else empty)[distinct],
        features=file.features[distinct],
        rows=distinct.astype(np.int64),
        is_held_out=file.split[distinct] != 0 if file.has_split else None,
        notes=tuple(notes),
    )
