"""Conformance checks: what every part must hold to work wherever one of ours does.

    import pytest
    from ecsuite.testing import checks

    @pytest.mark.parametrize("check", checks("channel", "./noisy.py:NoisyChannel"), ids=str)
    def test_noisy_channel(check):
        check()

`ecsuite check ./noisy.py:NoisyChannel` prints the same as a table.
"""

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module

import ecsuite.parts.own_code as own_code
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.testing.check import Check

KINDS = {
    "play": "ecsuite.testing.plays",
    "world": "ecsuite.testing.worlds",
    "environment": "ecsuite.testing.environments",
    "task": "ecsuite.testing.games",
    "channel": "ecsuite.testing.games",
    "sender": "ecsuite.testing.games",
    "receiver": "ecsuite.testing.games",
    "perception": "ecsuite.testing.games",
    "noise": "ecsuite.testing.games",
    "loss": "ecsuite.testing.games",
    "reasoning": "ecsuite.testing.games",
    "optimizer": "ecsuite.testing.games",
    "schedule": "ecsuite.testing.games",
    "meeting": "ecsuite.testing.meetings",
    "logger": "ecsuite.testing.loggers",
    "metric": "ecsuite.testing.metrics",
    "grammar": "ecsuite.testing.grammars",
    "participant": "ecsuite.testing.participants",
    "backend": "ecsuite.testing.participants",
}
"""The module with the checks of each kind of part."""


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
}
"""The attribute, or argument of the constructor, that only parts of a kind have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of a check."""

    check: Check
    problem: str | None
    """What does not hold, in one line; None: it holds."""


def kind_of(name: str) -> str:
    """The kind of a part in a file, by what only parts of that kind have.

    Raises:
        ConfigError: If the part is in no file.
    """
    if not own_code.is_foreign(name):
        raise ConfigError(f"{name}: say what it is with --kind: {', '.join(KINDS)}")
    own_code.trust([name.partition(",")[0]])
    made = own_code.named(name.partition(",")[0])
    arguments = inspect.signature(made).parameters
    if isinstance(made, type):
        for kind, sign in SIGNS.items():
            if sign in arguments or hasattr(made, sign):
                return kind
        arguments = inspect.signature(made.__call__).parameters
        if "output" in arguments or not {"corpus", "meanings"} & arguments.keys():
            return "loss"
    return "grammar" if "meanings" in arguments else "metric"


def checks(kind: str, name: str, settings: Iterable[str] = ()) -> list[Check]:
    """The checks of a part, as functions to call; one that does not hold raises an exception.

    Args:
        kind: What the part is: channel, sender, metric and so on.
        name: A registered name or `./file.py:Class`, with options after commas.
        settings: `section.key=value` of the small game in which the part is tried.

    Raises:
        ConfigError: If there is no such kind, or the part can't be imported.
    """
    module = import_module(look_up("kind", kind, KINDS))
    own_code.trust([name.partition(",")[0]])
    found: list[Check] = module.checks(kind, name, tuple(settings))
    return found


def run(check: Check) -> Outcome:
    """Run a check, and say in a line what does not hold."""
    try:
        check()
    except Exception as error:
        told = own_code.error_in_part(error) or f"{type(error).__name__}: {error}"
        said = str(error) if isinstance(error, AssertionError) else str(told)
        return Outcome(check=check, problem=" ".join(said.split())[:300])
    return Outcome(check=check, problem=None)
