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
"""Bounds beyond this are those of the number's type."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """An option of a part."""

    name: str
    """Its key."""
    default: str
    """As in YAML."""
    values: str
    """Allowed values."""
    about: str
    """Description of the option."""


def options_of(options: type) -> Iterator[Option]:
    """The options of a frozen dataclass in their order."""
    docs, hints = option_docs(options), option_types(options)
    for entry in dataclasses.fields(options):
        yield Option(
            name=entry.name,
            default=_default(entry),
            values=described(hints[entry.name]),
            about=docs.get(entry.name, ""),
        )


def values_of(entry: Any) -> Iterator[Option]:
    """The fields of a dataclass, such as a preset, each with its value as the default."""
    kind: Any = type(entry)
    docs = option_docs(kind)
    for each in dataclasses.fields(entry):
        value = getattr(entry, each.name)
        if value not in ((), {}, None):
            yield Option(name=each.name, default=written(value), values="", about=docs.get(each.name, ""))


def described(hint: Any) -> str:
    """Describe the values that an option of a type takes."""
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
    """A value as in YAML, a part by its kind."""
    if isinstance(value, Part):
        return value.kind
    if isinstance(value, tuple | list):
        return ", ".join(map(written, value))
    words = {None: "null", True: "true", False: "false"}
    return words[value] if isinstance(value, bool | None) else str(value)


def paragraphs(entry: object) -> list[str]:
    """The paragraphs of a thing's own documentation before its sections of arguments and errors, a line each."""
    text = inspect.cleandoc(getattr(entry, "__doc__", None) or "")
    found = []
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(("Args:", "Raises:", "Returns:")):
            break
        found.append(" ".join(paragraph.split()))
    return [paragraph for paragraph in found if paragraph]


def settings_of(registry: Registry, name: str) -> tuple[str, dict[str, Any], Any]:
    """The kind that a name stands for, the options that the name sets, and the class.

    `gru-2l` is a recurrent sender with the option `layers`, and so on.

    Raises:
        ConfigError: If there is no such part.
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
