"""World of a user's table of objects: columns as attributes or features, their roles and coding."""

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
"""Maximum number of distinct numbers in a column that are not binned."""
NUM_BINS = 5
"""Number of bins of a numeric column, with about equal numbers of objects."""
MOST_NAMES = 1000
"""Maximum number of distinct values of a non-numeric column."""
SHARE_OF_NUMBERS = 0.9
"""Share of numbers from which a column with more than `MOST_VALUES` distinct values counts as numeric."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextTable:
    """Texts of the objects' values by attribute, and further columns."""

    source: str
    """File, or name of the data set."""
    columns: Mapping[str, Sequence[str]]
    """Values of each attribute or feature by its name."""
    rows: Sequence[int]
    """Row number of each object, from 1; a header is row 1, as in a spreadsheet."""
    kept: Mapping[str, NDArray[Any]]
    """Columns that are neither attributes nor features, by name."""
    features: frozenset[str] = frozenset()
    """Names of columns to use as features."""
    notes: Sequence[str] = ()
    """Messages about interpretations that are not obvious."""

    def place(self, index: int, column: str) -> str:
        """Position of a value, for error messages."""
        return f'{self.source}: row {self.rows[index]}, column "{column}"'


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeColumn:
    """Coding of the cells of a column as values or features."""

    name: str
    labels: tuple[str, ...] = ()
    """Values, or bins, in order of index; empty if numbers are features."""
    edges: tuple[float, ...] | None = None
    """Edges between bins; None if labels are values."""
    mean: float = 0.0
    """Mean that is subtracted from a feature column."""
    scale: float = 1.0
    """Divisor of a feature column after centring."""

    @property
    def concepts(self) -> tuple[str, ...]:
        """Values as concepts, such as `shape=star`."""
        return tuple(f"{self.name}={label}" for label in self.labels)

    def values(self, table: TextTable) -> Integers:
        """Index of each cell's value, (num_rows,); `ConfigError` for an unknown value."""
        texts = table.columns[self.name]
        if self.edges is not None:
            return np.searchsorted(self.edges, self._numbers(table), side="right").astype(np.int64)
        places = {label: place for place, label in enumerate(self.labels)}
        unknown = [index for index, text in enumerate(texts) if text not in places]
        if unknown:
            known = ", ".join(self.labels[:10]) + (", …" if len(self.labels) > 10 else "")
            raise ConfigError(
                f"{table.place(unknown[0], self.name)}: expected a training value ({known}), got "
                f"{texts[unknown[0]]}"
            )
        return np.array([places[text] for text in texts], dtype=np.int64)

    def features(self, table: TextTable) -> Floats:
        """Scaled numbers of a feature column, or one-hot values, (num_rows, width)."""
        if self.labels:
            return np.eye(len(self.labels), dtype=np.float32)[self.values(table)]
        return ((self._numbers(table) - self.mean) / self.scale).astype(np.float32)[:, None]

    def _numbers(self, table: TextTable) -> NDArray[np.float64]:
        """Numbers in the cells, (num_rows,)."""
        texts = table.columns[self.name]
        for index, text in enumerate(texts):
            if not is_number(text):
                raise ConfigError(f"{table.place(index, self.name)}: expected a number, got {text}")
        return np.array([float(text) for text in texts])


def columns_of(table: TextTable, numeric: Numeric, notes: list[str]) -> list[AttributeColumn]:
    """Determine the coding of each column; messages about unusual coding are added to `notes`."""
    columns = []
    for name, texts in table.columns.items():
        own = "features" if name in table.features else numeric
        are_equal = own == "features" and all(map(is_number, texts)) and len(set(map(float, texts))) == 1
        if are_equal or len(set(texts)) == 1:
            notes.append(f"{table.source}: column {name} is left out: all its values are {texts[0]}")
            continue
        columns.append(_column(table, name, texts, own))
    if not columns:
        raise ConfigError(f"{table.source}: expected a column with different values")
    for column in columns:
        if column.edges is not None:
            notes.append(
                f"{table.source}: column {column.name} has many numbers, sorted into {len(column.labels)} bins: "
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
    """Determine the coding of a column."""
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
        labels.sort(key=float)  # two spellings of one number keep their order
    return AttributeColumn(name=name, labels=tuple(labels))


def _binned(name: str, numbers: NDArray[np.float64]) -> AttributeColumn:
    """Make bins with about equal numbers of objects."""
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, NUM_BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, numbers, side="right")
    edges = edges[np.isin(np.arange(1, len(edges) + 1), bins) & (np.arange(1, len(edges) + 1) > bins.min())]
    bins = np.searchsorted(edges, numbers, side="right")
    ends = [(numbers[bins == each].min(), numbers[bins == each].max()) for each in np.unique(bins)]
    for digits in (6, 9, 12, 17):  # enough digits to distinguish the bins
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
"""Column of a corpus with the row of each object, if features do not identify it."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectTable(ObjectList):
    """Distinct objects of a table."""

    coding: tuple[AttributeColumn, ...] = ()
    """Coding of the cells as values and features."""


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
        numeric: Whether columns with many numbers are binned, or numeric columns are features.
        roles: Roles of columns given by the user.
        trained: The training table, whose values, bins and scales are used; None: coding of this table.

    Raises:
        ConfigError: If the table can't be read, or a row or column can't be used; the message names it.
    """
    if Path(source).suffix == ".npz":
        return _feature_table(read_features(source, 0), trained)
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
    distinct = _distinct_rows(objects if features is None else features, is_trained)
    if len(distinct) < len(table.rows):
        notes.append(
            f"{source}: {len(table.rows)} rows are {len(distinct)} different objects; each is used once"
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
    """Read the values of objects in a table, with a value in every cell.

    Raises:
        ConfigError: If the table can't be read, or a cell has no value; the message names the row and the column.
    """
    file = Path(source)
    endings = file.suffixes[-2:-1] if file.suffix in PACKED else [file.suffix]
    try:
        if is_data_set(source):
            columns = read_columns(source)
            rows = range(1, len(next(iter(columns.values()), ())) + 1)
            found = replace(read_frame(columns), source=source, rows=rows)
        elif endings and endings[0].lower() in TABLES:
            found = replace(read_table(file, given, has_messages=False), source=source, notes=[])
        else:
            raise ConfigError(f"{source}: expected a table that ends in .csv, .tsv, .json, .parquet or .npz")
        if not found.is_header:
            raise ConfigError(f"{source}: expected a list of objects with named values, got {found.about}")
        chosen = roles_of(found, given, needs_message=False)
        attributes, features, bare = parts_of(found, chosen, said=given)
        said = {*given, *found.roles}
        plain = plain_attributes(found, attributes, said, numeric="values", are_objects=True)
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
        found.notes.insert(0, f"{source}: {described(found, chosen)} (--column NAME=ROLE)")
    note_words_for_none(found, chosen)
    table = TextTable(
        source=source,
        columns=texts,
        rows=found.rows,
        kept=kept,
        features=frozenset(features),
        notes=found.notes,
    )
    missing = [(index, name) for index in range(number) for name in texts if texts[name][index] == ""]
    if missing:
        more = f", and {len(missing) - 1} more cells are empty" if len(missing) > 1 else ""
        raise ConfigError(f"{table.place(*missing[0])}: expected a value, got nothing{more}")
    return table


def _texts(table: RawTable, name: str, cells: Sequence[Any]) -> list[str]:
    """Convert the values of a column to texts; texts are kept, except for decimal commas."""
    raw = table.columns.get(name)
    if table.are_texts and isinstance(raw, list) and not any(isinstance(cell, list | dict) for cell in cells):
        are_numbers = table.has_decimal_comma and all(isinstance(cell, float | None) for cell in cells)
        return [str(cell).replace(",", ".") if are_numbers else printable(cell) for cell in raw]
    return ["" if cell is None else printable(cell).strip() for cell in cells]


def _distinct_rows(objects: NDArray[Any], is_trained: NDArray[np.bool_] | None) -> Integers:
    """Row of each distinct object, ascending: the first row, or the first training row, if any.

    Args:
        objects: Values that identify objects, (num_rows, width).
        is_trained: Mask of training rows, (num_rows,); None: no splits.
    """
    order = np.arange(len(objects)) if is_trained is None else np.argsort(~is_trained, kind="stable")
    first: Integers = order[np.unique(objects[order], axis=0, return_index=True)[1]]
    return np.sort(first)


def _columns_of_training(trained: ObjectTable, table: TextTable) -> list[AttributeColumn]:
    """Coding of the training table, whose columns the table must have."""
    missing = [column.name for column in trained.coding if column.name not in table.columns]
    if missing or not trained.coding:
        expected = ", ".join(column.name for column in trained.coding) or "of an npz file"
        raise ConfigError(f"{table.source}: expected the training columns, {expected}")
    return list(trained.coding)


def _feature_table(file: FeatureFile, trained: ObjectTable | None) -> ObjectTable:
    """Objects of an npz file: agents see unchanged features; classes and attributes are concepts."""
    width = file.features.shape[1]
    if trained is not None and (trained.coding or trained.table.shape[1] != width):
        expected = (
            "a table with the training columns" if trained.coding else f"{trained.table.shape[1]} features"
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
    distinct = _distinct_rows(file.features, file.split == 0 if file.has_split else None)
    notes = []
    if len(distinct) < len(file.features):
        notes = [
            f"{file.path}: {len(file.features)} rows are {len(distinct)} different objects; each is used once"
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
        """bins: columns with many numbers are sorted into five bins. features: agents see the numbers, scaled."""
        columns: Mapping[str, str] = field(default_factory=dict)
        """Roles of columns whose names do not determine them: `{trial: kept, "Unnamed: 0": kept}`."""

    default_perceptions = ("identity", "tanh")
    expected_source = "a table of objects, such as --objects objects.csv"

    objects: ObjectTable

    def read(self, source: str, trained: ObjectListWorld | None) -> ObjectTable:
        """See `ObjectListWorld`."""
        coding = trained.objects if isinstance(trained, OwnObjectsWorld) else None
        return read_objects(source, self.options.numeric, coding, self.options.columns)
