"""What a golden case is, and how two trees of figures, as JSON has them, are compared."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Bound:
    """How far a number may be from what was recorded: the larger of the two counts."""

    relative: float = 0.0
    """Share of the recorded number."""
    absolute: float = 0.0
    """In the number's own unit."""

    def holds(self, recorded: float, found: float) -> bool:
        return abs(found - recorded) <= max(self.absolute, self.relative * abs(recorded)) or found == recorded


EXACT = Bound()


@dataclass(frozen=True)
class Case:
    """What can be recorded, and compared later."""

    compute: Callable[[Path], Any]
    """Gives the figures, as JSON has them, by running commands in an empty folder."""
    bound: Bound = EXACT
    """How near the figures must be to those recorded."""
    needs: tuple[str, ...] = ()
    """Packages of an extra, without which it can't be computed, with their lowest versions such as `name>=1.0`."""


def differences(recorded: Any, found: Any, bound: Bound = EXACT, *, ignored: Collection[str] = (),
                may_add: bool = False, place: str = "") -> Iterator[str]:  # fmt: skip
    """Where the recorded figures and those of today differ, a line each that begins with the place.

    Args:
        recorded: The figures to hold against.
        found: The figures of today.
        bound: For all numbers; whole ones too, since a count of steps may be one more.
        ignored: Keys that are not looked at, wherever they stand.
        may_add: Whether a mapping may have keys that the recorded one lacks; those called `details` never may.
        place: What leads to these two.
    """
    if isinstance(recorded, dict) and isinstance(found, dict):
        is_open = may_add and not f".{place}".endswith(".details")
        for key in [*recorded, *(() if is_open else (key for key in found if key not in recorded))]:
            if key in ignored:
                continue
            where = f"{place}.{key}" if place else key
            if key not in found:
                yield f"{where}: is missing"
            elif key not in recorded:
                yield f"{where}: is new: {_shown(found[key])}"
            else:
                options = {"ignored": ignored, "may_add": may_add, "place": where}
                yield from differences(recorded[key], found[key], bound, **options)
    elif isinstance(recorded, list) and isinstance(found, list):
        if len(recorded) != len(found):
            yield f"{place}: {len(recorded)} entries before, {len(found)} now"
        for number, (before, now) in enumerate(zip(recorded, found, strict=False)):
            options = {"ignored": ignored, "may_add": may_add, "place": f"{place}[{number}]"}
            yield from differences(before, now, bound, **options)
    elif _is_number(recorded) and _is_number(found):
        if not bound.holds(recorded, found):
            yield f"{place}: {recorded!r} before, {found!r} now ({found - recorded:+.3g})"
    elif type(recorded) is not type(found) or recorded != found:
        yield f"{place}: {_shown(recorded)} before, {_shown(found)} now"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
