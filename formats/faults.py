"""The faults of a file: all counted, the first shown, a line each with the place, the wish and the find."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from ecsuite.corpus import CorpusError

_SHOWN = 20

_Item = TypeVar("_Item")
_Parsed = TypeVar("_Parsed")


class Fault(Exception):
    """What is wrong with one line."""

    def __init__(self, got: str, expected: str | None = None) -> None:
        super().__init__(got)
        self.got, self.expected = got, expected


class Faults:
    """The faults of one file: all counted, the first shown."""

    def __init__(self, path: Path, expected: str) -> None:
        self.name, self.expected, self.count = path.name, expected, 0
        self.shown: list[str] = []

    def parse(self, items: Iterable[_Item], first: int, parse: Callable[[_Item], _Parsed]) -> list[_Parsed]:
        """What `parse` makes of the items that are right; `first` is the number of the first one's line."""
        parsed = []
        for number, item in enumerate(items, first):
            try:
                parsed.append(parse(item))
            except Fault as fault:
                self.count += 1
                if self.count <= _SHOWN:
                    expected = fault.expected or self.expected
                    self.shown.append(f"{self.name}:{number}: expected {expected}, got {fault.got}")
        return parsed

    def check(self) -> None:
        """Raise all that was noted as one error."""
        if more := self.count - len(self.shown):
            self.shown.append(f"… and {more} more fault{'s' * (more > 1)}")
        if self.shown:
            raise CorpusError("\n".join(self.shown), self.count)


def shorten(text: str) -> str:
    """At most 40 characters, all printable."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:41])
    return text if len(text) <= 40 else text[:39] + "…"


def show(value: object) -> str:
    """A JSON value as a message shows it."""
    try:
        return shorten(json.dumps(value, ensure_ascii=False, default=str))
    except RecursionError:
        return "deep nesting"


def show_line(values: list[Any]) -> str:
    """The JSON values of a line as a message shows them."""
    return show(values[0]) if len(values) == 1 else f"{len(values)} JSON values: {show(values)}"
