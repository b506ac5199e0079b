"""Names in a user's own part that are nearly those of its base class: a misspelt method would never be called."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from types import FunctionType

import ecsuite.parts.own_code as own_code
from ecsuite.runtime.errors import PartError

CLOSE = 0.8
"""How alike two names are, by `difflib`, of which one is taken for the other misspelt."""
OURS = __name__.partition(".")[0]
LIBRARIES = (OURS, "torch", "builtins", "abc", "typing")
"""Packages whose classes say what a name means."""


def check_class(kind: str, word: str, made: type) -> None:
    """Check the public names in the bodies of the classes that a user wrote.

    Args:
        kind: The name of the part, such as `./mine.py:Mine`.
        word: What the part is: `task`.
        made: Its class.

    Raises:
        PartError: If one is nearly a name of our base class and not it, as `chioces` is.
    """
    _check(
        (name for parent in made.__mro__ if not _is_library(parent) for name in vars(parent)),
        kind,
        word,
        made,
    )


def check_instance(kind: str, word: str, part: object) -> None:
    """The same of what the part keeps in itself; see `check_class`."""
    _check(vars(part), kind, word, type(part))


def _check(names: Iterable[str], kind: str, word: str, made: type) -> None:
    known = {
        name for parent in made.__mro__ if _is_library(parent) for name in vars(parent)
    } | _names_of_code(made)
    hooks = sorted(set(_hooks(made)))
    for name in names:
        if name.startswith("_") or name == "Options" or name in known or name in hooks:
            continue
        if close := get_close_matches(name, hooks, 1, CLOSE):
            raise PartError(
                f"{own_code.place_of(kind, name)}: {made.__name__}: {word}s have no {name}; did you mean {close[0]}? "
                f"A name for yourself may be _{name}"
            )


def _hooks(made: type) -> Iterator[str]:
    """The public names of our base classes of a part."""
    for parent in made.__mro__:
        if _is_ours(parent):
            for name in (*vars(parent), *vars(parent).get("__annotations__", ())):
                if not name.startswith("_") and name != "Options":
                    yield name


def _names_of_code(made: type) -> set[str]:
    """The names that methods of our base classes use, such as attributes that they set."""
    functions = (each for parent in made.__mro__ if _is_ours(parent) for each in vars(parent).values())
    return {name for each in functions if isinstance(each, FunctionType) for name in each.__code__.co_names}


def _is_ours(parent: type) -> bool:
    return parent.__module__.partition(".")[0] == OURS


def _is_library(parent: type) -> bool:
    return parent.__module__.partition(".")[0] in LIBRARIES
