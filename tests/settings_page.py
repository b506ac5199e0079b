"""The page of every setting of a game, made from the registries: `python tests/settings_page.py` writes it."""

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ecsuite.games.config.sections import DEFAULTS, PARTS, PLAIN, Experiment
from ecsuite.parts.registry import Part, Registry, nested_registry, option_docs, option_types

FILE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
HEAD = """# Every setting of a game

Each key stands in the YAML of a game, after `--set` (`--set channel.temperature=2`), or after a comma behind the
name of its part (`--channel gumbel,temperature=2`). `ecsuite config GAME` prints the values of one game; a shipped
game may have other values than these defaults. The page is made from the source by `python tests/settings_page.py`.
"""
WORDS = {int: "integer", float: "number", str: "text", bool: "true or false"}
FAR = 2**53
"""Bounds beyond this are those of the number's type."""


def page() -> str:
    """The text of the page."""
    docs = option_docs(Experiment)
    parts = [HEAD]
    nested: dict[str, Registry] = {}
    for section, registry in PARTS.items():
        default = DEFAULTS[section]["kind"]
        parts.append(f"## `{section}`\n\n{docs[section]} Without a name: `{default}`.\n")
        for kind in registry.parts:
            parts.append(kind_text(registry, kind))
            for hint in option_types(registry.load(kind).Options).values():
                if (inner := nested_registry(hint)) is not None:
                    nested[inner.word] = inner
    for word, registry in nested.items():
        parts.append(f"## `{word}`\n\nA section inside of an agent: `sender.{word}`, `receiver.{word}`.\n")
        parts += [kind_text(registry, kind) for kind in registry.parts]
    for section, options in PLAIN.items():
        parts.append(f"## `{section}`\n\n{docs[section]}\n\n{table(options)}")
    return "\n".join(parts)


def kind_text(registry: Registry, kind: str) -> str:
    """A heading, a line about the part, and the table of its options."""
    about = registry.lines()[kind]
    return f"### `{kind}`\n\n{about[0].upper()}{about[1:]}.\n\n{table(registry.load(kind).Options)}"


def table(options: type) -> str:
    """The options of a class, a row each."""
    docs = option_docs(options)
    types = option_types(options)
    rows = [
        f"| `{entry.name}` | {value(entry)} | {described(types[entry.name])} | {docs.get(entry.name, '')} |"
        for entry in dataclasses.fields(options)
    ]
    head = ["| key | default | values | means |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n" if rows else "No options.\n"


def value(entry: dataclasses.Field[Any]) -> str:
    """The default of an option as in YAML."""
    default = entry.default
    if default is dataclasses.MISSING and entry.default_factory is not dataclasses.MISSING:
        default = entry.default_factory()
    if default is dataclasses.MISSING:
        return "must be given"
    if isinstance(default, Part):
        return f"`{default.kind}`"
    words = {None: "null", True: "true", False: "false"}
    return f"`{words.get(default, default) if isinstance(default, bool | None) else default}`"


def described(hint: Any) -> str:
    """What values an option takes."""
    if (inner := nested_registry(hint)) is not None:
        return f"a {inner.word}"
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        bounds = ", ".join(
            text for meta in arguments[1:] if isinstance(meta, msgspec.Meta) for text in bounded(meta)
        )
        return described(arguments[0]) + (f", {bounds}" if bounds else "")
    if origin is typing.Literal:
        return ", ".join(f"`{choice}`" for choice in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join("null" if each is type(None) else described(each) for each in arguments)
    if origin is Mapping:
        return f"{described(arguments[0])} by name"
    if origin in (tuple, list):
        return f"list of {described(arguments[0])}"
    return WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def bounded(meta: msgspec.Meta) -> list[str]:
    """The bounds of a number in words."""
    bounds = {"at least": meta.ge, "above": meta.gt, "at most": meta.le, "below": meta.lt}
    return [f"{word} {bound}" for word, bound in bounds.items() if bound is not None and abs(bound) < FAR]


if __name__ == "__main__":
    FILE.write_text(page())
    sys.stdout.write(f"{FILE}\n")
