"""Read meanings from the columns of a table: values of attributes, also one-hot, features, and unnamed meanings."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from ecsuite.formats.cells import are_all, are_numbers, is_decimal, is_missing, is_number
from ecsuite.formats.layouts import Numeric
from ecsuite.formats.roles import is_asked, role_of_name
from ecsuite.formats.signs import joined_columns, meanings_of_texts, one_hot_blocks
from ecsuite.formats.table import RawTable, more
from ecsuite.runtime.errors import CorpusError, ReadingQuestion
from ecsuite.runtime.printable import printable
from ecsuite.runtime.ragged import Ragged

OUTCOMES = frozenset(
    "0 1 0.0 1.0 true false t f yes no y n ja nein correct incorrect wrong hit miss success failure fail pass".split()
)
"""Values of outcomes, in lower case."""
_WHOLE = re.compile(r"-?[0-9]+")
_BY_NAME = "its name is"
_CLOCK = re.compile(r"(?:\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}:\d{2})(?:[T_ :.].*)?|\d+(?:\.\d+){3}")


def parts_of(
    table: RawTable, roles: Mapping[str, str], *, said: Collection[str] = (), numeric: Numeric = "auto"
) -> tuple[dict[str, list[Any]], dict[str, list[Any]], list[Any] | None]:
    """Split meanings into values by attribute, numbers by feature, and lists of unnamed values.

    Keys of mappings become attributes, `left.color`; items of lists next to other columns are numbered, `size.0`.
    Columns whose role the user (`said`) or the file declares are separate attributes, and the file's numbers stay
    unchanged.

    Raises:
        CorpusError: If a value can't be read, or two columns have the same name; one line with the position.
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
    if only is not None and not any(isinstance(cell, dict) for cell in values[only]):
        bare = [flat(cell) for cell in values.pop(only)]
        read = one_hot_values(bare) if numeric != "features" and only not in table.roles else None
        if read is not None:
            numbers = [len({*column}) for column in zip(*filter(None, read), strict=True)]
            table.note(
                f"meanings are one-hot: {len(numbers)} attributes with {', '.join(map(str, numbers))} values "
                "(--numeric features takes the numbers)"
            )
            bare = list(read)
    attributes: dict[str, list[Any]] = {}
    features: dict[str, list[Any]] = {}
    for name, cells in values.items():
        for key, inner in _expanded(table, name, cells, "" if name in meaning else f"{name}.").items():
            is_feature = roles[name] == "feature" or (numeric == "features" and are_numbers(inner))
            if is_feature and not are_numbers(inner):
                bad = next(at for at, cell in enumerate(inner) if not is_number(cell) and cell is not None)
                raise table.error(bad, "a number of a feature", inner[bad], name)
            if key in attributes or key in features:
                twice = f"two columns have the name {printable(key)}: one is in column {name}"
                raise CorpusError(f"{table.source}: {twice}")
            (features if is_feature else attributes)[key] = inner
    joined = joined_columns(attributes, but={*said, *table.roles})
    if new := [name for name in joined if name not in attributes]:
        shown = (f"{name} ({', '.join(dict.fromkeys(map(str, joined[name])))})" for name in new)
        table.note(f"a column for each value, taken as one attribute: {', '.join(shown)}")
    return {name: list(cells) for name, cells in joined.items()}, features, bare


def plain_attributes(
    table: RawTable,
    attributes: Mapping[str, list[Any]],
    said: Collection[str],
    *,
    numeric: Numeric = "auto",
    sizes: Sequence[Sequence[int]] = (),
    are_objects: bool = False,
) -> dict[str, list[Any]]:
    """Select the attributes that are certainly part of the meaning; constant attributes are dropped.

    `said` are attributes that the user or the file declares, and `sizes` are numbers per message, such as its length.
    For objects of a game, numbers are binned, and constant columns stay.
    """
    distinct = {name: len(set(map(repr, cells))) for name, cells in attributes.items()}
    constant = [name for name in attributes if distinct[name] == 1 and name not in said]
    if are_objects or len(constant) == len(attributes):
        is_empty = len(constant) < len(attributes)
        constant = [name for name in constant if is_empty and all(cell is None for cell in attributes[name])]
    if constant:
        names = ", ".join(map(printable, constant))
        table.note(f"{names}: one value or none, left out of what was meant (--column NAME=attribute)")
    found = {name: cells for name, cells in attributes.items() if name not in constant}
    rows = list(zip(*(map(repr, cells) for cells in found.values()), strict=True))
    written = found if are_objects else {name: _as_written(table, name, found[name]) for name in found}
    if set(said) >= found.keys() or len(set(rows)) < 3:  # with fewer meanings, no score depends on them
        return written
    reasons = {
        name: _why_odd(table, name, found, distinct, sizes, are_objects=are_objects)
        for name in found
        if name not in said
    }
    odd = {name: why for name, why in reasons.items() if why}
    if are_objects:  # their numbers are binned
        texts = [name for name in odd if are_all(found[name], str)]
        odd = {name: odd[name] for name in texts if not all(map(is_decimal, filter(None, found[name])))}
    plain = [name for name in found if name not in odd]
    plain = plain or [name for name, why in odd.items() if not why.startswith(_BY_NAME)]
    odd = {name: why for name, why in odd.items() if name not in plain}
    if odd and plain:
        path = partial(_path, table)
        words: list[dict[str, Any]] = [{"attributes": tuple(map(path, names))} for names in (plain, found)]
        if are_objects:
            words = [{"columns": dict.fromkeys(map(path, odd), role)} for role in ("kept", "attribute")]
        asked = f"which columns are part of the meaning: {', '.join(map(printable, plain))}, or more?"
        readings = [(words[0], "the others are stored"), (words[1], "all of them")]
        seen = [f"{printable(name)}: {why}" for name, why in odd.items()]
        raise ReadingQuestion(table.source, asked, readings, seen)
    numbers = [name for name in found if are_numbers(found[name])] if numeric == "auto" else []
    if numbers and all(
        distinct[name] == len(rows) or not all(float(cell or 0).is_integer() for cell in found[name])
        for name in numbers
    ):
        asked = f"are the numbers of {', '.join(map(printable, numbers[:4]))} values, or measures?"
        measures = ({"numeric": "features"}, "measures: close numbers are similar")
        values = ({"numeric": "values"}, "values: each distinct number is a separate value")
        seen = [f"{printable(name)}: {', '.join(map(str, found[name][:4]))}, ..." for name in numbers]
        raise ReadingQuestion(table.source, asked, [measures, values], seen)
    return written


def _path(table: RawTable, name: str) -> str:
    """The full name of an attribute, with the name of its column if it is a part of a meaning."""
    paths = (name, *(f"{column}.{name}" for column in table.columns))
    return next((each for each in paths if table.with_part(each) is not None), name)


def _why_odd(
    table: RawTable,
    name: str,
    columns: Mapping[str, Sequence[Any]],
    distinct: Mapping[str, int],
    sizes: Sequence[Sequence[int]],
    *,
    are_objects: bool,
) -> str | None:
    cells = columns[name]
    if re.fullmatch(r"(?:.*\.)?attribute[ _]?[0-9]*", name):
        return None
    if (role := role_of_name(name)) != "attribute":
        return f"{_BY_NAME} usual for the role {role}"
    column = next((each for each in (name, name.partition(".")[0]) if each in table.columns), None)
    if column is not None and not are_objects and is_asked(column, cells):
        return f"{_BY_NAME} also usual for columns that are not meant"
    if name in table.columns and any(
        key.partition(".")[0] in table.columns.keys() - {key} for key in columns
    ):
        return "next to an object"
    filled = {str(cell) for cell in cells if cell is not None}
    before = list(columns)[: list(columns).index(name)]
    alike = [key for key in before if distinct[key] == distinct[name] < len(cells)]
    same = [key for key in alike if _determines(columns[key], cells)]
    if same and not are_objects:
        return f"one value for each value of {printable(same[0])}"
    if not are_objects and all(map(_CLOCK.fullmatch, filled)):
        return f"dates or times such as {min(filled)}"
    if any(list(cells) == list(each) for each in sizes):
        return "the length of each message"
    if _are_outcomes(cells) and not all(map(_are_outcomes, columns.values())):
        return f"only {' and '.join(sorted(filled))}, like an outcome"
    repeating = [key for key in columns if distinct[key] < distinct[name]]
    if distinct[name] == len(cells) and repeating:
        return "a different value in each row"
    if len(repeating) < 2 or not are_all(cells, str):
        return None
    if any(len(set(zip(cells, map(repr, columns[key]), strict=True))) > distinct[name] for key in repeating):
        return None
    if len(set(zip(*(map(repr, columns[key]) for key in repeating), strict=True))) == distinct[name]:
        return f"a name of {', '.join(map(printable, repeating[:3]))} together"
    return None


def _are_outcomes(cells: Sequence[Any]) -> bool:
    return all(cell is None or str(cell).lower() in OUTCOMES for cell in cells)


def _determines(cells: Sequence[Any], others: Sequence[Any]) -> bool:
    """Whether each value of a column occurs with one value of another column."""
    found: dict[str, str] = {}
    return all(
        found.setdefault(repr(cell), repr(other)) == repr(other)
        for cell, other in zip(cells, others, strict=True)
    )


def _as_written(table: RawTable, name: str, cells: list[Any]) -> list[Any]:
    """The values of an attribute; decimals as texts, since `1.1` and `1.10` may be two sections."""
    own = table.columns.get(name)
    if own is None or isinstance(own, Ragged) or not any(isinstance(cell, float) for cell in cells):
        return cells
    is_part = not table.are_texts or table.values(name, is_strict=False) != cells  # of an object
    return cells if is_part else [str(cell).replace(",", ".") or None for cell in own]


def _expanded(table: RawTable, name: str, cells: Sequence[Any], prefix: str) -> dict[str, list[Any]]:
    filled = [cell for cell in cells if cell is not None]
    if not any(isinstance(cell, dict | list) for cell in filled):
        return {name: list(cells)}
    kind = type(filled[0])
    for place, cell in enumerate(cells):
        if cell is not None and (kind not in (dict, list) or not isinstance(cell, kind)):
            raise table.error(place, "a value like the first", cell, name)
    rows = [leaves(cell, prefix) for cell in cells]
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [None if is_missing(row.get(key)) else row.get(key) for row in rows] for key in keys}


def leaves(value: Any, prefix: str) -> dict[str, Any]:
    """Flatten a mapping or a list to leaves by name: `left.color`, `size.0`."""
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
    """Convert an unnamed meaning to a list of values; None if a value is missing."""
    if cell is None:
        return None
    if not isinstance(cell, list):
        return [cell]
    items = [
        each for inner in cell for each in (flat(inner) or [None] if isinstance(inner, list) else [inner])
    ]
    return None if any(item != "" and is_missing(item) for item in items) else items  # "" in a list is a text


WORDS_FOR_NONE = {
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "<NA>",
    "nan",
    "NaN",
    "None",
    "null",
    "NULL",
    "-",
    "--",
    ".",
    "?",
}
"""Markers of missing values that programs write. They are read as values, which a note reports."""


def note_words_for_none(table: RawTable, roles: Mapping[str, str]) -> None:
    """Note messages and meaning values that are words which programs write for missing values."""
    for name, role in roles.items():
        cells = table.columns[name]
        if role not in ("message", "attribute") or isinstance(cells, Ragged):
            continue
        found = [
            place for place, cell in enumerate(cells) if isinstance(cell, str) and cell in WORDS_FOR_NONE
        ]
        numbers = [
            int(cell)
            for cell in cells
            if is_number(cell) or (isinstance(cell, str) and _WHOLE.fullmatch(cell))
        ]
        least = min(numbers, default=0)
        if (
            role == "attribute"
            and len(numbers) == len(cells)
            and {each < 0 for each in numbers} == {True, False}
        ):
            found += [place for place, cell in enumerate(cells) if int(cell) == least < 0] * (
                min((each for each in numbers if each > least), default=-1) >= 0
            )
        if found:
            word, what = cells[found[0]], "a message" if role == "message" else "a value"
            where = f"{table.place(found[0], name)}{more(found, ' and')}"
            table.notes.append(f"{where}: {word} counts as {what}; leave cells empty for missing values")


def is_one_hot(array: NDArray[Any]) -> bool:
    """Whether the last dimension is one-hot: one 1, all others 0."""
    return bool(((array == 0) | (array == 1)).all() and (array.sum(-1) == 1).all())


def one_hot_values(rows: Sequence[Sequence[Any] | None]) -> list[list[int] | None] | None:
    """Decode rows such as `[1, 0, 0, 0, 1]` to values of attributes; None if they are not one-hot.

    Rows without a value stay None.
    """
    filled = [row for row in rows if row is not None]
    blocks = one_hot_blocks(filled)
    if blocks is None:
        return None
    return [None if row is None else [[row[at] for at in block].index(1) for block in blocks] for row in rows]
