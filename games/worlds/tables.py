"""A world of a user's table of objects: columns as attributes or features, their roles and their coding."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import OF_SPEECH, SPLIT
from ecsuite.formats.frames import read_frame
from ecsuite.formats.meant import note_words_for_none, parts_of, plain_attributes
from ecsuite.formats.reading import read_table
from ecsuite.formats.roles import described, finds_meaning, roles_of
from ecsuite.formats.table import RawTable
from ecsuite.games.config.sources import PACKED, TABLES, is_data_set, read_columns
from ecsuite.games.worlds.feature_files import FeatureFile, read_features
from ecsuite.games.worlds.object_worlds import ObjectListWorld, OwnListOptions
from ecsuite.games.worlds.objects import OWN_SPLIT, ObjectList
from ecsuite.games.worlds.world import FREE, Integers
from ecsuite.runtime.errors import ConfigError, CorpusError, ReadingQuestion
from ecsuite.runtime.given_values import column_of
from ecsuite.runtime.printable import printable

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
    """Notes about interpretations that are not obvious."""

    def place(self, index: int, column: str) -> str:
        """Place of a value, for messages."""
        return f'{self.source}: row {self.rows[index]}, column "{column}"'


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeColumn:
    """How the cells of a column become values or features."""

    name: str
    labels: tuple[str, ...] = ()
    """The values, or the bins, in the order of their numbers; none where the numbers are features."""
    edges: tuple[float, ...] | None = None
    """The edges between bins; None where labels are values."""
    mean: float = 0.0
    """Number that is subtracted from a column of features."""
    scale: float = 1.0
    """Number by which a column of features is divided after that."""

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


def columns_of(table: TextTable, numeric: Numeric, notes: list[str]) -> list[AttributeColumn]:
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


def _column(table: TextTable, name: str, texts: Sequence[str], numeric: Numeric) -> AttributeColumn:
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
            return AttributeColumn(name=name, mean=mean, scale=scale)
        return _binned(name, figures)
    if len(distinct) > MOST_NAMES:
        raise ConfigError(
            f'{table.source}: column "{name}": expected at most {MOST_NAMES} different values, got {len(distinct)}: '
            "leave it out of the table"
        )
    labels = sorted(distinct)
    if len(numbers) == len(texts):
        labels.sort(key=float)  # of one number in two spellings, that of the first text comes first
    return AttributeColumn(name=name, labels=tuple(labels))


def _binned(name: str, numbers: NDArray[np.float64]) -> AttributeColumn:
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
    return AttributeColumn(name=name, labels=labels, edges=tuple(edges.tolist()))


def _size(text: str) -> float:
    return abs(float(text))


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


ROW = "row"
"""The column of a corpus with the row of each object, where its features do not tell it."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectTable(ObjectList):
    """The objects of a table, each once."""

    coding: tuple[AttributeColumn, ...] = ()
    """How the cells became values and features."""


def read_objects(
    source: str,
    numeric: Numeric = "bins",
    trained: ObjectTable | None = None,
    roles: Mapping[str, str] | None = None,
) -> ObjectTable:
    """Read a table of objects.

    Args:
        source: A table, see `ecsuite.formats.reading.read_table`; a data set of Hugging Face, `hf:NAME`; or an npz
            file of features, see `feature_files`.
        numeric: Whether columns of many numbers are sorted into bins, or columns of numbers are kept as features.
        roles: Roles of columns that the user gives.
        trained: The table of training, whose values, bins and scales are used; None: those of this table.

    Raises:
        ConfigError: If it can't be read, or a row or column can't be used; the message names it.
    """
    if Path(source).suffix == ".npz":
        return _of_features(read_features(source, 0), trained)
    table = _read(source, roles or {})
    notes = list(table.notes)
    columns = columns_of(table, numeric, notes) if trained is None else _columns_of_training(trained, table)
    attributes = [column for column in columns if column.labels]
    objects = np.empty((len(table.rows), len(attributes)), dtype=np.int64)
    for place, column in enumerate(attributes):
        objects[:, place] = column.values(table)
    features = None
    if len(attributes) < len(columns):
        features = np.concatenate([column.features(table) for column in columns], axis=1)
    split = table.kept.get(OWN_SPLIT)
    is_trained = None if split is None else np.asarray(split == "train", np.bool_)
    distinct = _each_once(objects if features is None else features, is_trained)
    if len(distinct) < len(table.rows):
        notes.append(
            f"{source}: {len(table.rows)} rows are {len(distinct)} different objects; each is taken once"
        )
    kept = {name: cells[distinct] for name, cells in table.kept.items()}
    rows, values = np.array(table.rows, dtype=np.int64)[distinct], objects[distinct]
    seen = values if features is None else features[distinct]
    return ObjectTable(
        source=source,
        table=seen,
        names=tuple(column.concepts for column in attributes),
        values_table=values,
        meanings=seen,
        rows=rows,
        columns=kept if features is None else {ROW: rows, **kept},
        is_held_out=None if is_trained is None else ~is_trained[distinct],
        coding=tuple(columns),
        notes=tuple(notes),
    )


def _read(source: str, given: Mapping[str, str]) -> TextTable:
    """The values of objects in a table, with a value in every cell.

    Raises:
        ConfigError: If it can't be read, or a cell has no value; the message names the row and the column.
    """
    file = Path(source)
    endings = file.suffixes[-2:-1] if file.suffix in PACKED else [file.suffix]
    try:
        if is_data_set(source):
            columns = read_columns(source)
            rows = range(1, len(next(iter(columns.values()), ())) + 1)
            found = replace(read_frame(columns), source=source, rows=rows)
        elif endings and endings[0].lower() in TABLES:
            found = replace(read_table(file, given, has_messages=False), source=source)
        else:
            raise ConfigError(f"{source}: expected a table that ends in .csv, .tsv, .json, .parquet or .npz")
        if not found.is_header:
            raise ConfigError(f"{source}: expected a list of objects with named values, got {found.about}")
        chosen = roles_of(found, given, needs_message=False)
        notes: list[str] = []
        attributes, features, bare = parts_of(found, chosen, notes, said=given)
        plain = plain_attributes(
            found, attributes, {*given, *found.roles}, notes, numeric="values", are_objects=True
        )
        chosen |= {
            name: "kept"
            for name, role in chosen.items()
            if role == "attribute" and name in attributes and name not in plain
        }
        attributes = plain
        if bare is not None:
            width = max((len(row) for row in bare if row is not None), default=0)
            cells = [[None] * width if row is None else row for row in bare]
            attributes |= {f"attribute{place}": [row[place] for row in cells] for place in range(width)}
        kept = {
            name: column_of(found.values(name))
            for name, role in chosen.items()
            if role not in ("meaning", "attribute", "feature")
        }
    except ReadingQuestion:
        raise
    except CorpusError as error:
        raise ConfigError(str(error).replace(file.name, source, 1)) from None
    except OSError as error:
        raise ConfigError(f"{source}: can't be read: {error.strerror or error}") from None
    texts = {name: _texts(found, name, cells) for name, cells in {**attributes, **features}.items()}
    number = len(found.rows)
    if number < 2:
        raise ConfigError(f"{source}: expected a header and at least 2 objects, got {number}")
    split = next((name for name, role in chosen.items() if role == "split"), None)
    if split is not None:
        kept[SPLIT] = kept.pop(split)
    kept = {f"{name} (kept)" if name in (*OF_SPEECH, ROW) else name: cells for name, cells in kept.items()}
    if kept or finds_meaning(chosen):
        notes.insert(0, f"{source}: {described(found, chosen)} (--column NAME=ROLE)")
    note_words_for_none(found, chosen, notes)
    table = TextTable(
        source=source, columns=texts, rows=found.rows, kept=kept, features=frozenset(features), notes=notes
    )
    missing = [(index, name) for index in range(number) for name in texts if texts[name][index] == ""]
    if missing:
        more = f", and {len(missing) - 1} more cells are empty" if len(missing) > 1 else ""
        raise ConfigError(f"{table.place(*missing[0])}: expected a value, got nothing{more}")
    return table


def _texts(table: RawTable, name: str, cells: Sequence[Any]) -> list[str]:
    """The values of a column as texts; of a table of texts as they are written, apart from decimal commas."""
    raw = table.columns.get(name)
    if table.are_texts and isinstance(raw, list) and not any(isinstance(cell, list | dict) for cell in cells):
        are_numbers = table.has_decimal_comma and all(isinstance(cell, float | None) for cell in cells)
        return [str(cell).replace(",", ".") if are_numbers else printable(cell) for cell in raw]
    return ["" if cell is None else printable(cell).strip() for cell in cells]


def _each_once(objects: NDArray[Any], is_trained: NDArray[np.bool_] | None) -> Integers:
    """A row of each different object, ascending: the first, or the first in training, as what is seen is not held out.

    Args:
        objects: What tells objects apart, (num_rows, width).
        is_trained: Which rows are in training, (num_rows,); None: there are no splits.
    """
    order = np.arange(len(objects)) if is_trained is None else np.argsort(~is_trained, kind="stable")
    first: Integers = order[np.unique(objects[order], axis=0, return_index=True)[1]]
    return np.sort(first)


def _columns_of_training(trained: ObjectTable, table: TextTable) -> list[AttributeColumn]:
    """The columns of training, which the table must have."""
    missing = [column.name for column in trained.coding if column.name not in table.columns]
    if missing or not trained.coding:
        expected = ", ".join(column.name for column in trained.coding) or "of an npz file"
        raise ConfigError(f"{table.source}: expected the columns of training, {expected}")
    return list(trained.coding)


def _of_features(file: FeatureFile, trained: ObjectTable | None) -> ObjectTable:
    """The rows of an npz file: features that agents see as they are; classes and attributes are concepts."""
    width = file.features.shape[1]
    if trained is not None and (trained.coding or trained.table.shape[1] != width):
        expected = (
            "a table with the columns of training" if trained.coding else f"{trained.table.shape[1]} features"
        )
        raise ConfigError(f"{file.path}: expected {expected}, got {width} features")
    names: list[tuple[str, ...]] = []
    values, phrases = list[Integers](), list[Integers]()
    if file.class_id is not None:
        names.append(file.class_concepts)
        values.append(file.class_id)
        phrases.append(file.class_id)
    if file.attributes is not None:
        has = file.attributes.astype(np.int64)
        names += [(f"no {name}", name) for name in file.attribute_names]
        values += list(has.T)
        phrases += list(np.where(has, 1, FREE).T)
    empty = np.empty((len(file.features), 0), dtype=np.int64)
    distinct = _each_once(file.features, file.split == 0 if file.has_split else None)
    notes = []
    if len(distinct) < len(file.features):
        notes = [
            f"{file.path}: {len(file.features)} rows are {len(distinct)} different ones; each is taken once"
        ]
    features, rows = file.features[distinct], distinct.astype(np.int64)
    return ObjectTable(
        source=file.path,
        table=features,
        names=tuple(names),
        values_table=(np.stack(values, axis=1) if values else empty)[distinct],
        phrases=(np.stack(phrases, axis=1) if phrases else empty)[distinct],
        meanings=features,
        rows=rows,
        columns={ROW: rows},
        is_held_out=file.split[distinct] != 0 if file.has_split else None,
        notes=tuple(notes),
    )


class OwnObjectsWorld(ObjectListWorld):
    """The objects of a table, whose columns are attributes or features.

    Raises:
        ConfigError: If the table can't be used, or has too few objects.
    """

    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options(OwnListOptions):
        """Options of the world."""

        numeric: Literal["bins", "features"] = "bins"
        """bins: a column of many numbers is sorted into five bins. features: agents see the numbers, scaled."""
        columns: Mapping[str, str] = field(default_factory=dict)
        """Roles of columns where their names do not say them: `{trial: kept, "Unnamed: 0": kept}`."""

    default_perceptions = ("identity", "tanh")
    expected_source = "a table of objects, such as --objects objects.csv"

    objects: ObjectTable

    def read(self, source: str, trained: ObjectListWorld | None) -> ObjectTable:
        """See `ObjectListWorld`."""
        coding = trained.objects if isinstance(trained, OwnObjectsWorld) else None
        return read_objects(source, self.options.numeric, coding, self.options.columns)
