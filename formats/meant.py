"""Meanings in the columns of a table: values of attributes, features, and meanings without names."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ecsuite.formats.cells import are_all, are_numbers, is_decimal, is_missing, is_number
from ecsuite.formats.layouts import Numeric
from ecsuite.formats.one_hot import joined_columns, one_hot_values
from ecsuite.formats.roles import role_of_name
from ecsuite.formats.signs import meanings_of_texts
from ecsuite.formats.strict_json import show
from ecsuite.formats.table import RawTable, more
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
    if only is not None and not any(isinstance(cell, dict) for cell in values[only]):
        values[only] = meanings_of_texts(values[only])
        if not any(isinstance(cell, dict) for cell in values[only]):  # as `color=red, shape=cup` becomes one
            bare = [flat(cell) for cell in values.pop(only)]
            read = one_hot_values(bare) if numeric != "features" and only not in table.roles else None
            if read is not None:
                numbers = [len({*column}) for column in zip(*filter(None, read), strict=True)]
                notes.append(
                    f"{table.source}: meanings are one-hot: the values of {len(numbers)} attributes, of which there "
                    f"are {', '.join(map(str, numbers))} (--numeric features takes the numbers)"
                )
                bare = list(read)
    attributes: dict[str, list[Any]] = {}
    features: dict[str, list[Any]] = {}
    for name, cells in values.items():
        for key, inner in _expanded(table, name, cells, "" if name in meaning else f"{name}.").items():
            is_feature = roles[name] == "feature" or (numeric == "features" and are_numbers(inner))
            if is_feature and not are_numbers(inner):
                bad = next(at for at, cell in enumerate(inner) if not is_number(cell) and cell is not None)
                got = f"expected a number of a feature, got {show(inner[bad])}"
                raise CorpusError(f"{table.place(bad, name)}: {got}")
            if key in attributes or key in features:
                twice = f"two columns have the name {printable(key)}: one is in column {name}"
                raise CorpusError(f"{table.source}: {twice}")
            (features if is_feature else attributes)[key] = inner
    joined = joined_columns(attributes, but={*said, *table.roles})
    if new := [name for name in joined if name not in attributes]:
        notes.append(f"{table.source}: {', '.join(new)}: a column for each value, taken as one attribute")
    return {name: list(cells) for name, cells in joined.items()}, features, bare


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
    constant = [name for name in attributes if distinct[name] == 1 and name not in said]
    if are_objects or len(constant) == len(attributes):
        is_empty = len(constant) < len(attributes)
        constant = [name for name in constant if is_empty and all(cell is None for cell in attributes[name])]
    if constant:
        notes.append(
            f"{table.source}: {', '.join(map(printable, constant))}: one value or none, left out of what was meant "
            "(--column NAME=attribute)"
        )
    found = {name: cells for name, cells in attributes.items() if name not in constant}
    rows = list(zip(*(map(repr, cells) for cells in found.values()), strict=True))
    written = {
        name: cells if are_objects else _as_written(table, name, cells) for name, cells in found.items()
    }
    if set(said) >= found.keys() or len(set(rows)) < 3:  # no score depends on more
        return written
    odd = {
        name: why
        for name in found
        if name not in said and (why := _why_odd(table, name, found, distinct, sizes))
    }
    if are_objects:  # whose numbers are sorted into bins
        texts = [name for name in odd if are_all(found[name], str)]
        odd = {name: odd[name] for name in texts if not all(map(is_decimal, filter(None, found[name])))}
    plain = [name for name in found if name not in odd]
    if odd and plain:
        words: list[dict[str, Any]] = [{"attributes": tuple(names)} for names in (plain, found)]
        if are_objects:
            words = [{"columns": dict.fromkeys(odd, role)} for role in ("kept", "attribute")]
        raise ReadingQuestion(
            table.source,
            f"which columns were meant: {', '.join(map(printable, plain))}, or more?",
            [(words[0], "the others are stored"), (words[1], "all of them")],
            [f"{printable(name)}: {why}" for name, why in odd.items()],
        )
    numbers = [name for name in found if are_numbers(found[name])]
    if (
        numeric == "auto"
        and numbers
        and all(
            distinct[name] == len(rows) or not all(float(cell or 0).is_integer() for cell in found[name])
            for name in numbers
        )
    ):
        raise ReadingQuestion(
            table.source,
            f"are the numbers of {', '.join(map(printable, numbers[:4]))} values, or measures?",
            [
                ({"numeric": "features"}, "measures: near numbers are alike"),
                ({"numeric": "values"}, "values: each different number is a value of its own"),
            ],
            [f"{printable(name)}: {', '.join(map(str, found[name][:4]))}, ..." for name in numbers],
        )
    return written


_ATTRIBUTE = re.compile(r"(?:.*\.)?attribute[ _]?[0-9]*")
"""Names that say that a column is an attribute."""


def _why_odd(
    table: RawTable,
    name: str,
    columns: Mapping[str, Sequence[Any]],
    distinct: Mapping[str, int],
    sizes: Sequence[Sequence[int]],
) -> str | None:
    """Why a column may be none of what was meant; None if it plainly is."""
    cells, number = columns[name], len(columns[name])
    if _ATTRIBUTE.fullmatch(name):
        return None
    if (role := role_of_name(name)) != "attribute":
        return f"its name is that of a {role}"
    if name in table.columns and any(
        key.partition(".")[0] in table.columns.keys() - {key} for key in columns
    ):
        return "beside an object"
    if any(list(cells) == list(each) for each in sizes):
        return "the length of each message"
    outcomes = [key for key, each in columns.items() if {*map(repr, each)} <= _OUTCOMES]
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


_OUTCOMES = {"0", "1", "True", "False", "None"}
"""Values of a column that may say whether a round succeeded."""


def _as_written(table: RawTable, name: str, cells: list[Any]) -> list[Any]:
    """The values of an attribute; of decimals their texts, as `1.1` and `1.10` may be two sections."""
    own = table.columns.get(name, ())
    if not table.are_texts or isinstance(own, Ragged) or not any(isinstance(cell, float) for cell in cells):
        return cells
    return [cell.replace(",", ".") or None for cell in own]


def _expanded(table: RawTable, name: str, cells: Sequence[Any], prefix: str) -> dict[str, list[Any]]:
    """A column of mappings, or of lists, as a column each; another column as it is."""
    filled = [cell for cell in cells if cell is not None]
    if not any(isinstance(cell, dict | list) for cell in filled):
        return {name: list(cells)}
    kind = type(filled[0])
    for place, cell in enumerate(cells):
        if cell is not None and (kind not in (dict, list) or not isinstance(cell, kind)):
            raise CorpusError(
                f"{table.place(place, name)}: expected a value like the first, got {show(cell)}"
            )
    rows = [leaves(cell, prefix) for cell in cells]
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


WORDS_FOR_NONE = {"NA", "N/A", "#N/A", "<NA>", "nan", "NaN", "None", "null", "NULL"}
"""Markers of missing values that programs write. They are read as values, which a note reports."""


def note_words_for_none(table: RawTable, roles: Mapping[str, str], notes: list[str]) -> None:
    """Say where a message, or a value of what was meant, is a word that programs write where there is none."""
    for name, role in roles.items():
        cells = table.columns[name]
        if role not in ("message", "attribute") or isinstance(cells, Ragged):
            continue
        places = [
            place for place, cell in enumerate(cells) if isinstance(cell, str) and cell in WORDS_FOR_NONE
        ]
        if places:
            what = "a message" if role == "message" else "a value"
            notes.append(
                f"{table.place(places[0], name)}{more(places, ' and')}: {cells[places[0]]} is {what} like others; an "
                "empty cell is none"
            )
