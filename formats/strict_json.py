"""JSON, strictly: no NaN, no key twice, no half characters, nothing that takes a quadratic time."""

import json
import re
from collections import Counter
from typing import Any

from ecsuite.formats.faults import Fault, shorten, show
from ecsuite.formats.rows import ID_LIMIT

_LONGEST_LINE = 1 << 26  # bytes; a longer one is refused


def _parse_int(text: str) -> int:
    if len(text) > 19:  # int() is quadratic
        raise Fault(shorten(text), None if text[0] == "-" else f"integers below {ID_LIMIT}")
    return int(text)


def _refuse_constant(text: str) -> None:
    raise Fault(text)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise Fault(f"the key {show(twice)} twice")
    return keys


_DECODER = json.JSONDecoder(
    parse_int=_parse_int, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys
)
_GAP = re.compile(r"(?:[ \t\r]+,?|,)[ \t\r]*(?=.)", re.DOTALL)  # between two JSON values of a line


def decode(line: bytes) -> list[Any]:
    """The JSON values of a line, one or more, read strictly; `Fault` says what is wrong."""
    if len(line) > _LONGEST_LINE:
        raise Fault(f"a line of {len(line)} bytes that is not plain [1, 2, 3]")
    try:
        text = line.decode().strip(" \t\r")
        if not text:
            raise Fault("an empty line")
        value, end = _DECODER.raw_decode(text)
        values = [value]
        while end < len(text):
            if not (gap := _GAP.match(text, end)):
                raise Fault(f"more after the JSON value, at column {end + 1}: {shorten(text)}")
            value, end = _DECODER.raw_decode(text, gap.end())
            values.append(value)
        if "\\u" in text:
            json.dumps(values, ensure_ascii=False).encode()  # refuses half a surrogate pair
        return values
    except json.JSONDecodeError as error:
        where = "a line cut short" if error.pos >= len(text) else f"broken JSON at column {error.pos + 1}"
        raise Fault(f"{where}: {shorten(text)}") from None
    except UnicodeDecodeError as error:
        raise Fault(f"a byte that is not UTF-8 at column {error.start + 1}") from None
    except UnicodeEncodeError:
        raise Fault(f"half a surrogate pair: {shorten(text)}") from None
    except RecursionError:
        raise Fault("nesting too deep to read") from None


def encode(value: object, indent: int | None = None) -> bytes:
    """A value as JSON in UTF-8 with a newline; ValueError if it has NaN or infinity."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent).encode() + b"\n"


def is_text(value: object) -> bool:
    """Whether a JSON value is a string."""
    return isinstance(value, str)
