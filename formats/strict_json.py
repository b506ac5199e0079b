"""Strict JSON, and the errors of lines and cells.

NaN, infinities, duplicate keys, lone surrogates and integers of more than 64 bits are rejected: very long integers
take quadratic time, and other large integers and `1e999` would be rounded.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from ecsuite.files.checksums import require_unchanged
from ecsuite.formats.stored_text import read_text
from ecsuite.runtime.errors import ConfigError, CorpusError
from ecsuite.runtime.plain_values import BITS, MAX_INTEGER
from ecsuite.runtime.printable import printable

ID_LIMIT = 1 << 31
"""Exclusive maximum of symbol and concept ids, so that they fit int32."""
VALUES = 8.0
"""Memory per byte of JSON when it is read into Python values; short numbers need more."""
_MAX_LINE_BYTES = 1 << 26  # bytes; longer lines are rejected

_Item = TypeVar("_Item")
_Parsed = TypeVar("_Parsed")


class LineError(Exception):
    """An invalid line: what it contains (`got`) and, if it differs from the file's format, what was expected.

    `place` is the index of the cell, if there are several.
    """

    def __init__(self, got: str, expected: str | None = None, place: int = 0) -> None:
        super().__init__(got)
        self.got, self.expected, self.place = got, expected, place


def place_of(name: str, unit: str, number: int) -> str:
    """Position of a line or row in messages: `a.jsonl:3` for lines, `a.csv: row 3` for other units."""
    return f"{name}:{number}" if unit == "line" else f"{name}: {unit} {number}"


class ErrorList:
    """Errors in the lines, or other units, of a file: all are counted, and the first is reported."""

    def __init__(self, name: str, expected: str, unit: str = "line") -> None:
        self.name, self.expected, self.unit, self.count = name, expected, unit, 0
        self.first: str | None = None

    def parse(self, items: Iterable[_Item], first: int, parse: Callable[[_Item], _Parsed]) -> list[_Parsed]:
        """Parse items and return the results of the valid ones; `first` is the line number of the first item."""
        parsed = []
        for number, item in enumerate(items, first):
            try:
                parsed.append(parse(item))
            except LineError as error:
                self.count += 1
                if self.first is None:
                    expected = error.expected or self.expected
                    place = place_of(self.name, self.unit, number)
                    self.first = f"{place}: expected {expected}, got {error.got}"
        return parsed

    def check(self) -> None:
        """Raise a `CorpusError` with the first error and the number of further errors, if there are any."""
        if self.first is not None:
            others = self.count - 1
            raise CorpusError(f"{self.first} (and {others:,} more)" if others else self.first, self.count)


def shorten(text: str) -> str:
    """Shorten a text to at most 40 printable characters."""
    text = printable(text[:41])
    return text if len(text) <= 40 else text[:39] + "…"


def show(value: object) -> str:
    """Format a JSON value for an error message."""
    try:
        return shorten(json.dumps(value, ensure_ascii=False, default=str))
    except RecursionError:
        return "deep nesting"


def show_line(values: list[Any]) -> str:
    """Format the JSON values of a line for an error message."""
    return show(values[0]) if len(values) == 1 else f"{len(values)} JSON values: {show(values)}"


def _parse_int(text: str) -> int:
    if len(text) > 19:  # int() is quadratic
        raise LineError(shorten(text), None if text[0] == "-" else f"integers below {ID_LIMIT}")
    value = int(text)
    if value >= MAX_INTEGER:
        raise LineError(text, BITS)
    return value


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise LineError(shorten(text))
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        [(duplicate, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise LineError(f"the duplicate key {show(duplicate)}")
    return keys


_CHECKS: dict[str, Any] = {
    "parse_int": _parse_int,
    "parse_constant": _parse_float,
    "object_pairs_hook": _unique_keys,
}
_DECODER = json.JSONDecoder(**_CHECKS, parse_float=_parse_float)
_OF_FILES = json.JSONDecoder(**_CHECKS)
"""Decoder that accepts infinite numbers, for readers that report them themselves."""
_GAP = re.compile(r"(?:[ \t\r]+,?|,)[ \t\r]*(?=.)", re.DOTALL)  # between two JSON values of a line


def decode(line: bytes) -> list[Any]:
    """Decode one or more JSON values of a line; raise `LineError` if it is not valid."""
    if len(line) > _MAX_LINE_BYTES:
        raise LineError(f"a line of {len(line)} bytes that is not plain [1, 2, 3]")
    try:
        text = line.decode().strip(" \t\r")
        if not text:
            raise LineError("an empty line")
        value, end = _DECODER.raw_decode(text)
        values = [value]
        while end < len(text):
            if not (gap := _GAP.match(text, end)):
                raise LineError(f"more after the JSON value, at column {end + 1}: {shorten(text)}")
            value, end = _DECODER.raw_decode(text, gap.end())
            values.append(value)
        _require_encodable(text, values)
        return values
    except json.JSONDecodeError as error:
        where = "an incomplete line" if error.pos >= len(text) else f"invalid JSON at column {error.pos + 1}"
        raise LineError(f"{where}: {shorten(text)}") from None
    except UnicodeDecodeError as error:
        raise LineError(f"a byte that is not UTF-8 at column {error.start + 1}") from None
    except UnicodeEncodeError:
        raise LineError(f"a lone surrogate: {shorten(text)}") from None
    except RecursionError:
        raise LineError("nesting that is too deep") from None


def read_json(file: Path) -> Any:
    """Read a JSON file that a user names or may have changed, such as a file of scores.

    Raises:
        ConfigError: If the file can't be read, is not strict JSON, or needs more memory than is allowed; one line that
            begins with the file's name.
        DamagedError: If the file does not match its checksum.
    """
    value = parse_json(read_text(file, factor=VALUES), file)
    require_unchanged(value, file)
    return value


def parse_json(text: str, file: Path, line: int | None = None) -> Any:
    """Parse the text of a JSON file, or of one of its lines; `ConfigError` if it is not strict JSON."""
    place = str(file) if line is None else f"{file}:{line}"
    try:
        value = _OF_FILES.decode(text)
        _require_encodable(text, value)
        return value
    except json.JSONDecodeError as error:
        place = f"{file}:{(line or 1) + error.lineno - 1}"
        reason = f"{error.msg.removesuffix(' at')} at column {error.colno}"
    except _FAULTS as error:
        reason = _described(error)
    raise ConfigError(f"{place}: not JSON: {reason}")


def documents(text: str, name: str) -> list[Any]:
    """Parse a text of one or more JSON documents, each over one or many lines.

    Raises `CorpusError` with name and line if the text is not strict JSON.
    """
    values, end = list[Any](), 0
    try:
        while match := re.compile(r"\S").search(text, end):
            value, end = _DECODER.raw_decode(text, match.start())
            values.append(value)
        _require_encodable(text, values)
        return values
    except json.JSONDecodeError as error:
        place, reason = f"{name}:{error.lineno}", f"other text at column {error.colno}: {error.msg}"
    except _FAULTS as error:
        place, reason = name, _described(error).removeprefix("got ")
    expected = "" if reason.startswith("expected") else "expected JSON, got "
    raise CorpusError(f"{place}: {expected}{reason}")


_FAULTS = (LineError, RecursionError, UnicodeEncodeError)
"""Errors of JSON other than syntax errors."""


def _described(error: Exception) -> str:
    if isinstance(error, LineError):
        return f"expected {error.expected}, got {error.got}" if error.expected else f"got {error.got}"
    return "nesting that is too deep" if isinstance(error, RecursionError) else "a lone surrogate"


def _require_encodable(text: str, value: Any) -> None:
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()


def encode(value: object, indent: int | None = None) -> bytes:
    """Encode a value as JSON in UTF-8 with a newline; raise ValueError for NaN and infinity."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent).encode() + b"\n"
