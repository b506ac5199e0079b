"""Meanings in the columns of a table: values of attributes, features, and meanings without names."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from ecsuite.formats.cells import are_all, are_numbers, is_missing, is_number
from ecsuite.formats.one_hot import joined_columns, one_hot_values
from ecsuite.formats.signs import meanings_of_texts
from ecsuite.formats.strict_json import show
from ecsuite.formats.table import RawTable
from ecsuite.formats.table_notes import has_spellings
from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged

Numeric = Literal["values", "features"]
"""Type of numeric meanings: values of attributes, or features."""


def parts_of(
    table: RawTable,
    roles: Mapping[str, str],
    notes: list[str],
    *,
    said: Collection[str] = (),
    numeric: Numeric = "values",
) -> tuple[dict[str, list[Any]], dict[str, list[Any]], list[Any] | None]:
    """Values by named attribute, numbers by feature, and meanings without names: lists of equal kind.

    Mappings are attributes by their keys, `left.color`; lists beside other columns are numbered, `size.0`.

    Args:
        table: The table.
        roles: The role of each column.
        notes: Where what was guessed is added.
        said: Columns whose roles the user says, which are attributes of their own; as those whose roles the file says,
            whose numbers are taken as they stand, too.
        numeric: What numbers are.

    Raises:
        CorpusError: If a value can't be read, or two columns have one name; one line with the place.
    """
    meaning = [name for name, role in roles.items() if role == "meaning"]
    named = [name for name, role in roles.items() if role in ("attribute", "feature")]
    values = {
        name: [None if is_missing(cell) else cell for cell in table.values(name)]
        for name in (*meaning, *named)
    }
    only = next(iter(meaning or (named if len(named) == 1 and are_all(values[named[0]], list) else [])), None)
    bare: list[Any] | None = None
    if only is not None and not _has_mapping(values[only]):
        values[only] = meanings_of_texts(values[only])
        if not _has_mapping(values[only]):  # as `color=red, shape=cup` becomes one
            bare = [flat(cell) for cell in values.pop(only)]
            if numeric == "values" and only not in table.roles:
                bare = _decoded(table, bare, notes)
    attributes: dict[str, list[Any]] = {}
    features: dict[str, list[Any]] = {}
    for name, cells in values.items():
        prefix = "" if name in meaning else f"{name}."
        for key, inner in _expanded(table, name, cells, prefix).items():
            is_feature = roles.get(name) == "feature" or (numeric == "features" and are_numbers(inner))
            if is_feature and not are_numbers(inner):
                bad = next(
                    place for place, cell in enumerate(inner) if not is_number(cell) and cell is not None
                )
                raise CorpusError(
                    f"{table.place(bad, name)}: expected a number of a feature, got {show(inner[bad])}"
                )
            if key in attributes or key in features:
                raise CorpusError(
                    f"{table.source}: two columns have the name {printable(key)}: one is in column {name}"
                )
            if is_feature:
                features[key] = inner
            else:
                attributes[key] = _as_written(table, name, inner) if key == name else inner
    return _joined(table, attributes, {*said, *table.roles}, notes), features, bare


def _has_mapping(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, dict) for cell in cells)


def _as_written(table: RawTable, name: str, cells: list[Any]) -> list[Any]:
    """The values of an attribute; texts, where numbers are written in several ways."""
    own = table.columns[name]
    if isinstance(own, Ragged) or not has_spellings(table, name, cells):
        return cells
    return [cell or None for cell in own]


def _expanded(table: RawTable, name: str, cells: Sequence[Any], prefix: str) -> dict[str, list[Any]]:
    """A column of mappings, or of lists, as a column each; another column as it is."""
    filled = [cell for cell in cells if cell is not None]
    if not any(isinstance(cell, dict | list) for cell in filled):
        return {name: list(cells)}
    rows = []
    for place, cell in enumerate(cells):
        if cell is not None and not isinstance(
            cell, type(filled[0]) if isinstance(filled[0], dict | list) else ()
        ):
            raise CorpusError(
                f"{table.place(place, name)}: expected a value like the first, got {show(cell)}"
            )
        rows.append(leaves(cell, prefix))
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [None if is_missing(row.get(key)) else row.get(key) for row in rows] for key in keys}


def leaves(value: Any, prefix: str) -> dict[str, Any]:
    """The leaves of a mapping or a list by their names: `left.color`, `size.0`."""
    if value is None:
        return {}
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found: dict[str, Any] = {}
    for key, inner in items:
        if isinstance(inner, dict | list) and inner:
            found |= leaves(inner, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = inner
    return found


def _joined(
    table: RawTable, attributes: dict[str, list[Any]], said: Collection[str], notes: list[str]
) -> dict[str, list[Any]]:
    """Attributes, those that have a column for each value as one; apart from those whose roles somebody says."""
    found = {name: list(cells) for name, cells in joined_columns(attributes, but=said).items()}
    if new := [name for name in found if name not in attributes]:
        notes.append(f"{table.source}: {', '.join(new)}: a column for each value, taken as one attribute")
    return found


def _decoded(table: RawTable, rows: list[Any], notes: list[str]) -> list[Any]:
    """Meanings without names; of one-hot ones the values of their attributes."""
    found = one_hot_values(rows)
    if found is None:
        return rows
    numbers = [len({*column}) for column in zip(*filter(None, found), strict=True)]
    notes.append(
        f"{table.source}: meanings are one-hot: the values of {len(numbers)} attributes, of which there are "
        f"{', '.join(map(str, numbers))} (--numeric features takes the numbers)"
    )
    return list(found)


def flat(cell: Any) -> Any:
    """A meaning without names as a list of values; None if one is missing."""
    if cell is None:
        return None
    if not isinstance(cell, list):
        return [cell]
    items = [
        each for inner in cell for each in (flat(inner) or [None] if isinstance(inner, list) else [inner])
    ]
    return None if any(item != "" and is_missing(item) for item in items) else items  # "" in a list is a text
