"""Possible values of options for shell completion, declared in the `Annotated` type of an option.

The type `Annotated[str, typer.Option(help="The sender."), names_of("senders")]` completes names of senders.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any

from typer.core import TyperArgument

from ecsuite.commands.named import KINDS, read_kind, singular
from ecsuite.runtime.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Values:
    """Possible values."""

    names: Callable[[Any, str, str], Mapping[str, str]]
    """Function that returns possible values with descriptions, given the context of the command (with the parameters so
    far), and the parts of the value before and after its last comma."""
    or_files: bool = False
    """Whether the value can also be a file."""


def names_of(kind: str, *, or_files: bool = False) -> Values:
    """The names of a kind of `ecsuite list`; after the comma of a metric, also the options of the metric."""

    def names(ctx: Any, before: str, last: str) -> Mapping[str, str]:
        known = KINDS[kind].names()
        if kind == "metrics" and not any(name.startswith(last) for name in known):
            return _options_of_metric(before)  # imports the metric
        return known

    return Values(names, or_files)


class OneOf(Values):
    """A choice of words; its text is `a, b or c`."""

    def __init__(self, *words: str) -> None:
        super().__init__(lambda *_: dict.fromkeys(words, ""))
        object.__setattr__(self, "words", words)

    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"


def _kinds(ctx: Any, before: str, last: str) -> Mapping[str, str]:
    forms = (lambda kind: kind, singular)
    return {form(kind).replace(" ", "-"): "" for form in forms for kind in KINDS}


def _names_of_given_kind(ctx: Any, before: str, last: str) -> Mapping[str, str]:
    try:
        return KINDS[read_kind(ctx.params.get("kind") or "")].names()
    except ConfigError:
        return {}


def _templates(ctx: Any, before: str, last: str) -> Mapping[str, str]:
    folder = resources.files("ecsuite").joinpath("commands", "templates")
    return dict.fromkeys(
        sorted(["layout", *(file.name.removesuffix(".txt") for file in folder.iterdir())]), ""
    )


ANY_KIND, NAMES_OF_KIND, NEW = Values(_kinds), Values(_names_of_given_kind), Values(_templates)
"""The kinds of `ecsuite list` in plural and singular; the names of the kind that the parameter `kind` gives; the kinds
of parts that `ecsuite new` writes."""


def add_completion(command: Any, types: Mapping[str, Any]) -> None:
    """Let shells complete the values of a command's parameters, and its subcommands.

    Args:
        command: The command.
        types: The types of its parameters, by name.
    """
    for parameter in command.params:
        for values in getattr(types.get(parameter.name), "__metadata__", ()):
            if isinstance(values, Values):
                files = parameter.shell_complete if values.or_files else _none
                parameter.shell_complete = partial(_complete, command, values.names, files)
    if command.under:
        first: Any = next(each for each in command.params if isinstance(each, TyperArgument))
        first.shell_complete = partial(_complete, command, lambda *_: command.under, first.shell_complete)


def _complete(
    command: Any,
    names: Callable[[Any, str, str], Mapping[str, str]],
    others: Callable[[Any, str], list[Any]],
    ctx: Any,
    incomplete: str,
) -> list[Any]:
    """Complete a name, in a list with commas the last name, and files if they are possible."""
    before, comma, last = incomplete.rpartition(",")
    item = type(command.shell_complete(ctx, "--help")[0])  # click's class, installed or bundled with typer
    found = names(ctx, before, last).items()
    items = [
        item(f"{before}{comma}{name}", help=line or None) for name, line in found if name.startswith(last)
    ]
    return [*items, *others(ctx, incomplete)]


def _none(ctx: Any, incomplete: str) -> list[Any]:
    return []


def _options_of_metric(before: str) -> dict[str, str]:
    """The options of the last metric in a list, in the form `correlation=`."""
    from ecsuite.commands.part_details import options_of
    from ecsuite.eval.metrics import METRICS

    named = [name for name in before.split(",") if "=" not in name][-1:]
    options = METRICS.load(named[0]).shared.options if named and named[0] in METRICS.parts else None
    return {} if options is None else {f"{each.name}=": each.about for each in options_of(options)}
