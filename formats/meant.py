"""Meanings in the columns of a table: values of attributes, features, and meanings without names."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

from ecsuite.formats.cells import are_all, are_numbers, is_decimal, is_missing, is_number
from ecsuite.formats.layouts import Numeric
from ecsuite.formats.one_hot import joined_columns, one_hot_values
from ecsuite.formats.signs import meanings_of_texts
from ecsuite.formats.strict_json import show
from ecsuite.formats.table import RawTable
from ecsuite.formats.table_notes import has_spellings
from ecsuite.runtime.errors import CorpusError, ReadingQuestion
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged


def parts_of(
    table: RawTable,
    roles: Mapping[str, str],
    notes: list[str],
    *,
    said: Collection[str] = (),
    numeric: Numeric = "auto",
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
            if numeric != "features" and only not in table.roles:
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


def plain_attributes(
    table: RawTable,
    attributes: Mapping[str, list[Any]],
    said: Collection[str],
    notes: list[str],
    *,
    numeric: Numeric = "auto",
    sizes: Sequence[Sequence[int]] = (),
    are_objects: bool = False,
) -> dict[str, list[Any]]:
    """The attributes that are plainly values of what was meant; those without information are left out.

    Args:
        table: The table.
        attributes: Values by name.
        said: Attributes that the user or the file names as such.
        notes: Where a line about what is left out is added.
        numeric: What numbers are.
        sizes: Numbers of each message, such as those of its symbols.
        are_objects: Whether rows are objects of a game: numbers are binned, and columns with one value stay.

    Raises:
        ReadingQuestion: If it is not clear which of them were meant, or what numbers are.
    """
    distinct = {name: len(set(map(repr, cells))) for name, cells in attributes.items()}
    varying = [name for name in attributes if distinct[name] > 1 or name in said]
    constant = [name for name in attributes if name not in varying]
    if are_objects or not varying:
        constant = [name for name in constant if all(cell is None for cell in attributes[name]) and varying]
    if constant:
        notes.append(
            f"{table.source}: {', '.join(map(printable, constant))}: one value or none, left out of what was meant "
            "(--column NAME=attribute)"
        )
    found = {name: cells for name, cells in attributes.items() if name not in constant}
    named = [name for name in found if name not in said and _says_others(name, found)]
    found = {name: cells for name, cells in found.items() if name not in named}
    if said and set(said) >= found.keys():
        return found
    rows = list(zip(*(map(repr, cells) for cells in found.values()), strict=True))
    if len(set(rows)) < 3:  # no score depends on more
        return found
    outcomes = {name for name, cells in found.items() if _is_outcome(cells)}
    odd = {
        name: why
        for name in found
        if name not in said
        and not _ATTRIBUTE.fullmatch(name)
        and not (
            are_objects and (not are_all(found[name], str) or all(map(is_decimal, filter(None, found[name]))))
        )
        and (why := _why_odd(name, found, distinct, outcomes, sizes))
    }
    plain = [name for name in found if name not in odd]
    if odd and plain:
        raise ReadingQuestion(
            table.source,
            f"which columns were meant: {', '.join(map(printable, plain))}, or more?",
            [
                (
                    {"columns": dict.fromkeys(odd, role)} if are_objects else {"attributes": tuple(names)},
                    why,
                )
                for names, role, why in (
                    (plain, "kept", "the others are stored"),
                    (found, "attribute", "all of them"),
                )
            ],
            [f"{printable(name)}: {why}" for name, why in odd.items()],
        )
    measures = [name for name, cells in found.items() if _are_measures(cells, len(rows), distinct[name])]
    if (
        numeric == "auto"
        and measures
        and len(measures) == len([name for name in found if are_numbers(found[name])])
    ):
        raise ReadingQuestion(
            table.source,
            f"are the numbers of {', '.join(map(printable, measures[:4]))} values, or measures?",
            [
                ({"numeric": "features"}, "measures: near numbers are alike"),
                ({"numeric": "values"}, "values: each different number is a value of its own"),
            ],
            [f"{printable(name)}: {', '.join(map(str, found[name][:4]))}, ..." for name in measures],
        )
    return found


_ATTRIBUTE = re.compile(r"(?:.*\.)?attribute[ _]?[0-9]*")
"""Names that say that a column is an attribute."""


def _are_measures(cells: Sequence[Any], number: int, num_distinct: int) -> bool:
    """Whether numbers have decimals, or none comes twice."""
    if not are_numbers(cells):
        return False
    return any(isinstance(cell, float) and not cell.is_integer() for cell in cells) or num_distinct == number


def _says_others(name: str, columns: Mapping[str, Sequence[Any]]) -> bool:
    """Whether texts name the values of at least two other columns, as those of files of images do."""
    cells = columns[name]
    if not are_all(cells, str):
        return False
    others = (each for key, each in columns.items() if key != name and are_all(each, str))
    says = (
        each for each in others if all(b != a and b in a for a, b in zip(cells, each, strict=True) if a and b)
    )
    return len(list(islice(says, 2))) > 1


def _why_odd(
    name: str,
    columns: Mapping[str, Sequence[Any]],
    distinct: Mapping[str, int],
    outcomes: Collection[str],
    sizes: Sequence[Sequence[int]],
) -> str | None:
    """Why a column may be none of what was meant; None if it plainly is."""
    cells, number = columns[name], len(columns[name])
    if any(list(cells) == list(each) for each in sizes):
        return "the length of each message"
    if name in outcomes and len(outcomes) < len(columns):
        return f"only {' and '.join(sorted({str(cell) for cell in cells if cell is not None}))}, as an outcome has"
    repeating = [key for key in columns if distinct[key] < distinct[name]]
    if distinct[name] == number and repeating:
        return "another value in each row"
    if len(repeating) < 2 or not are_all(cells, str):
        return None
    if any(len(set(zip(cells, map(repr, columns[key]), strict=True))) > distinct[name] for key in repeating):
        return None
    if len(set(zip(*(map(repr, columns[key]) for key in repeating), strict=True))) == distinct[name]:
        return f"a name of {', '.join(map(printable, repeating[:3]))} together"
    return None


def _is_outcome(cells: Sequence[Any]) -> bool:
    """Whether all cells are 0 or 1, or truth values."""
    return all(cell is None or (isinstance(cell, int) and cell in (0, 1)) for cell in cells)


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
