"""Values that a shell completes: names of games, parts, metrics and so on, at the options that take them."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import resources
from typing import Any

from typer.core import TyperArgument

from ecsuite.commands.named import KINDS, read_kind, singular
from ecsuite.runtime.errors import ConfigError

OPTIONS = {
    "game": "games",
    "diff": "games",
    "sender": "senders",
    "receiver": "receivers",
    "channel": "channels",
    "task": "tasks",
    "world": "worlds",
    "loss": "losses",
    "metrics": "metrics",
    "metric": "metrics",
    "preset": "presets",
    "grammar": "grammars",
    "model": "senders",
    "study": "studies",
}
"""By the name of a parameter, the kind of its values."""
OF_COMMANDS: Mapping[str, Mapping[str, str | None]] = {
    "icy": {"protocol": "protocols"},
    "xtreme": {
        "protocol": "xtreme protocols",
        "preset": "xtreme presets",
        "tasks": "xtreme tasks",
        "model": None,
    },
    "translate": {"preset": "translation presets"},
    "grammar": {"name": "grammars"},
    "data xtreme": {"tasks": "xtreme tasks"},
    "compare correlations": {"metric": None},
    "sweep": {"study": None},
}
"""By command, the parameters whose values are of another kind there; None: of none."""
CHOICES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "": {"device": ("auto", "cpu", "cuda", "mps"), "protocol": ("strict", "published-2024", "head-2024-12")},
    "score reference": {"name": ("paren_synth", "paren_real", "random", "no_pretrain", "human")},
    "convert": {"to": ("csv", "egg", "elcc", "hf")},
    "compare correlations": {"metric": ("chrf", "bleu")},
    "icy": {"role": ("sender", "receiver"), "precision": ("fp32", "bf16")},
    "show": {"rounds_from": ("train", "valid", "test", "seen")},
    "translate": {"setting": ("full", "frozen", "reduced")},
    "xtreme": {"backbone": ("decoder", "encoder")},
    "xtreme evaluate": {"languages": ("all", "available")},
}
"""By command, or of all, the choices of parameters that are of no kind, or whose kind takes long to import."""


def add_completion(command: Any) -> None:
    """Let a shell complete the values of a command's parameters, and the commands under it."""
    for parameter in command.params:
        names = _names(command.name, parameter.name)
        if names is not None:
            parameter.shell_complete = partial(_complete, command, names)
    if command.under:
        first: Any = next(each for each in command.params if isinstance(each, TyperArgument))
        first.shell_complete = partial(_complete_under, command, first.shell_complete)


def _names(command: str, parameter: str) -> Callable[[Any], Mapping[str, str]] | None:
    """What gives the values of a parameter, a line each, from the context; None if they are not known."""
    of_command = OF_COMMANDS.get(command, {})
    choices = CHOICES.get(command, {}).get(parameter)
    if choices is None and parameter not in of_command:
        choices = CHOICES[""].get(parameter)
    if choices is not None:
        return lambda ctx: dict.fromkeys(choices, "")
    if command == "list":
        return {"kind": _kinds, "name": _names_of_kind}.get(parameter)
    if (command, parameter) in (("new", "kind"), ("check", "kind")):
        return _templates
    kind = of_command.get(parameter, OPTIONS.get(parameter))
    if kind == "metrics":
        return _metrics
    return None if kind is None else lambda ctx: KINDS[kind].names()


def _metrics(ctx: Any) -> Mapping[str, str]:
    return KINDS["metrics"].names()


def _options_of_metric(before: str) -> dict[str, str]:
    """The options of the last metric in a list, as they are written after it: `correlation=`."""
    from ecsuite.commands.part_details import options_of
    from ecsuite.eval.metrics import METRICS
    from ecsuite.eval.metrics.traits import traits_in

    named = [name for name in before.split(",") if "=" not in name][-1:]
    options = traits_in(METRICS.load(named[0]))[0].options if named and named[0] in METRICS.parts else None
    return {} if options is None else {f"{each.name}=": each.about for each in options_of(options)}


def _kinds(ctx: Any) -> dict[str, str]:
    return {kind.replace(" ", "-"): "" for kind in KINDS} | {
        singular(kind).replace(" ", "-"): "" for kind in KINDS
    }


def _names_of_kind(ctx: Any) -> Mapping[str, str]:
    try:
        return KINDS[read_kind(ctx.params.get("kind") or "")].names()
    except ConfigError:
        return {}


def _templates(ctx: Any) -> dict[str, str]:
    folder = resources.files("ecsuite").joinpath("commands", "templates")
    return {
        entry.name.removesuffix(".txt"): "" for entry in sorted(folder.iterdir(), key=lambda file: file.name)
    }


def _complete(
    command: Any, names: Callable[[Any], Mapping[str, str]], ctx: Any, incomplete: str
) -> list[Any]:
    """The names that begin so; in a list with commas, the last one of it."""
    before, comma, last = incomplete.rpartition(",")
    known = names(ctx)
    if names is _metrics and not any(name.startswith(last) for name in known):
        known = _options_of_metric(before)  # which imports the metric
    item = type(command.shell_complete(ctx, "--help")[0])  # of click, the installed one or typer's own
    return [
        item(f"{before}{comma}{name}", help=line or None)
        for name, line in known.items()
        if name.startswith(last)
    ]


def _complete_under(
    command: Any, others: Callable[[Any, str], list[Any]], ctx: Any, incomplete: str
) -> list[Any]:
    """The commands under a command that begin so, and what its first argument can be."""
    return [*_complete(command, lambda _: command.under, ctx, incomplete), *others(ctx, incomplete)]
