"""Conversion of values of NumPy, pandas, Arrow and Python to JSON values."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

MAX_INTEGER = 1 << 63
"""Bound of integers: larger absolute values are rejected, as NumPy would convert them to floats."""
BITS = "integers of at most 64 bits"
"""Expected integers, for error messages."""
TYPES = {str, int, float, bool, list, dict, type(None)}
"""Types of JSON values."""


def plain(value: Any) -> Any:
    """Convert a value to a text, number, boolean, list, mapping, or None (also for NaN, NaT, NA).

    Sets become lists, ordered by text. Bytes are decoded as UTF-8; dates, and other values without a form in JSON,
    become texts.

    Raises:
        OverflowError: If an integer has more than 64 bits.
    """
    if type(value) is str:  # the most frequent case
        return value
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.kind == "i" or (value.dtype.kind == "f" and not np.isnan(value).any()):
            return value.tolist()
        # NumPy would convert dates in nanoseconds to integers
        value = (value.astype(str) if value.dtype.kind in "mM" else value).tolist()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if not -MAX_INTEGER < value < MAX_INTEGER:
            is_shown = abs(value) < 1 << 4096  # Python does not format integers of more than 4,300 digits
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
    """Convert NumPy numbers in settings to Python numbers, and ranges, tuples and arrays to lists."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: settings_of(each) for key, each in value.items()}
    return [settings_of(each) for each in value] if isinstance(value, list | tuple | range) else value
