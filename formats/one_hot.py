"""Values of attributes that are written one-hot: for each attribute a block of numbers, of which one is 1."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_WIDTH = 3
"""Fewest numbers of a row; two that exclude each other may be two attributes."""

BEFORE_VALUES = "_=."
"""Separators of an attribute and its value in the name of a column."""


def is_one_hot(array: NDArray[Any]) -> bool:
    """Whether of the last dimension one number is 1, and the others are 0."""
    return bool(((array == 0) | (array == 1)).all() and (array.sum(-1) == 1).all())


def one_hot_values(rows: Sequence[Sequence[Any] | None]) -> list[list[int] | None] | None:
    """The value of each attribute in rows such as `[1, 0, 0, 0, 1]`; None if they are not one-hot.

    Blocks are the shortest that have a 1 in each row; a number that is 0 in all rows belongs to none, and an attribute
    of one value is left out.

    Args:
        rows: Numbers of each object, None where they are missing.
    """
    filled = [row for row in rows if row is not None]
    width = len(filled[0]) if filled else 0
    if width < LEAST_WIDTH or any(len(row) != width or not {*row} <= {0, 1} for row in filled):
        return None
    table = np.array(filled, dtype=np.int64)
    table = table[:, table.any(0)]
    count = table.cumsum(1)
    ends = [-1, *np.flatnonzero((count == count[0]).all(0) & table.any(0))]
    blocks = [table[:, start + 1 : end + 1] for start, end in pairwise(ends)]
    if not blocks or ends[-1] != table.shape[1] - 1 or not all(map(is_one_hot, blocks)):
        return None
    blocks = [block for block in blocks if block.shape[1] > 1]
    if not blocks:
        return None
    values = iter(np.stack([block.argmax(1) for block in blocks], 1).tolist())
    return [None if row is None else next(values) for row in rows]


def joined_columns(
    columns: Mapping[str, Sequence[Any]], *, but: Collection[str] = ()
) -> dict[str, Sequence[Any]]:
    """Columns where those of one attribute's values, as `color_red` and `color_blue`, are one: `color`.

    So pandas (`get_dummies`), R and scikit-learn (`color=red`) write attributes: of the columns with the same name
    before a sign, of which there are at least two, one is 1 or true in each row, and the others are 0 or false. Values
    may have signs in them: `size_big` and `size_very_big` are `size`.

    Args:
        columns: The cells of each column.
        but: Names of columns that stay as they are.
    """
    groups: dict[str, list[str]] = {}
    for name in (name for name in columns if name not in but):
        for place, sign in enumerate(name):
            if sign in BEFORE_VALUES and 0 < place < len(name) - 1:
                groups.setdefault(name[: place + 1], []).append(name)
    joined: dict[str, str] = {}
    for start, names in sorted(groups.items(), key=lambda group: (-len(group[1]), -len(group[0]))):
        taken = {*columns, *(each[:-1] for each in joined.values())}
        if len(names) > 1 and start[:-1] not in taken and joined.keys().isdisjoint(names):
            bits = [columns[name] for name in names]
            are_bits = all(set(each) <= {0, 1} for each in bits)
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
