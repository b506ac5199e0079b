"""Values of NumPy, pandas, Arrow and Python as JSON has them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

MAX_INTEGER = 1 << 63
"""Integers from here on, and below its negative, are refused: NumPy would make floats of them."""
BITS = "integers of at most 64 bits"
"""Expected integers, for error messages."""
TYPES = {str, int, float, bool, list, dict, type(None)}
"""Types of such values."""


def plain(value: Any) -> Any:
    """A value as a text, a number, a truth value, a list, a mapping, or None where it is none (NaN, NaT, NA).

    Sets are lists in the order of their texts. Bytes are texts in UTF-8; dates, and what else JSON has no form for,
    are their texts.

    Raises:
        OverflowError: If an integer has more than 64 bits.
    """
    if type(value) is str:  # as most are
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind == "i" or (value.dtype.kind == "f" and not np.isnan(value).any()):
            return value.tolist()
        # of dates in nanoseconds, NumPy would make integers
        value = (value.astype(str) if value.dtype.kind in "mM" else value).tolist()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if not -MAX_INTEGER < value < MAX_INTEGER:
            is_shown = abs(value) < 1 << 4096  # Python writes no integer of more than 4,300 digits
            raise OverflowError(value if is_shown else f"one of {value.bit_length():,} bits")
        return int(value)
    if isinstance(value, float | Decimal):
        return None if value != value else float(value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value), key=str)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return None if str(value) in ("NaT", "<NA>", "nan") else str(value)


def settings_of(value: Any) -> Any:
    """Settings given in Python with NumPy's numbers as Python's, and ranges, tuples and arrays as lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: settings_of(each) for key, each in value.items()}
    return [settings_of(each) for each in value] if isinstance(value, list | tuple | range) else value
