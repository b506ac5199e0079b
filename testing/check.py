"""One check of a part."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

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
