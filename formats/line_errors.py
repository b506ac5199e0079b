"""Error list of a file: location, expected and found value; all errors are counted, one of each cause is shown."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from ecsuite.corpus import CorpusError

_MAX_SHOWN = 20  # causes

_Item = TypeVar("_Item")
_Parsed = TypeVar("_Parsed")


class LineError(Exception):
    """A line that is not valid: what was found and, if it differs from the file's format, what was expected."""

    def __init__(self, got: str, expected: str | None = None) -> None:
        super().__init__(got)
        self.got, self.expected = got, expected


class ErrorList:
    """The errors of one file: all are counted; of each cause, what was expected, the first is shown."""

    def __init__(self, path: Path, expected: str) -> None:
        self.name, self.expected, self.count = path.name, expected, 0
        self.first: dict[str, str] = {}
        self.num_of: Counter[str] = Counter()

    def parse(self, items: Iterable[_Item], first: int, parse: Callable[[_Item], _Parsed]) -> list[_Parsed]:
        """The results of `parse` for the valid items; `first` is the line number of the first item."""
        parsed = []
        for number, item in enumerate(items, first):
            try:
                parsed.append(parse(item))
            except LineError as error:
                self.count += 1
                expected = error.expected or self.expected
                self.num_of[expected] += 1
                if self.num_of[expected] == 1 and len(self.first) < _MAX_SHOWN:
                    self.first[expected] = f"{self.name}:{number}: expected {expected}, got {error.got}"
        return parsed

    def check(self) -> None:
        """Raise all collected errors as one `CorpusError`, if there are any."""
        lines = []
        for expected, line in self.first.items():
            more = self.num_of[expected] - 1
            lines.append(f"{line} (and {more:,} more)" if more else line)
        if lines:
            raise CorpusError("\n".join(lines), self.count)


def shorten(text: str) -> str:
    """Shorten a text to at most 40 printable characters."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:41])
    return text if len(text) <= 40 else text[:39] + "…"


def show(value: object) -> str:
    """A JSON value as text for an error message."""
    try:
        return shorten(json.dumps(value, ensure_ascii=False, default=str))
    except RecursionError:
        return "deep nesting"


def show_line(values: list[Any]) -> str:
    """The JSON values of a line as text for an error message."""
    return show(values[0]) if len(values) == 1 else f"{len(values)} JSON values: {show(values)}"
