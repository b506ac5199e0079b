"""Errors of a file: location, expected and found value; all are counted, the first is shown."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ecsuite.runtime.errors import CorpusError
from ecsuite.runtime.printable import printable

_Item = TypeVar("_Item")
_Parsed = TypeVar("_Parsed")


class LineError(Exception):
    """A line that is not valid: what was found and, if it differs from the file's format, what was expected."""

    def __init__(self, got: str, expected: str | None = None) -> None:
        super().__init__(got)
        self.got, self.expected = got, expected
        self.place = 0
        """Which of several cells it is, from 0."""


def place_of(name: str, unit: str, number: int) -> str:
    """Where something is, for messages: `a.jsonl:3` of lines, `a.csv: row 3` of others."""
    return f"{name}:{number}" if unit == "line" else f"{name}: {unit} {number}"


class ErrorList:
    """The errors of one file: all are counted, and the first is shown.

    Args:
        name: Of the file.
        expected: What a line is to be.
        unit: What is numbered: lines, or rows.
    """

    def __init__(self, name: str, expected: str, unit: str = "line") -> None:
        self.name, self.expected, self.unit, self.count = name, expected, unit, 0
        self.first: str | None = None

    def parse(self, items: Iterable[_Item], first: int, parse: Callable[[_Item], _Parsed]) -> list[_Parsed]:
        """The results of `parse` for the valid items; `first` is the line number of the first item."""
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
        """Raise the first error as a `CorpusError` that counts the others, if there are any."""
        if self.first is not None:
            others = self.count - 1
            raise CorpusError(f"{self.first} (and {others:,} more)" if others else self.first, self.count)


def shorten(text: str) -> str:
    """Shorten a text to at most 40 printable characters."""
    text = printable(text[:41])
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
