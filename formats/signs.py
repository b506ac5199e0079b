"""Signs between the symbols of a message, or the values of a meaning, that are written as one text."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

from ecsuite.formats.cells import is_id, typed

SIGNS = ",;|/+_-:.\uff0c\u3001\uff1b"
"""Signs that are looked for, in this order; the last three are those of Chinese and Japanese texts."""
BETWEEN_NUMBERS = ",;|/+_-"
"""Signs that are no part of a number: whole numbers with one of them are symbols, also where some texts have none."""
_FOLDER = re.compile(r"^.*[/\\]", re.DOTALL)
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,4}$")
_BETWEEN_PAIRS = (";", "|", "&", ",", None)
_ACT = re.compile(r"([^\W\d][\w -]*)\((.*)\)", re.DOTALL)


def have_spaces(texts: Sequence[str]) -> bool:
    """Whether any of the texts has several words."""
    return any(len(text.split()) > 1 for text in texts)


def sign_between(texts: Sequence[str]) -> str | None:
    """The sign that stands between symbols for sure; None where that is spaces, or nothing, or unclear.

    It is a comma, one between whole numbers, or one beside which all spaces stand, as in `wa | me`.
    """
    all_texts, spaced = "\n".join(texts), have_spaces(texts)
    for sign in (sign for sign in SIGNS if sign in all_texts):
        having = [text for text in texts if sign in text.strip(sign)]
        parts = [part for text in having for part in parts_of(text, sign)]
        if not parts or {*"".join(parts)} <= {*SIGNS}:  # as in Morse code, `.-.`
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
    """The texts between signs, or spaces, without spaces around them; of two signs side by side nothing is between."""
    if sign is None:
        return text.split()
    return [part.strip() for part in text.split(sign) if part.strip()]


def combined(texts: Sequence[str]) -> tuple[list[list[str]], Literal["values", "unclear"]] | None:
    """The values of different texts, such as `red_cup` and `red_ball`, and whether it is sure that they are values.

    It is, where all texts have as many parts, and each part comes again in another text; parts that are the same in all
    texts aside. None where no part comes again at its place, or texts differ in their number of parts: they stay
    whole. The folder and the ending of all files are left out.
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
    """Names of files without the folder and the ending that all of them have; other texts as they are."""
    ends: list[str] = []
    for pattern in (_FOLDER, _ENDING):
        found = {match[0] if (match := pattern.search(text)) else "" for text in texts}
        ends.append(found.pop() if len(found) == 1 else "")
    return [text.removeprefix(ends[0]).removesuffix(ends[1]) for text in texts]


def named_values(texts: Sequence[str]) -> list[dict[str, str]] | None:
    """Values by name of texts such as `color=red, shape=cup`, `color: red; shape: cup`, or `inform(color[red])`.

    None if they are no such: all texts have the same names, at least two; the name of an act is `act`.
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
    """The name and the value of `color=red`, `color: red` or `color[red]`; None if it is no such text."""
    if text.endswith("]") and text.count("[") == 1:
        text = text[:-1].replace("[", "=")
    name, sign, value = (part.strip() for part in text.partition("=" if "=" in text else ":"))
    is_name = name.replace(" ", "_").replace("-", "_").isidentifier()
    return (name, value) if is_name and sign and value and not {*value} & {"=", ":", "[", "]"} else None


def meanings_of_texts(cells: Sequence[Any]) -> list[Any]:
    """Meanings that are texts as mappings, where all are like `color=red, shape=cup`, else as lists of their values.

    Others stay as they are.
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
        are_ids = all(map(is_id, chain.from_iterable(rows)))  # `01` is none, and `10` beside it a text, too
        read = [[int(item) for item in row] if row and are_ids else row for row in rows]
    by_text = dict(zip(texts, read, strict=True))
    return [by_text[cell] if isinstance(cell, str) else cell for cell in cells]


def joined_columns(
    columns: Mapping[str, Sequence[Any]], *, but: Collection[str] = ()
) -> dict[str, Sequence[Any]]:
    """Columns where those of one attribute's values, as `color_red` and `color_blue`, are one: `color`.

    So pandas (`get_dummies`), R and scikit-learn (`color=red`) write attributes: of the columns with the same name
    before a sign, of which there are at least two, one is 1 or true in each row, and the others are 0 or false. Values
    may have signs in them: `size_big` and `size_very_big` are `size`. Columns of `but` stay as they are.
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
    return found
