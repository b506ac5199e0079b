"""A command of a study gets the options that all have, as one value, after those of its own."""

import inspect
from pathlib import Path
from typing import Annotated

from ecsuite.commands.command_help import expand_options
from ecsuite.commands.options import StudyOptions

Options = Annotated[StudyOptions, {"cache": Path("runs/mine"), "device": "cpu"}]


def own(name: str, seed: int = 3, *, options: Options) -> None:
    """Return what came."""
    came.append((name, seed, options))


study = expand_options(own)
came: list[tuple[str, int, StudyOptions]] = []


def test_options_come_as_one_value():
    defaults = {name: each.default for name, each in inspect.signature(study).parameters.items()}
    assert list(defaults)[:3] == ["name", "seed", "plan"] and "options" not in defaults
    assert (defaults["cache"], defaults["device"], defaults["out"]) == (Path("runs/mine"), "cpu", None)
    study(**defaults | {"name": "a", "quiet": True})
    [(name, seed, options)] = came
    assert (name, seed, options.cache, options.quiet, options.plan) == (
        "a",
        3,
        Path("runs/mine"),
        True,
        False,
    )
