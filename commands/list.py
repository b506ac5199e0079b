"""`ecsuite list`: everything that has a name, and all about one."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ecsuite.commands.named import (
    KINDS,
    found,
    read_kind,
    registered_names,
    settings_to_show,
    singular,
)
from ecsuite.commands.options import Json
from ecsuite.eval.reports.citations import author_years
from ecsuite.eval.reports.console import print_json
from ecsuite.parts.own_code import is_foreign
from ecsuite.runtime.errors import look_up

if TYPE_CHECKING:
    from ecsuite.commands.part_details import Option

USE = {
    "games": "ecsuite train-game {name}",
    "worlds": "ecsuite train-game disc_small --world {name}",
    "tasks": "ecsuite train-game disc_small --task {name}",
    "channels": "ecsuite train-game disc_small --channel {name}",
    "noises": "ecsuite train-game disc_small --set channel.noise={name}",
    "perceptions": "ecsuite train-game disc_small --set sender.perception={name}",
    "senders": "ecsuite train-game disc_small --sender {name}",
    "receivers": "ecsuite train-game disc_small --receiver {name}",
    "losses": "ecsuite train-game disc_small --loss {name}",
    "optimizers": "ecsuite train-game disc_small --set optimizer={name}",
    "schedules": "ecsuite train-game disc_small --set schedule={name}",
    "loggers": "ecsuite train-game disc_small --log {name}",
    "grammars": "ecsuite grammar {name}",
    "metrics": "ecsuite score runs/disc_small --metrics {name}",
    "protocols": "ecsuite icy --protocol {name}",
    "presets": "ecsuite score runs/disc_small --metrics xferbench --preset {name}",
    "xferbench protocols": "ecsuite score runs/disc_small --metrics xferbench --protocol {name}",
    "baselines": "ecsuite baseline {name}",
    "translation presets": "ecsuite translate runs/disc_small --pairs FILE --preset {name}",
    "xtreme tasks": "ecsuite xtreme runs/disc_small --tasks {name}",
    "xtreme presets": "ecsuite xtreme runs/disc_small --preset {name}",
    "xtreme protocols": "ecsuite xtreme runs/disc_small --protocol {name}",
}
"""How a name of each kind is used; studies say it themselves."""


def list_names(
    kind: Annotated[str | None, typer.Argument(help="A kind, such as games, channel or metrics.")] = None,
    name: Annotated[
        str | None, typer.Argument(help="One of that kind, or a part of your own: ./noisy.py:Noisy.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List what has a name: the kinds, the names of a kind, or everything about one name."""
    if kind is None:
        if as_json:
            print_json(registered_names())
        else:
            _print_kinds()
        return
    kind = read_kind(kind)
    if name is None:
        lines = KINDS[kind].names()
        if as_json:
            print_json(dict(lines))
        else:
            _print_names(kind, dict(lines))
        return
    details = details_of(kind, name)
    if as_json:
        print_json(details)
    else:
        _print_details(kind, details)


def details_of(kind: str, name: str) -> dict[str, Any]:
    """What is known of a name, JSON-ready: its line, further text, its options, where it is from.

    Raises:
        ConfigError: If there is no such name.
    """
    details: dict[str, Any] = {"kind": singular(kind), "name": name}
    entry = KINDS[kind]
    if entry.registry is not None:
        return details | _part(kind, name)
    lines = entry.names()
    plain = name.partition(",")[0] if kind == "grammars" else name
    if kind == "grammars" and is_foreign(name):
        return details | _own(name)
    if kind == "games":
        return details | _game(name, lines)
    details["about"] = look_up(singular(kind), plain, lines)
    if entry.functions is not None:
        details["text"] = _text(found(entry.functions).load(plain))
        if kind == "grammars":
            details["options"] = [asdict(each) for each in _grammar_options(plain)]
    elif entry.table is not None:
        details |= _entry(found(entry.table)[plain])
    elif kind == "studies":
        from ecsuite.eval.studies.files import command_of

        details["use"] = f"ecsuite {command_of(name)} {name} --plan"
    return details


def _part(kind: str, name: str) -> dict[str, Any]:
    """A part of a registry, or of a user's file."""
    from ecsuite.commands.part_details import options_of, settings_of

    registry = found(str(KINDS[kind].registry))
    if is_foreign(name):
        return _own(name, registry)
    if kind == "metrics":
        function = registry.load(name)
        return {
            "about": registry.lines()[name],
            "text": _text(function),
            "source": registry.parts[name][0],
        }
    part, given, made = settings_of(registry, name)
    cell = given.get("cell")
    lines = KINDS[kind].names()
    options = [asdict(each) for each in options_of(made.Options)]
    for option in options:
        if option["name"] in given:
            option["default"] = str(given[option["name"]])
    found_text = _text(made)
    if cell is not None and kind in ("senders", "receivers"):
        cells = found("agents.registry:CELLS")
        found_text += _text(cells.load(cell))
    return {
        "about": lines.get(name, registry.lines()[part]),
        "text": found_text,
        "options": options,
        "source": registry.parts[part][0],
    }


def _own(name: str, registry: Any = None) -> dict[str, Any]:
    """A part of a user's file, which the user named and which is therefore imported."""
    import ecsuite.parts.own_code as own_code
    from ecsuite.commands.part_details import options_of

    plain = name.partition(",")[0]
    own_code.trust([plain])
    made = own_code.named(plain) if registry is None else registry.load(plain)
    text = _text(made)
    options = getattr(made, "Options", None)
    return {
        "about": text[0] if text else "a part of your own",
        "text": text,
        "options": [] if options is None else [asdict(each) for each in options_of(options)],
        "source": str(own_code.file_of(own_code.source_of(plain))),
    }


def _game(name: str, shipped: Mapping[str, str]) -> dict[str, Any]:
    """What is seen, said, asked and rewarded in a shipped game or one of the user's YAML, with one round."""
    if not name.endswith((".yaml", ".yml")):
        look_up("game", name, shipped)
    from ecsuite.games.experiment import load_experiment
    from ecsuite.games.game_page import game_page

    missing = settings_to_show(name)
    experiment = load_experiment(name, missing)
    page = game_page(experiment)
    if missing:
        page.facts["seen"] = f"Objects of your own file: --set {' --set '.join(missing)}."
    works = ", ".join(author_years(name))
    facts = page.facts | ({"from": f"{works} (ecsuite cite {name})"} if works else {})
    return {
        "about": experiment.about or "a game of your own",
        "sections": facts,
        "round": page.round,
        "use": f"ecsuite train-game {name}; every setting: ecsuite config {name}",
    }


def _entry(entry: Any) -> dict[str, Any]:
    """What a table has by a name, such as the settings of a preset."""
    from ecsuite.commands.part_details import values_of

    if is_dataclass(entry):
        shown = (each for each in values_of(entry) if each.name not in ("name", "about"))
        return {"options": [asdict(each) for each in shown]}
    return {"text": _text(entry)}


def _grammar_options(name: str) -> "Iterator[Option]":
    """What may stand after the name of a grammar: choices of a corruption, or numbers."""
    from ecsuite.commands.part_details import Option, written

    for key, choices in found("grammars.corruptions:OPTIONS").get(name, {}).items():
        yield Option(name=key, default=choices[0], values=", ".join(choices), about="")
    for key, default in (found("grammars.registry:GRAMMARS").load(name).__kwdefaults__ or {}).items():
        if key not in ("num_types", "text"):
            yield Option(name=key, default=written(default), values="number", about="")


def _text(entry: object) -> list[str]:
    from ecsuite.commands.part_details import paragraphs

    return paragraphs(entry)


def _print_kinds() -> None:
    """A line a kind: how many names, and some."""
    print("ecsuite list KIND: all names of a kind. ecsuite list KIND NAME: everything about one.\n")
    width = max(map(len, KINDS))
    for kind, entry in KINDS.items():
        names = list(entry.names())
        some = entry.usual or names[:4]
        more = ", ..." if len(some) < len(names) else ""
        print(f"{kind.replace(' ', '-'):{width}}  {len(names):3}  {', '.join(some)}{more}")


def _print_names(kind: str, lines: dict[str, str]) -> None:
    """A line a name; on a terminal, what is wider than it goes on below."""
    names = max(map(len, lines))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 1000
    for each, line in lines.items():
        print(textwrap.fill(f"{each:{names}}  {line}", width, subsequent_indent=" " * (names + 2)))
    print(f"\nAbout one: ecsuite list {singular(kind).replace(' ', '-')} {next(iter(lines))}")


def _print_details(kind: str, details: dict[str, Any]) -> None:
    """Everything about a name."""
    width = min(shutil.get_terminal_size().columns, 110)
    about, text = details["about"], list(details.get("text", ()))
    if text and text[0].startswith(about):
        about = text.pop(0)
    for paragraph in [f"{details['name']} ({details['kind']}): {about}", *text]:
        print(textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False) + "\n")
    rows = list(_rows(details))
    if rows:
        from rich.console import Console
        from rich.table import Table

        table = Table(*rows[0], box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for row in rows[1:]:
            table.add_row(*row)
        Console(width=width, markup=False, highlight=False).print(table)
        print()
    elif "options" in details:
        print("It has no options.\n")
    if details.get("round"):
        print("\n".join([f"A {details['round'][0].replace('round 1', 'round')}", *details["round"][1:], ""]))
    if details["kind"] == "metric":
        _print_direction(details["name"])
    if "use" in details:
        print(f"Use it: {details['use']}")
    elif kind in USE:
        print(f"Use it: {USE[kind].format(name=_with_option(details))}")
    if "source" in details:
        print(f"Defined in: {details['source']}")


def _print_direction(name: str) -> None:
    """What a metric answers, and which way is better, if it has one score of its own name."""
    from ecsuite.eval.metrics import METRIC_OF, traits_of
    from ecsuite.eval.metrics.traits import QUESTIONS

    if name in METRIC_OF:
        traits = traits_of(name)
        better = f" ({traits.direction} is better)" if traits.direction else ""
        print(f"Answers: {QUESTIONS[traits.question]}{better}")


def _with_option(details: dict[str, Any]) -> str:
    """The name of a part, with its first option that is a number."""
    for option in details.get("options", ()):
        if option["values"].startswith(("integer", "number")) and option["default"][0].isdigit():
            return f"{details['name']},{option['name']}={option['default']}"
    return str(details["name"])


def _rows(details: dict[str, Any]) -> Iterator[list[str]]:
    """The table of a name, its head first; none if there is nothing to tabulate."""
    if sections := details.get("sections"):
        yield ["what", "in this game"]
        for section, text in sections.items():
            yield [section, text]
    elif options := details.get("options"):
        keys = [key for key in ("name", "default", "values", "about") if any(each[key] for each in options)]
        heads = {"name": "option", "about": "meaning"} | ({} if "values" in keys else {"default": "value"})
        yield [heads.get(key, key) for key in keys]
        for option in options:
            yield [option[key] for key in keys]
