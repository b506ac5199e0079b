"""Conformance checks: properties that a user's part needs to work like a built-in part.

    import pytest
    from ecsuite.testing import checks

    @pytest.mark.parametrize("check", checks("channel", "./noisy.py:NoisyChannel"), ids=str)
    def test_noisy_channel(check):
        check()

`ecsuite check ./noisy.py:NoisyChannel` prints the results as a table.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import ecsuite.parts.own_code as own_code
from ecsuite.parts.own_functions import own_function
from ecsuite.parts.registry import Registry
from ecsuite.runtime.errors import ConfigError, look_up

Subject = TypeVar("Subject")

KINDS = {
    "play": "plays:play_checks",
    "world": "games:world_checks",
    "environment": "plays:environment_checks",
    "task": "games:game_checks",
    "channel": "games:game_checks",
    "sender": "games:game_checks",
    "receiver": "games:game_checks",
    "perception": "games:game_checks",
    "noise": "games:game_checks",
    "loss": "games:game_checks",
    "reasoning": "games:game_checks",
    "optimizer": "games:game_checks",
    "schedule": "games:game_checks",
    "meeting": "plays:meeting_checks",
    "logger": "plays:logger_checks",
    "reward": "games:game_checks",
    "frequencies": "games:part_checks",
    "learner": "plays:play_checks",
    "actor": "plays:play_checks",
    "distance": "languages:distance_checks",
    "metric": "languages:metric_checks",
    "grammar": "languages:grammar_checks",
    "participant": "plays:participant_checks",
    "backend": "plays:participant_checks",
}
"""`module:function` with the checks of each kind of part."""

SIGNS = {
    "play": "train_step",
    "participant": "recognises",
    "backend": "is_drawn",
    "world": "corpus_batches",
    "environment": "reset",
    "channel": "start_message",
    "noise": "change",
    "task": "scores_candidates",
    "optimizer": "optimizer",
    "schedule": "factor",
    "sender": "num_features",
    "perception": "object_shape",
    "receiver": "vocab_size",
    "logger": "log",
    "meeting": "pairs",
    "reasoning": "asks_others",
    "learner": "objective",
    "actor": "begin",
    "frequencies": "probabilities",
}
"""The attribute, or argument of the constructor, that identifies parts of a kind."""


@dataclass(frozen=True, slots=True)
class Check:
    """A required property of a part. Calling it raises an exception if the part lacks the property."""

    statement: str
    """The property, as a sentence."""
    function: Callable[[], None]

    def __call__(self) -> None:
        """Run the check."""
        self.function()

    def __str__(self) -> str:
        """The statement, as the name of a test."""
        return self.statement


def bound(functions: Iterable[Callable[[Subject], None]], make: Callable[[], Subject]) -> list[Check]:
    """A check for each function, called with the result of `make`; the statement is its docstring."""

    def run(function: Callable[[Subject], None]) -> None:
        function(make())

    return [Check((each.__doc__ or "").rstrip("."), partial(run, each)) for each in functions]


def require(holds: bool, message: str) -> None:
    """Fail with a message; unlike `assert`, also if Python runs without assertions."""
    if not holds:
        raise AssertionError(message)


def option_checks(registry: Registry, name: str, call: Callable[[Callable[..., Any]], object]) -> list[Check]:
    """The check that a user's callable class reads its options; empty for other parts."""

    def every_option_is_read() -> None:
        read: set[str] = set()
        function, values = own_function(registry, name, lambda options: watched(options, read))
        call(function)
        unread = [option for option in values if option not in read]
        require(not unread, f"nothing reads {', '.join(unread)}")

    has_options = own_code.is_foreign(name) and bool(own_function(registry, name)[1])
    return [Check("Every option is read", every_option_is_read)] if has_options else []


def watched(options: Any, read: set[str]) -> Any:
    """A copy of options that records which options are read."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckOutcome:
    """Outcome of a check."""

    check: Check
    problem: str | None
    """Violation in one line; None: the check holds."""


def kind_of(name: str) -> str:
    """The kind of a part in a file, from its attributes and arguments; see `SIGNS`.

    Raises:
        ConfigError: If the name has no part of the file.
    """
    if name.endswith(".py"):
        raise ConfigError(f"{name}: expected a part of this file, such as {name}:Noisy")
    if not own_code.is_foreign(name):
        raise ConfigError(f"{name}: unknown kind of part, add --kind: {', '.join(KINDS)}")
    own_code.trust([name.partition(",")[0]])
    made = own_code.named(name.partition(",")[0])
    arguments = inspect.signature(made).parameters
    if isinstance(made, type):
        for kind, sign in SIGNS.items():
            if sign in arguments or hasattr(made, sign):
                return kind
        arguments = inspect.signature(made.__call__).parameters
        if "truth" in arguments:
            return "reward"
        if "output" in arguments or not {"corpus", "meanings"} & arguments.keys():
            return "loss"
    if (
        len(arguments) == 2
        and not isinstance(made, type)
        and not {"corpus", "meanings", "options"} & arguments.keys()
    ):
        return "distance"
    return "grammar" if "meanings" in arguments else "metric"


def checks(kind: str, name: str, settings: Iterable[str] = ()) -> list[Check]:
    """The checks of a part, as functions to call; a failed check raises an exception.

    Args:
        kind: Kind of the part: channel, sender, metric and so on.
        name: A registered name or `./file.py:Class`, with options after commas.
        settings: `section.key=value` of the small game in which the part is checked.

    Raises:
        ConfigError: If there is no such kind, or the part can't be imported.
    """
    module, function = look_up("kind", kind, KINDS).split(":")
    own_code.trust([name.partition(",")[0]])
    found: list[Check] = getattr(import_module(f"{__name__}.{module}"), function)(kind, name, tuple(settings))
    return found


def run(check: Check) -> CheckOutcome:
    """Run a check; a violation is reported in one line."""
    try:
        check()
    except Exception as error:
        report = own_code.error_in_part(error) or f"{type(error).__name__}: {error}"
        text = str(error) if isinstance(error, AssertionError) else str(report)
        return CheckOutcome(check=check, problem=" ".join(text.split())[:300])
    return CheckOutcome(check=check, problem=None)
