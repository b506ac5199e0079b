"""Separators (signs) between symbols of a message, or values of a meaning, in one text."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np

from ecsuite.formats.cells import is_id, typed

SIGNS = ",;|/+_-:.\uff0c\u3001\uff1b"
"""Possible separators, in order of priority; the last three are Chinese and Japanese punctuation."""
BETWEEN_NUMBERS = ",;|/+_-"
"""Signs that are not part of a number: integers with such a sign are symbols, even if some texts have no sign."""
_FOLDER = re.compile(r"^.*[/\\]", re.DOTALL)
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")
_BETWEEN_PAIRS = (";", "|", "&", ",", None)
_ACT = re.compile(r"([^\W\d][\w -]*)\((.*)\)", re.DOTALL)


def have_spaces(texts: Sequence[str]) -> bool:
    """Whether any of the texts has several words."""
    return any(len(text.split()) > 1 for text in texts)


def sign_between(texts: Sequence[str]) -> str | None:
    """The unambiguous separator of symbols; None if symbols are separated by spaces, by nothing, or if unclear.

    It is a comma, a sign between integers, or a sign next to all spaces, as in `wa | me`.
    """
    all_texts, spaced = "\n".join(texts), have_spaces(texts)
    for sign in (sign for sign in SIGNS if sign in all_texts):
        having = [text for text in texts if sign in text.strip(sign)]
        parts = [part for text in having for part in parts_of(text, sign)]
        if not parts or {*"".join(parts)} <= {*SIGNS}:  # Morse code, for example: `.-.`
            continue
        if spaced and any(len(part.split()) > 1 for text in texts for part in text.split(sign)):
            continue
        are_numbers = all(map(str.isdecimal, [*parts, *({*texts} - {*having})]))
        if are_numbers and (sign in BETWEEN_NUMBERS or any(text.count(sign) > 1 for text in having)):
            return sign
        if not are_numbers and (sign == "," or (spaced and len(having) == len(texts))):
            return sign
    return None


def parts_of(text: str, sign: str | None) -> list[str]:
    """Split a text at a sign, or at spaces, and strip spaces; empty parts between adjacent signs are dropped."""
    if sign is None:
        return text.split()
    return [part.strip() for part in text.split(sign) if part.strip()]


def combined(texts: Sequence[str]) -> tuple[list[list[str]], Literal["values", "unclear"]] | None:
    """Split distinct texts such as `red_cup` and `red_ball` into values, and report whether the split is certain.

    It is certain if all texts have the same number of parts, and each part occurs in several texts, ignoring parts that
    are the same in all texts. None if no part occurs twice at its position, or the number of parts differs: the texts
    are then single values. A common folder and file name ending are removed.
    """
    texts = _without_place(texts)
    in_all = (each for each in SIGNS if not have_spaces(texts) and all(each in text for text in texts))
    sign = sign_between(texts) or next(in_all, None)
    rows = [parts_of(text, sign) for text in texts]
    if not rows or len({*map(len, rows)}) != 1 or len(rows[0]) < 2:
        return None
    columns = [column for column in zip(*rows, strict=True) if len({*column}) > 1]
    num_single = sum(column.count(value) == 1 for column in columns for value in {*column})
    num_values = sum(len({*column}) for column in columns)
    if len(columns) < 2 or num_single == num_values:
        return None
    return rows, "unclear" if num_single else "values"


def _without_place(texts: Sequence[str]) -> list[str]:
    """Remove the common folder and ending of file names; other texts are returned unchanged."""
    ends: list[str] = []
    for pattern in (_FOLDER, _ENDING):
        found = {match[0] if (match := pattern.search(text)) else "" for text in texts}
        ends.append(found.pop() if len(found) == 1 else "")
    return [text.removeprefix(ends[0]).removesuffix(ends[1]) for text in texts]


def named_values(texts: Sequence[str]) -> list[dict[str, str]] | None:
    """Parse texts such as `color=red, shape=cup`, `color: red; shape: cup`, or `inform(color[red])` into named values.

    None unless all texts have the same names, at least two; the name of a dialogue act is `act`.
    """
    acts = [_ACT.fullmatch(text.strip()) for text in texts]
    if acts and all(acts):
        inner = named_values([match[2] for match in acts if match])
        return inner and [{"act": match[1], **row} for match, row in zip(acts, inner, strict=True) if match]
    for sign in _BETWEEN_PAIRS:
        rows: list[dict[str, str]] = []
        for text in texts:
            pairs = [_pair(part) for part in parts_of(text, sign)]
            row = dict(pair for pair in pairs if pair is not None)
            if len(row) < max(2, len(pairs)) or (rows and row.keys() != rows[0].keys()):
                break
            rows.append(row)
        else:
            return rows or None
    return None


def _pair(text: str) -> tuple[str, str] | None:
    """Parse `color=red`, `color: red` or `color[red]` into name and value; None for other texts."""
    if text.endswith("]") and text.count("[") == 1:
        text = text[:-1].replace("[", "=")
    name, sign, value = (part.strip() for part in text.partition("=" if "=" in text else ":"))
    is_name = name.replace(" ", "_").replace("-", "_").isidentifier()
    return (name, value) if is_name and sign and value and not {*value} & {"=", ":", "[", "]"} else None


def meanings_of_texts(cells: Sequence[Any]) -> list[Any]:
    """Convert meanings that are texts to mappings if all are like `color=red, shape=cup`, otherwise to lists of values.

    Other meanings are returned unchanged.
    """
    texts = list(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))
    if pairs := named_values(texts):
        columns = {name: typed([pair[name] for pair in pairs]) for name in pairs[0]}
        read: list[Any] = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    else:
        found = combined(texts)
        between = next((sign for sign in ";|,&" if any(sign in text for text in texts)), None)
        rows = (
            found[0] if found else [parts_of(text, None if have_spaces(texts) else between) for text in texts]
        )
        are_ids = all(
            map(is_id, chain.from_iterable(rows))
        )  # `01` is not an id, so that all values are texts
        read = [[int(item) for item in row] if row and are_ids else row for row in rows]
    by_text = dict(zip(texts, read, strict=True))
    return [by_text[cell] if isinstance(cell, str) else cell for cell in cells]


def joined_columns(
    columns: Mapping[str, Sequence[Any]], *, but: Collection[str] = ()
) -> dict[str, Sequence[Any]]:
    """Join indicator columns such as `color_red` and `color_blue` to one attribute `color`.

    pandas (`get_dummies`), R and scikit-learn (`color=red`) write such columns: at least two columns have the same name
    before a sign, exactly one of them is 1 or true in each row, and the others are 0 or false. Values may contain
    signs: `size_big` and `size_very_big` belong to `size`. Columns in `but` are not joined.
    """
    groups: dict[str, list[str]] = {}
    for name in (name for name in columns if name not in but):
        for place, sign in enumerate(name):
            if sign in "_=." and 0 < place < len(name) - 1:
                groups.setdefault(name[: place + 1], []).append(name)
    joined: dict[str, str] = {}
    for start, names in sorted(groups.items(), key=lambda group: (-len(group[1]), -len(group[0]))):
        taken = {*columns, *(each[:-1] for each in joined.values())}
        if len(names) > 1 and start[:-1] not in taken and joined.keys().isdisjoint(names):
            bits = [columns[name] for name in names]
            are_bits = all(cell in (0, 1) for own in bits for cell in own)
            if are_bits and all(sum(row) == 1 for row in zip(*bits, strict=True)):
                joined |= dict.fromkeys(names, start)
    found: dict[str, Sequence[Any]] = {}
    for name, cells in columns.items():
        own = joined.get(name)
        if own is None:
            found[name] = cells
        elif own[:-1] not in found:
            names = groups[own]
            values = [each.removeprefix(own) for each in names]
            rows = zip(*(columns[each] for each in names), strict=True)
            found[own[:-1]] = [values[row.index(1)] for row in rows]
    return _joined_blocks(found, but=but)


def _joined_blocks(columns: dict[str, Sequence[Any]], *, but: Collection[str]) -> dict[str, Sequence[Any]]:
    """Join indicator columns without a common name to `attribute0`, `attribute1`, as one-hot lists are read."""
    bits = [name for name, own in columns.items() if name not in but and all(cell in (0, 1) for cell in own)]
    rows = [list(row) for row in zip(*map(columns.__getitem__, bits), strict=True)]
    places = one_hot_blocks(rows) or one_hot_blocks([row[:-1] for row in rows])  # the last may be an outcome
    names = [f"attribute{number}" for number in range(len(places or ()))]
    if not places or {*names} & columns.keys():
        return columns
    joined = {}
    for name, block in zip(names, places, strict=True):
        joined[name] = [next(bits[place] for place in block if row[place] == 1) for row in rows]
    taken = {bits[place] for block in places for place in block}
    return joined | {name: cells for name, cells in columns.items() if name not in taken}


def one_hot_blocks(rows: Sequence[Sequence[Any]]) -> list[list[int]] | None:
    """Split the positions of one-hot rows, such as `[1, 0, 0, 0, 1]`, into attributes; None if they are not one-hot.

    An attribute is the shortest block of positions with exactly one 1 in each row. Positions that are 0 in all rows,
    and attributes with a single value, are left out.
    """
    width = len(rows[0]) if rows else 0
    # Two positions are ambiguous: they may be two Boolean attributes.
    if width < 3 or any(len(row) != width or not {*row} <= {0, 1} for row in rows):
        return None
    table = np.array(rows, dtype=np.int64)
    used = np.flatnonzero(table.any(0))
    count = table[:, used].cumsum(1)
    ends = np.flatnonzero((count == count[0]).all(0))
    if not len(ends) or ends[-1] != len(used) - 1 or (count[0, ends] != np.arange(1, len(ends) + 1)).any():
        return None
    blocks = [block.tolist() for block in np.split(used, ends[:-1] + 1)]
    return [block for block in blocks if len(block) > 1] or None
