"""Options that set a key of a file, such as `--seed` for `training.seed`; the key is part of the option's type.

An option of the type `Annotated[int | None, typer.Option(help="Number of passes."), Sets("training.num_epochs")]` sets
the number of epochs, and messages about a wrong number name the option.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, get_type_hints


@dataclass(frozen=True, slots=True)
class Sets:
    """The setting that an option sets."""

    key: str
    """The key, preceded by its section and a dot, if any."""
    read: Callable[[Any], Any] = lambda value: value
    """Function that converts the option's value."""


def keys_of(kind: type[Any]) -> dict[str, Sets]:
    """Settings of the options of a dataclass by name of field, without options that set nothing."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name: mark
        for field in fields(kind)
        for mark in getattr(hints[field.name], "__metadata__", ())
        if isinstance(mark, Sets)
    }


def settings_of(options: Any) -> dict[str, Any]:
    """Values of the given options by the keys that they set."""
    given = [(mark, getattr(options, name)) for name, mark in keys_of(type(options)).items()]
    return {mark.key: None if value in (None, []) else mark.read(value) for mark, value in given}


def flags_of(kind: type[Any]) -> dict[str, str]:
    """Command line form of the options of a dataclass by the keys that they set, for messages."""
    return {mark.key: f"--{name.replace('_', '-')}" for name, mark in keys_of(kind).items()}
