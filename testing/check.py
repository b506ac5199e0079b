"""One check of a part."""

from collections.abc import Callable
from dataclasses import dataclass


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


def require(holds: bool, message: str) -> None:
    """Fail with a message; unlike `assert`, also where Python runs without assertions."""
    if not holds:
        raise AssertionError(message)
