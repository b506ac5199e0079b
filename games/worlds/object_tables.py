"""Tables of objects: a row an object, a column an attribute or a feature; and npz files of features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.corpus import OF_SPEECH, SPLIT
from ecsuite.formats.frames import read_frame
from ecsuite.formats.meant import parts_of
from ecsuite.formats.reading import read_table
from ecsuite.formats.roles import described, finds_meaning, roles_of
from ecsuite.formats.table import Table
from ecsuite.formats.table_notes import note_words_for_none
from ecsuite.games.worlds.column_coding import Column, Numeric, TextTable, columns_of
from ecsuite.games.worlds.feature_files import FeatureFile, read_features
from ecsuite.games.worlds.hub_data import is_data_set, read_columns
from ecsuite.games.worlds.objects import OWN_SPLIT, ObjectList
from ecsuite.games.worlds.own_data import PACKED, TABLES
from ecsuite.games.worlds.world import FREE, Integers
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.given_values import column_of
from ecsuite.runtime.printable import printable

ROW = "row"
"""The column of a corpus with the row of each object, where its features do not tell it."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ObjectTable(ObjectList):
    """The objects of a table, each once."""

    coding: tuple[Column, ...] = ()
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
        if bare is not None:
            width = max((len(row) for row in bare if row is not None), default=0)
            cells = [[None] * width if row is None else row for row in bare]
            attributes |= {f"attribute{place}": [row[place] for row in cells] for place in range(width)}
        kept = {
            name: column_of(found.values(name))
            for name, role in chosen.items()
            if role not in ("meaning", "attribute", "feature")
        }
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


def _texts(table: Table, name: str, cells: Sequence[Any]) -> list[str]:
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


def _columns_of_training(trained: ObjectTable, table: TextTable) -> list[Column]:
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
