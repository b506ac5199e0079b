"""Tables of objects: a row an object, a column an attribute; CSV, TSV, JSON or Parquet."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.config import ConfigError, missing_extra
from ecsuite.games.worlds.world import Integers

MOST_VALUES = 20
"""A column of more different numbers than this is sorted into bins."""
NUM_BINS = 5
"""Bins of a column of numbers, with about equally many objects each."""
MOST_NAMES = 1000
"""Most different values of a column that are not numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ObjectTable:
    """The objects of a table, each once."""

    names: tuple[tuple[str, ...], ...]
    """The values of each attribute as concepts, such as `shape=star`, in the order of their numbers."""
    objects: Integers
    """Values of each object, (num_objects, num_attributes)."""
    notes: tuple[str, ...]
    """What was done with the table, in lines for people."""


def read_objects(file: Path) -> ObjectTable:
    """Read a table of objects.

    Args:
        file: `.csv` or `.tsv` with a header, `.json` (a list of objects, or of one a line), or `.parquet`.

    Raises:
        ConfigError: If it can't be read, or a row or column can't be used; the message names it.
    """
    columns = _read(file)
    rows = len(next(iter(columns.values()), ()))
    if not columns or rows < 2:
        raise ConfigError(f"{file}: expected a header and at least 2 objects, got {rows}")
    notes, names, values = list[str](), list[tuple[str, ...]](), list[Integers]()
    for name, texts in columns.items():
        for number, text in enumerate(texts, 2):
            if text == "":
                raise ConfigError(f"{file}:{number}: no value in column {name}")
        if len(set(texts)) == 1:
            notes.append(f"{file}: column {name} is left out: it has the one value {texts[0]}")
            continue
        labels, numbers = _binned(texts) if _is_measure(texts) else _named(texts)
        if len(labels) > MOST_NAMES:
            raise ConfigError(
                f"{file}: column {name} has {len(labels)} different values, expected at most {MOST_NAMES}"
            )
        if _is_measure(texts):
            notes.append(
                f"{file}: column {name} holds many numbers, sorted into {len(labels)} bins: {', '.join(labels)}"
            )
        names.append(tuple(f"{name}={label}" for label in labels))
        values.append(numbers)
    if not names:
        raise ConfigError(f"{file}: expected a column with different values")
    objects = np.stack(values, axis=1)
    distinct = np.sort(np.unique(objects, axis=0, return_index=True)[1])
    if len(distinct) < rows:
        notes.append(f"{file}: {rows} rows are {len(distinct)} different objects; each is taken once")
    return ObjectTable(names=tuple(names), objects=objects[distinct], notes=tuple(notes))


def _read(file: Path) -> dict[str, list[str]]:
    """The columns of a table as texts, by name."""
    try:
        if file.suffix == ".parquet":
            return _parquet(file)
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: can't be read: {error}") from None
    if file.suffix in (".json", ".jsonl"):
        return _of_records(file, text)
    if file.suffix not in (".csv", ".tsv"):
        raise ConfigError(f"{file}: expected a table that ends in .csv, .tsv, .json or .parquet")
    first = text.split("\n", 1)[0]
    delimiter = max("\t" if file.suffix == ".tsv" else ",;\t", key=first.count)
    rows = list(csv.reader(text.splitlines(), delimiter=delimiter))
    if not rows:
        raise ConfigError(f"{file}: is empty, expected a header and a row for each object")
    header = [name.strip() for name in rows[0]]
    if len(set(header)) < len(header) or "" in header:
        raise ConfigError(f"{file}:1: expected a header of different names, got {', '.join(header)}")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise ConfigError(
                f"{file}:{number}: expected {len(header)} values, as in the header, got {len(row)}"
            )
    return {name: [row[place].strip() for row in rows[1:]] for place, name in enumerate(header)}


def _of_records(file: Path, text: str) -> dict[str, list[str]]:
    """The columns of JSON records."""
    try:
        lines = [line for line in text.splitlines() if line.strip()]
        found = json.loads(text) if text.lstrip()[:1] == "[" else [json.loads(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: not JSON: {error}") from None
    if not isinstance(found, list) or not all(isinstance(record, Mapping) for record in found):
        raise ConfigError(f"{file}: expected a list of objects with named values")
    names = list(found[0]) if found else []
    for number, record in enumerate(found, 1):
        if list(record) != names:
            raise ConfigError(f"{file}: record {number}: expected the keys {', '.join(names)}")
        for name, value in record.items():
            if not isinstance(value, str | int | float | bool):
                raise ConfigError(f"{file}: record {number}: {name}: expected a text or a number")
    return {name: [str(record[name]) for record in found] for name in names}


def _parquet(file: Path) -> dict[str, list[str]]:
    """The columns of a Parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise missing_extra(f"{file}: tables need pyarrow", "data") from None
    try:
        table: Any = parquet.read_table(file)
    except (pyarrow.ArrowException, ValueError) as error:
        raise ConfigError(f"{file}: can't be read as Parquet: {error!s:.200}") from None
    return {
        name: ["" if value is None else str(value) for value in table[name].to_pylist()]
        for name in table.column_names
    }


def _is_measure(texts: Sequence[str]) -> bool:
    """Whether a column holds many different numbers."""
    return len(set(texts)) > MOST_VALUES and all(map(_is_number, set(texts)))


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _named(texts: Sequence[str]) -> tuple[list[str], Integers]:
    """The different values of a column, numbers in their order, and the number of each row's value."""
    distinct = set(texts)
    labels = sorted(distinct, key=float) if all(map(_is_number, distinct)) else sorted(distinct)
    places = {label: place for place, label in enumerate(labels)}
    return labels, np.array([places[text] for text in texts], dtype=np.int64)


def _binned(texts: Sequence[str]) -> tuple[list[str], Integers]:
    """Bins of a column of numbers, with about equally many objects each, and the bin of each row."""
    numbers = np.array([float(text) for text in texts])
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, NUM_BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, numbers, side="right")
    used, places = np.unique(bins, return_inverse=True)
    labels = [f"{numbers[bins == each].min():g}..{numbers[bins == each].max():g}" for each in used]
    return labels, places.astype(np.int64)
