"""Details of a part: description, source, and every option with its default and bounds."""

import dataclasses
import inspect
import types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec

from ecsuite.parts.registry import Part, Registry, nested_registry, option_docs, option_types

WORDS = {int: "integer", float: "number", str: "text", bool: "true or false"}
FAR = 2**53
"""Larger bounds are limits of the number's type, and not shown."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """An option of a part."""

    name: str
    """Key of the option."""
    default: str
    """Default value as YAML."""
    values: str
    """Allowed values."""
    about: str
    """Description of the option."""


def options_of(options: type) -> Iterator[Option]:
    """Yield the options of a frozen dataclass in order."""
    docs, hints = option_docs(options), option_types(options)
    for entry in dataclasses.fields(options):
        yield Option(
            name=entry.name,
            default=_default(entry),
            values=described(hints[entry.name]),
            about=docs.get(entry.name, ""),
        )


def values_of(entry: Any) -> Iterator[Option]:
    """Yield the fields of a dataclass object, such as a preset, with their values as defaults."""
    kind: Any = type(entry)
    docs = option_docs(kind)
    for each in dataclasses.fields(entry):
        value = getattr(entry, each.name)
        if value not in ((), {}, None):
            yield Option(name=each.name, default=written(value), values="", about=docs.get(each.name, ""))


def described(hint: Any) -> str:
    """Describe the allowed values of a type."""
    if (inner := nested_registry(hint)) is not None:
        return f"a {inner.word}"
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        if text := next((meta.description for meta in arguments[1:] if getattr(meta, "description", "")), ""):
            return str(text)
        bounds = [text for meta in arguments[1:] if isinstance(meta, msgspec.Meta) for text in _bounds(meta)]
        return ", ".join([described(arguments[0]), *bounds])
    if origin is typing.Literal:
        return ", ".join(str(choice) for choice in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join("null" if each is type(None) else described(each) for each in arguments)
    if origin in (tuple, list):
        return f"list of {described(arguments[0])}"
    return WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def written(value: Any) -> str:
    """Format a value as YAML; a part is given by its kind."""
    if isinstance(value, Part):
        return value.kind
    if isinstance(value, tuple | list):
        return ", ".join(map(written, value))
    words = {None: "null", True: "true", False: "false"}
    return words[value] if isinstance(value, bool | None) else str(value)


def paragraphs(entry: object) -> list[str]:
    """Paragraphs of an object's own docstring before its sections of arguments and errors, one line each."""
    text = inspect.cleandoc(getattr(entry, "__doc__", None) or "")
    found = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(("Args:", "Raises:", "Returns:")):
            break
        found.append(" ".join(paragraph.split()))
    return [paragraph for paragraph in found if paragraph]


def settings_of(registry: Registry, name: str) -> tuple[str, dict[str, Any], Any]:
    """Resolve the name of a part to its kind, the options that the name sets, and its class.

    For example, `gru-2l` is a recurrent sender with the option `layers`.

    Raises:
        ConfigError: If the part is unknown.
    """
    section = registry.section(name, registry.word)
    kind = section.pop("kind")
    return kind, section, registry.load(kind)


def _default(entry: dataclasses.Field[Any]) -> str:
    default = entry.default
    if default is dataclasses.MISSING and entry.default_factory is not dataclasses.MISSING:
        default = entry.default_factory()
    return "must be given" if default is dataclasses.MISSING else written(default)


def _bounds(meta: msgspec.Meta) -> list[str]:
    bounds = {"at least": meta.ge, "above": meta.gt, "at most": meta.le, "below": meta.lt}
    return [f"{word} {bound}" for word, bound in bounds.items() if bound is not None and abs(bound) < FAR]
