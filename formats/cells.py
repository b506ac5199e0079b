"""Parse cells of tables: numbers, Booleans, and lists as written by Python, NumPy, torch and JSON."""

import ast
import json
import math
import re
from collections.abc import Callable, Sequence
from types import UnionType
from typing import Any

from ecsuite.formats.strict_json import ID_LIMIT, LineError, decode, show
from ecsuite.runtime.plain_values import BITS, MAX_INTEGER, plain

MAX_CELL = 1 << 20
"""Maximum number of characters of a cell that is read as a list; longer cells are rejected."""
PADDING = -1
"""Padding that programs write after the end of a message of ids; ids are never negative."""
_WRAPPED = re.compile(
    r"(?:np\.|numpy\.|torch\.|jnp\.)?(?:array|tensor|asarray|ndarray|Tensor|Array|frozenset|set)\("
)
_SCALAR = re.compile(r"(?:np|numpy|torch)\.\w+\(([^()]*)\)")
_TYPE = re.compile(r",\s*(?:dtype|device|requires_grad|grad_fn|shape)=[^,()\[\]]+(?=[,)])")
_GAP = re.compile(r"(?<=[\d.\]'\"a-z])\s+(?=[-\d.\[('\"tfTFnN])")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_DECIMAL = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+")
_EMPTY = ("[]", "()", "{}", "set()")
_BRACKETS = {*"()[]{}<> "}
_TRUTH = {"true": True, "false": False, "True": True, "False": False, "TRUE": True, "FALSE": False}


def without_padding(symbols: list[Any]) -> list[Any]:
    """Remove padding of -1 at the end of a message; other messages are returned unchanged."""
    if not symbols or symbols[-1] not in (PADDING, str(PADDING)):
        return symbols
    found = list(symbols)
    while found and found[-1] in (PADDING, str(PADDING)):
        found.pop()
    are_ids = all(is_id(each) if isinstance(each, str) else type(each) is int and each >= 0 for each in found)
    return found if are_ids else symbols


def ids_of(symbols: list[Any]) -> list[Any]:
    """Check that all symbols of a message are ids, and return them; otherwise raise `LineError`."""
    for symbol in symbols:
        if type(symbol) is not int or symbol < 0:
            raise LineError(show(symbol))
        if symbol >= ID_LIMIT:
            raise LineError(show(symbol), f"integers below {ID_LIMIT}")
    return symbols


def is_missing(cell: Any) -> bool:
    """Whether a cell has no value; NaN counts as missing, as in data frames."""
    return cell is None or cell == "" if not isinstance(cell, float) else math.isnan(cell)


def are_numbers(cells: Sequence[Any]) -> bool:
    """Whether all cells with a value are numbers, and there is at least one."""
    return are_all(cells, int | float) and not any(isinstance(cell, bool) for cell in cells)


def is_number(cell: Any) -> bool:
    """Whether a cell is a number; Booleans are not."""
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def are_all(cells: Sequence[Any], kind: type | UnionType) -> bool:
    """Whether all cells with a value have a type, and there is at least one."""
    filled = [cell for cell in cells if cell is not None]
    return bool(filled) and all(isinstance(cell, kind) for cell in filled)


def looks_literal(text: str) -> bool:
    """Whether a text begins and ends like a list, a tuple, a mapping, a quoted text or an array."""
    text = text.strip()
    if len(text) < 2 or text[0] + text[-1] not in ("[]", "()", "{}", '""'):
        return bool(_WRAPPED.match(text))
    return text[0] != '"' or '"' not in text[1:-1].replace('\\"', "")  # not words, such as `"a" b "c"`


def literal(text: str) -> Any:
    """Parse a cell with a list, a mapping, or a text in double quotes; raise `LineError` for other texts."""
    text = text.strip()
    if len(text) > MAX_CELL:
        raise LineError(f"a cell of {len(text):,} characters", f"cells of at most {MAX_CELL:,}")
    if _WRAPPED.match(text):
        text = _TYPE.sub("", text)
        text = text[text.index("(") + 1 :].rstrip().removesuffix(")") or "[]"  # `set()`
    else:
        try:
            (value,) = decode(text.encode())
            return value
        except (LineError, ValueError):
            pass
    text = _GAP.sub(", ", _SCALAR.sub(r"\1", text))
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise LineError(show(text), "a list, a tuple or a mapping of numbers or texts") from None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        items = list(map(_plain, value))
        return sorted(items, key=str) if isinstance(value, set) else items
    if isinstance(value, int) and abs(value) >= MAX_INTEGER:
        raise LineError(show(value), BITS)
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError


def typed(cells: Sequence[str], *, has_decimal_comma: bool = False, is_strict: bool = True) -> list[Any]:
    """Convert the texts of a column to the first type that fits all of them.

    The types are, in this order: lists, mappings or quoted texts; integers; numbers; Booleans; texts. `01` is a text,
    to distinguish it from `1`. Empty cells become None. A text among lists, or an integer of more than 64 bits, is an
    error in strict reading; otherwise all cells are then texts.
    """
    filled = [cell for cell in cells if cell]
    if not filled:
        return [None] * len(cells)
    if (values := _values(cells, is_strict=is_strict)) is not None:
        return values
    read: Callable[[str], Any] | None = None
    if all(map(_INTEGER.fullmatch, filled)):
        for place, cell in enumerate(cells):
            if len(cell) > 20 or abs(int(cell or 0)) >= MAX_INTEGER:
                raise LineError(show(cell), BITS, place)
        read = int
    elif all(is_decimal(cell) or (has_decimal_comma and _DECIMAL_COMMA.fullmatch(cell)) for cell in filled):
        has_zeros = any(re.match(r"[-+]?0[0-9]", cell) for cell in filled)
        read = None if has_zeros else lambda cell: float(cell.replace(",", "."))
    elif all(cell in _TRUTH for cell in filled):
        read = _TRUTH.__getitem__
    return [(cell if read is None else read(cell)) if cell else None for cell in cells]


def unfolded(cells: Sequence[Any], *, is_strict: bool = True) -> list[Any]:
    """Convert lists that are written as texts in a column of typed cells to lists."""
    values = [cell if cell == "" or not is_missing(cell) else None for cell in cells]
    are_texts = all(isinstance(cell, str) for cell in values if cell is not None)
    lists = _values(values, is_strict=is_strict) if are_texts else None
    return values if lists is None else lists


def _values(cells: Sequence[str | None], *, is_strict: bool) -> list[Any] | None:
    """Parse cells as lists, mappings, quoted texts and JSON values; None if the cells are ordinary texts."""
    are_literal = [
        bool(cell) and looks_literal(str(cell)) and (cell in _EMPTY or not {*str(cell)} <= _BRACKETS)
        for cell in cells
    ]
    if not any(are_literal):
        return None
    filled = {cell for cell in cells if cell}
    if {*"".join(filled)} <= _BRACKETS and filled != {"[]"}:
        return None
    read, bad, num_read = list[Any](), None, 0
    for place, (cell, is_literal) in enumerate(zip(cells, are_literal, strict=True)):
        value = None
        if cell and (is_literal or is_decimal(cell) or cell in ("true", "false", "null")):
            try:
                value = literal(cell)
                num_read += is_literal and cell not in _EMPTY
            except LineError as error:
                error.place = place
                if len(cell) > MAX_CELL:
                    raise
                bad = bad or error
        elif cell:
            bad = bad or LineError(show(cell), "a list, as in other rows", place)
        read.append(value)
    has_lists = num_read and any(isinstance(value, list | dict) for value in read)
    if bad is not None and is_strict and has_lists:
        raise bad
    return read if bad is None else None


def plain_cells(cells: Sequence[Any]) -> list[Any]:
    """Convert cells to JSON types; raise `LineError` for an integer of more than 64 bits."""
    values = []
    for place, cell in enumerate(cells):
        try:
            values.append(plain(cell))
        except OverflowError as too_large:
            raise LineError(show(too_large.args[0]), BITS, place) from None
    return values


def is_decimal(text: str) -> bool:
    """Whether a text is a finite number."""
    return bool(_DECIMAL.fullmatch(text)) and math.isfinite(float(text))


def is_id(text: str) -> bool:
    """Whether a text is a non-negative integer without leading zeros: `1`, not `01`."""
    return bool(_INTEGER.fullmatch(text)) and text[0] != "-"


def written(values: Sequence[Any]) -> list[str]:
    """Convert values to cells that `typed` converts back."""
    listed = ["" if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    plain = [value if isinstance(value, str) else cell for value, cell in zip(values, listed, strict=True)]
    return plain if are_read_as(plain, values) else listed


def are_read_as(cells: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether `typed` converts the cells to these values with the same types."""
    if any(cell != cell.strip() or "\n" in cell or "\r" in cell for cell in cells):
        return False
    try:
        read = typed(cells)
    except LineError:
        return False
    return all(type(a) is type(b) and a == b for a, b in zip(read, values, strict=True))
