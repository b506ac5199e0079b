"""Conversion of users' messages, columns and meanings of a corpus: arrays, tensors, frames, lists, words."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.plain_values import BITS, MAX_INTEGER, TYPES, plain
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged

MAX_ID = 2**31 - 1
"""Largest id of a symbol or concept."""


def as_array(values: Any) -> Any:
    """Convert a tensor on any device, or a frame, to an array; other values are returned unchanged.

    Raises:
        CorpusError: If an array is masked: masked values may be padding or missing.
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            raise CorpusError("expected values, got a masked array: give lists without masked values")
        values = values.data
    return np.asarray(values) if isinstance(values, np.ndarray) else values


def rows_of(rows: Any, what: str) -> Ragged:
    """Convert lists of ids to rows.

    Args:
        rows: A sequence of lists, arrays or tensors; an array, a tensor or a frame of two dimensions.
        what: Noun of a row in error messages: message, or concepts of message.

    Raises:
        CorpusError: If `rows` are anything else.
    """
    rows = as_array(rows.to_numpy() if hasattr(rows, "to_numpy") else rows)
    try:
        given = iter(rows)
    except TypeError:
        raise CorpusError(f"expected a list of integers for each message, got {rows!r:.60}") from None
    found: list[Any] = []
    for number, each in enumerate(given):
        row = np.asarray(as_array(each))
        if row.ndim != 1 or (row.size and (row.dtype.kind not in "iu" or row.min() < 0)):
            raise CorpusError(f"{what} {number}: expected a list of integers from 0, got {each!r:.60}")
        if row.size and row.max() > MAX_ID:
            raise CorpusError(f"{what} {number}: expected integers below {MAX_ID + 1}, got {row.max()}")
        found.append(row.astype(np.int32))
    return Ragged.from_rows(found)


def names_of(field: str, names: Any, least: int) -> tuple[str, ...]:
    """Convert names to printable texts.

    Args:
        field: Field of the names, such as symbol_names, for error messages.
        names: Texts.
        least: Minimum number of names.

    Raises:
        CorpusError: If there are fewer names, names are not unique, or not a list.
    """
    if isinstance(names, str | Mapping | Set) or not isinstance(names, Iterable):
        raise CorpusError(f"{field}: expected a list of names, got {names!r:.60}")
    found = tuple(map(printable, names))
    if len(found) < least:
        raise CorpusError(f"{field}: expected {least:,} names, got {len(found):,}")
    if repeated := _repeated(found):
        raise CorpusError(f"{field}: {repeated}")
    return found


def require_different(what: str, names: Sequence[str]) -> None:
    """Raise `ConfigError` if names are not unique, so that no corpus can be made from them."""
    if repeated := _repeated(list(names)):
        raise ConfigError(f"{what}: {repeated}")


def _repeated(names: Sequence[str]) -> str | None:
    """Fault message about a repeated name; None if names are unique."""
    if len(set(names)) == len(names):
        return None
    name = Counter(names).most_common(1)[0][0]
    first = names.index(name)
    return f"expected different names, got {name!r:.60} at {first} and {names.index(name, first + 1)}"


def column_of(values: Any) -> NDArray[Any]:
    """Convert values to a 1-d array of printable texts, integers, floats, booleans, or objects.

    Objects are JSON values, with None for missing values and NaN.

    Raises:
        CorpusError: If an integer has more than 64 bits.
    """
    values = as_array(values)
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise CorpusError(f"expected a list of values, got {values!r:.60}")
    if isinstance(values, np.ndarray) and _is_plain(values):
        return values
    try:
        values = [printable(value) if isinstance(value, str) else plain(value) for value in values]
    except OverflowError as error:
        raise CorpusError(f"expected {BITS}, got {error}") from None
    kinds = {type(value) for value in values}
    if kinds in ({str}, {int}, {float}, {bool}) or kinds == {int, float}:
        return np.array(values)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _is_plain(values: NDArray[Any]) -> bool:
    """Whether the values of an array are JSON values, or already converted."""
    if values.dtype.kind == "O":
        kinds = set(map(type, values.tolist()))
        return kinds <= TYPES and len(kinds) > 1
    if values.dtype.kind == "f":
        return not np.isnan(values).any()
    return values.dtype.kind in "biU" or (
        values.dtype.kind == "u" and int(values.max(initial=0)) < MAX_INTEGER
    )


def with_index(frame: Any, *, takes_unnamed: bool = True) -> Any:
    """Move the index of a pandas frame to columns: levels with a new name, and unnamed texts.

    Args:
        frame: The frame.
        takes_unnamed: Whether unnamed texts are moved; as meanings they would identify each object.
    """
    index = frame.index
    kept = [
        level
        for level, name in enumerate(index.names)
        if name not in frame.columns
        and (name is not None or (takes_unnamed and index.get_level_values(level).dtype.kind not in "iu"))
    ]
    return frame.reset_index(level=kept) if kept else frame


def named_attributes(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Convert meanings with named attributes to arguments of `Corpus`: vectors, and concepts such as `color=red`.

    Args:
        columns: Values of each attribute: texts, numbers, or booleans, which are features that are present
            (`red`) or not; None is a missing value.

    Returns:
        Concepts of each message and, if no value is missing, `meanings`: integers if all values are, else
        texts.
    """
    columns = {name: _plain_cells(name, cells) for name, cells in columns.items()}
    ids: dict[str, int] = {}
    rows: list[list[int]] = []
    for values_of_row in zip(*columns.values(), strict=True):
        there = [
            name if value is True else f"{name}={value}"
            for name, value in zip(columns, values_of_row, strict=True)
            if value is not None and value is not False
        ]
        rows.append([ids.setdefault(concept, len(ids)) for concept in there])
    found: dict[str, Any] = {"concepts": Ragged.from_rows(rows), "concept_names": tuple(ids)}
    values = [cell for cells in columns.values() for cell in cells]
    if not any(value is None for value in values):
        is_whole = all(isinstance(value, int) for value in values)
        table = [[int(cell) if is_whole else printable(cell) for cell in cells] for cells in columns.values()]
        found |= {"meanings": np.array(table).T, "attribute_names": tuple(columns)}
    return found


def _plain_cells(name: str, cells: Sequence[Any]) -> list[Any]:
    """Convert the values of an attribute to JSON values."""
    try:
        return [plain(cell) for cell in cells]
    except OverflowError as error:
        raise CorpusError(f"{name}: expected {BITS}, got {error}") from None


def _attribute_fields(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Fields of a corpus for meanings with named attributes; `missing` names the first missing value."""
    found = named_attributes(columns)
    if "meanings" in found:
        return found
    cells = {name: _plain_cells(name, values) for name, values in columns.items()}
    lacking = [
        (place, name) for name, values in cells.items() for place, cell in enumerate(values) if cell is None
    ]
    more = f", and {len(lacking) - 1:,} more values" if len(lacking) > 1 else ""
    place, name = min(lacking)
    return {**found, "missing": f"message {place} lacks {name}{more}"}


def fields_of(meanings: Any) -> dict[str, Any]:
    """Convert meanings that are not a 2-d array of numbers or texts to fields of a corpus.

    Raises:
        CorpusError: If rows differ in kind or length, or a value is neither a text nor a 64-bit number.
    """
    meanings = as_array(meanings)
    if not hasattr(meanings, "__iter__") or isinstance(meanings, str):
        raise CorpusError(f"expected a meaning for each message, got {meanings!r:.60}")
    if isinstance(meanings, np.ndarray):
        if meanings.dtype.kind != "O":
            return {"meanings": _values(meanings)}
        meanings = meanings.reshape(len(meanings), math.prod(meanings.shape[1:])).tolist()
    if hasattr(meanings, "to_dict") and hasattr(meanings, "columns"):
        meanings = with_index(meanings, takes_unnamed=False) if hasattr(meanings, "index") else meanings
        if len(set(map(str, meanings.columns))) < len(meanings.columns):
            raise CorpusError("meanings: expected columns of different names")
        meanings = {str(name): list(meanings[name].to_list()) for name in meanings.columns}
    if isinstance(meanings, Mapping):
        return _attribute_fields(meanings)
    rows = [as_array(row) for row in meanings]
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(name for row in rows for name in row))
        return _attribute_fields({str(name): [row.get(name) for row in rows] for name in names})
    lengths = {len(row) if isinstance(row, Sequence) and not isinstance(row, str) else 1 for row in rows}
    kinds = {isinstance(row, Mapping) for row in rows}
    if len(lengths) > 1 or len(kinds) > 1:
        raise CorpusError(f"expected meanings of one kind and length, got lengths {sorted(lengths)}")
    if rows and all(
        isinstance(row, list | tuple) and all(isinstance(item, str) for item in row) for row in rows
    ):
        return word_vectors(rows)
    found = np.asarray(rows)
    if found.dtype.kind in "OU":  # texts and numbers, as in frames
        cells = [list(row) if isinstance(row, list | tuple | np.ndarray) else [row] for row in rows]
        found = np.array([[_text(cell, place) for cell in row] for place, row in enumerate(cells)])
    return {"meanings": _values(found)}


def _text(value: Any, place: int) -> str:
    """Convert a value of a meaning to a text."""
    value = plain(value)
    if value is None or isinstance(value, list | dict):
        raise CorpusError(f"meaning {place}: expected numbers or texts, got {value!r:.60}")
    return printable(value)


def _values(meanings: NDArray[Any]) -> NDArray[Any]:
    """Convert numbers and texts of an array of any shape to rows, (num_messages, num_attributes)."""
    kind = meanings.dtype.kind
    if kind not in "biufmMSU" or (kind == "u" and int(meanings.max(initial=0)) >= MAX_INTEGER):
        raise CorpusError(
            f"expected meanings that are texts, or numbers of at most 64 bits, got {meanings.dtype}"
        )
    if kind == "b":
        meanings = meanings.astype(np.int32)
    if kind in "mM":
        meanings = meanings.astype(str)
    if kind == "S":
        meanings = np.char.decode(meanings, errors="backslashreplace")
    return meanings.reshape(len(meanings), math.prod(meanings.shape[1:]))


def integer_vectors(rows: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Convert meanings that are integers without attribute names to arguments of `Corpus`.

    Concepts are values of attributes that vary, such as `attribute0=3`.
    """
    meanings = np.array(rows)
    columns, names = list[NDArray[Any]](), list[str]()
    for place, column in enumerate(meanings.T):
        values, ids = np.unique(column, return_inverse=True)
        if len(values) > 1:  # a constant value carries no information
            columns.append(ids + len(names))
            names += [f"attribute{place}={value}" for value in values.tolist()]
    if not names:
        return {"meanings": meanings}
    lengths = np.full(len(meanings), len(columns))
    concepts = Ragged.from_lengths(np.stack(columns, 1).astype(np.int32).reshape(-1), lengths)
    return {"meanings": meanings, "concepts": concepts, "concept_names": tuple(names)}


def word_vectors(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Convert meanings that are words without attribute names to arguments of `Corpus`; each word is a concept.

    A word that occurs at several positions is several concepts, such as `attribute0=red`.

    Args:
        rows: Words of each meaning, equal numbers for all.
    """
    places: dict[str, set[int]] = {}
    for row in rows:
        for place, word in enumerate(row):
            places.setdefault(word, set()).add(place)
    named = [
        [word if len(places[word]) == 1 else f"attribute{place}={word}" for place, word in enumerate(row)]
        for row in rows
    ]
    ids: dict[str, int] = {}
    concepts = Ragged.from_rows([[ids.setdefault(name, len(ids)) for name in row] for row in named])
    safe = [[printable(word) for word in row] for row in rows]
    return {"meanings": np.array(safe), "concepts": concepts, "concept_names": tuple(ids)}
