"""Sections of the file of a claim as dataclasses; messages name the line of the key that is wrong."""

import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from ecsuite.eval.experiments.grids import at, mapping
from ecsuite.parts.config import checked
from ecsuite.runtime.errors import ConfigError, unknown_name

Section = TypeVar("Section")
NOTHING: Mapping[str, Any] = {}
"""No values that are read already."""


def read_section(
    kind: type[Section], tree: Any, source: str, *path: str, given: Mapping[str, Any] = NOTHING
) -> Section:
    """Build a dataclass from a section.

    Args:
        kind: The dataclass.
        tree: The section.
        source: The file.
        path: The keys that lead to the section.
        given: Values that are read already.

    Raises:
        ConfigError: If a key is unknown or missing, or a value has another type or is out of bounds.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    values = dict(given)
    for key, value in mapping(tree, at(source, *path) if path else source).items():
        place = at(source, *path, key)
        if key not in hints:
            raise ConfigError(f"{place}: {unknown_name('key', key, hints)}")
        values[key] = checked(value, hints[key], place)
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name not in values and each.default is MISSING and each.default_factory is MISSING:
            raise ConfigError(f"{at(source, *path) if path else source}: expected the key {each.name}")
    return kind(**values)
