"""One check of a part."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeVar

import ecsuite.parts.own_code as own_code
from ecsuite.parts.own_functions import own_function
from ecsuite.parts.registry import Registry

Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold of a part. Calling it raises an exception where it does not hold."""

    statement: str
    """What must hold, as a sentence."""
    function: Callable[[], None]

    def __call__(self) -> None:
        """Run the check."""
        self.function()

    def __str__(self) -> str:
        """The statement, as the name of a test."""
        return self.statement


def bound(functions: Iterable[Callable[[Subject], None]], make: Callable[[], Subject]) -> list[Check]:
    """A check of each function about what `make` gives; the docstring of the function is the statement."""

    def run(function: Callable[[Subject], None]) -> None:
        function(make())

    return [Check((each.__doc__ or "").rstrip("."), partial(run, each)) for each in functions]


def require(holds: bool, message: str) -> None:
    """Fail with a message; unlike `assert`, also where Python runs without assertions."""
    if not holds:
        raise AssertionError(message)


def option_checks(registry: Registry, name: str, call: Callable[[Callable[..., Any]], object]) -> list[Check]:
    """The check that a user's own class that is called like a function reads its options; none for others."""

    def every_option_is_read() -> None:
        read: set[str] = set()
        function, values = own_function(registry, name, lambda options: watched(options, read))
        call(function)
        unread = [option for option in values if option not in read]
        require(not unread, f"nothing reads {', '.join(unread)}")

    has_options = own_code.is_foreign(name) and bool(own_function(registry, name)[1])
    return [Check("Every option is read", every_option_is_read)] if has_options else []


def watched(options: Any, read: set[str]) -> Any:
    """A copy of options that notes which of them are read."""
    names = {option.name for option in fields(options)}

    class Watched(type(options)):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            if name in names:
                read.add(name)
            return super().__getattribute__(name)

    copy = object.__new__(Watched)
    for name in names:
        object.__setattr__(copy, name, getattr(options, name))
    return copy
