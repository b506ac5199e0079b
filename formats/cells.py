"""Cells of tables: texts that are numbers, truth values, or lists as Python, NumPy, torch and JSON write them."""

import ast
import json
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from ecsuite.formats.strict_json import LineError, decode, show
from ecsuite.runtime.plain_values import BITS, MAX_INTEGER, plain

MAX_CELL = 1 << 20
"""Most characters of a cell that is read as a list; a longer one is refused."""
PADDING = -1
"""Padding that programs write behind the end of a message of ids; nothing else of it is negative."""
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
    """The ids before a padding of -1 at the end of a message; other messages as they are."""
    if not symbols or symbols[-1] not in (PADDING, str(PADDING)):
        return symbols
    found = list(symbols)
    while found and found[-1] in (PADDING, str(PADDING)):
        found.pop()
    are_ids = all(is_id(each) if isinstance(each, str) else type(each) is int and each >= 0 for each in found)
    return found if are_ids else symbols


def is_missing(cell: Any) -> bool:
    """Whether a cell has no value; a number that is none (NaN) is none, as frames have it."""
    return cell is None or cell == "" if not isinstance(cell, float) else math.isnan(cell)


def are_numbers(cells: Sequence[Any]) -> bool:
    """Whether the cells that have a value are numbers, and there are some."""
    filled = [cell for cell in cells if cell is not None]
    return bool(filled) and all(map(is_number, filled))


def is_number(cell: Any) -> bool:
    """Whether a cell is a number; a truth value is none."""
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def are_all(cells: Sequence[Any], kind: type) -> bool:
    """Whether the cells that have a value are of a kind, and there are some."""
    filled = [cell for cell in cells if cell is not None]
    return bool(filled) and all(isinstance(cell, kind) for cell in filled)


def looks_literal(text: str) -> bool:
    """Whether a text begins and ends as a list, a tuple, a mapping, a quoted text or an array does."""
    text = text.strip()
    if len(text) < 2 or text[0] + text[-1] not in ("[]", "()", "{}", '""'):
        return bool(_WRAPPED.match(text))
    return text[0] != '"' or '"' not in text[1:-1].replace('\\"', "")  # not words, such as `"a" b "c"`


def literal(text: str) -> Any:
    """The value that a cell writes: a list, a mapping, or a text in double quotes.

    Raises:
        LineError: If it is no such value; with the text.
    """
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
    """A Python value as JSON has it; sets in the order of their texts."""
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
    """The cells of a column of texts with the type that all of them have.

    A column of lists, mappings or quoted texts is what it says; then a column of integers, of numbers, of truth
    values; else texts. `01` is a text, so that it is not `1`. An empty cell is None in all.

    Args:
        cells: The texts, without spaces around them.
        has_decimal_comma: Whether `2,5` is a number.
        is_strict: Whether a text among lists is an error; else all are texts then.

    Raises:
        LineError: If a text is among lists, or an integer has more than 64 bits.
    """
    filled = [cell for cell in cells if cell]
    if not filled:
        return [None] * len(cells)
    if (values := _values(cells, is_strict=is_strict)) is not None:
        return values
    read: Callable[[str], Any] | None = None
    if all(map(_INTEGER.fullmatch, filled)):
        wide = [
            place for place, cell in enumerate(cells) if len(cell) > 20 or abs(int(cell or 0)) >= MAX_INTEGER
        ]
        if wide:
            raise LineError(show(cells[wide[0]]), BITS, wide[0])
        read = int
    elif all(is_decimal(cell) or (has_decimal_comma and _DECIMAL_COMMA.fullmatch(cell)) for cell in filled):
        has_zeros = any(re.match(r"[-+]?0[0-9]", cell) for cell in filled)
        read = None if has_zeros else lambda cell: float(cell.replace(",", "."))
    elif all(cell in _TRUTH for cell in filled):
        read = _TRUTH.__getitem__
    return [(cell if read is None else read(cell)) if cell else None for cell in cells]


def unfolded(cells: Sequence[Any], *, is_strict: bool = True) -> list[Any]:
    """The cells of a column that has types already; lists that are written as texts become lists.

    Raises:
        LineError: If a text is among lists.
    """
    values = [cell if cell == "" or not is_missing(cell) else None for cell in cells]
    if all(isinstance(cell, str) for cell in values if cell is not None):
        lists = _values(values, is_strict=is_strict)
        return values if lists is None else lists
    return values


def _values(cells: Sequence[str | None], *, is_strict: bool) -> list[Any] | None:
    """The lists, mappings, quoted texts, and JSON values beside them, of a column; None if its cells are texts.

    Brackets with nothing but brackets in them are texts, apart from empty lists.
    """
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
    if bad is not None and not (is_strict and has_lists):
        return None
    if bad is not None:
        raise bad
    return read


def plain_cells(cells: Sequence[Any]) -> list[Any]:
    """The cells of a column as JSON has them.

    Raises:
        LineError: If an integer has more than 64 bits.
    """
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
    """Whether a text is a whole number from 0 as one writes it: `1`, not `01`."""
    return bool(_INTEGER.fullmatch(text)) and text[0] != "-"


def written(values: Sequence[Any]) -> list[str]:
    """The cells of a column that `typed` reads as these values again."""
    listed = ["" if value is None else json.dumps(value, ensure_ascii=False) for value in values]
    plain = [value if isinstance(value, str) else cell for value, cell in zip(values, listed, strict=True)]
    return plain if are_read_as(plain, values) else listed


def are_read_as(cells: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether the cells of a column are read as the values, of the same types."""
    if any(cell != cell.strip() or "\n" in cell or "\r" in cell for cell in cells):
        return False
    try:
        read = typed(cells)
    except LineError:
        return False
    return all(type(a) is type(b) and a == b for a, b in zip(read, values, strict=True))
