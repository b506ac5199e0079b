"""`ecsuite list`: all names by kind, and details of one name."""

import json
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from typing import Annotated, Any

import typer

import ecsuite.parts.own_code as own_code
from ecsuite.commands.completion import ANY_KIND, NAMES_OF_KIND
from ecsuite.commands.named import (
    KINDS,
    found,
    game_of,
    read_kind,
    registered_names,
    settings_to_show,
    singular,
)
from ecsuite.commands.options import As, Json
from ecsuite.commands.part_details import Option, options_of, paragraphs, settings_of, values_of, written
from ecsuite.eval.views.citations import author_years
from ecsuite.eval.views.console import print_json
from ecsuite.parts.config import parse_yaml, shipped_configs
from ecsuite.runtime.errors import look_up
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Column, Table, number_column, row_of


def list_names(
    kind: Annotated[
        str | None, typer.Argument(help="A kind, such as games, channel or metrics."), ANY_KIND
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(help="A name of that kind, or your own part: ./noisy.py:Noisy."),
        NAMES_OF_KIND,
    ] = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """List the kinds of names, the names of a kind, or the details of a name."""
    if kind is None:
        if as_json:
            print_json(registered_names())
        else:
            line = "ecsuite list KIND: its names. ecsuite list KIND NAME: details of a name."
            _show([line], replace(_kinds_table(), has_headings=form is not Form.TEXT), [], form)
        return
    kind = read_kind(kind)
    if name is None:
        lines = dict(KINDS[kind].names())
        if as_json:
            print_json(lines)
        else:
            about = f"Details of a name: ecsuite list {singular(kind).replace(' ', '-')} {next(iter(lines))}"
            _show([], replace(_names_table(lines), has_headings=form is not Form.TEXT), [about], form)
        return
    details = details_of(kind, name)
    if as_json:
        print_json(details)
    else:
        table = _details_table(details)
        none = ["It has no options.", ""] if table is None and "options" in details else []
        _show(_lines_before(details), table, [*none, *_lines_after(kind, details)], form)


def details_of(kind: str, name: str) -> dict[str, Any]:
    """JSON-ready details of a name: description, options and source.

    Raises:
        ConfigError: If the name is unknown.
    """
    details: dict[str, Any] = {"kind": singular(kind), "name": name}
    entry = KINDS[kind]
    if entry.registry is not None:
        return details | _part(kind, name)
    lines = entry.names()
    plain = name.partition(",")[0] if kind == "grammars" else name
    if kind in ("distances", "grammars") and own_code.is_foreign(name):
        return details | _own(name)
    if kind == "games":
        return details | _game(name, lines)
    details["about"] = look_up(singular(kind), plain, lines)
    if entry.functions is not None:
        details["text"] = paragraphs(found(entry.functions).load(plain))
        if kind == "grammars":
            details["options"] = [asdict(each) for each in _grammar_options(plain)]
    elif entry.table is not None and is_dataclass(setting := found(entry.table)[plain]):
        shown = (each for each in values_of(setting) if each.name not in ("name", "about"))
        details["options"] = [asdict(each) for each in shown]
    elif kind == "protocols":
        # Common hyper-parameters, Table 7 of the ICY paper.
        target = found("eval.icy.protocol:TARGETS")[name]
        settings = found("eval.icy.protocol:Protocol")(target=target), found("grammars.geometry:Geometry")()
        shown = (each for setting in settings for each in values_of(setting) if each.name != "name")
        details["options"] = [] if name == "metrics" else [asdict(each) for each in shown]
    elif kind == "layouts":
        tree = parse_yaml(shipped_configs("layouts")[name].read_text("utf-8"), name)
        cells = {key: json.dumps(value, ensure_ascii=False) for key, value in tree.items() if key != "about"}
        details["options"] = [
            asdict(Option(name=key, default=cell.strip('"'), values="", about=""))
            for key, cell in cells.items()
        ]
    elif kind == "studies":
        from ecsuite.eval.experiments.grids import command_of

        details["use"] = f"ecsuite {command_of(name)} {name} --plan"
    return details


def _part(kind: str, name: str) -> dict[str, Any]:
    """Details of a part of a registry, or of a user's file."""
    registry = found(str(KINDS[kind].registry))
    if own_code.is_foreign(name):
        return _own(name, registry) | (_scores_of(name) if kind == "metrics" else {})
    if kind == "metrics":
        return _metric(registry, name.partition(",")[0])
    part, given, made = settings_of(registry, name)
    cell = given.get("cell")
    lines = KINDS[kind].names()
    options = [asdict(each) for each in options_of(made.Options)]
    for option in options:
        if option["name"] in given:
            option["default"] = str(given[option["name"]])
    found_text = paragraphs(made)
    if cell is not None and kind in ("senders", "receivers"):
        cells = found("agents.registry:CELLS")
        found_text += paragraphs(cells.load(cell))
    return {
        "about": lines.get(name, registry.lines()[part]),
        "text": found_text,
        "options": options,
        "source": registry.parts[part][0],
        # A play is shown with a game that uses it.
        **({"use": f"ecsuite train-game {game_of(part)}"} if kind == "plays" else {}),
    }


def _scores_of(name: str) -> dict[str, Any]:
    """Details of the scores of a user's metric; its file is trusted."""
    from ecsuite.eval.metrics import find_metric

    return {"scores": [each.described() for each in find_metric(name).traits]}


def _metric(registry: Any, name: str) -> dict[str, Any]:
    metric = registry.load(name)
    options = metric.shared.options
    return {
        "about": registry.lines()[name],
        "text": paragraphs(metric),
        "options": [] if options is None else [asdict(each) for each in options_of(options)],
        "scores": [each.described() for each in metric.traits],
        "source": registry.parts[name][0],
    }


def _own(name: str, registry: Any = None) -> dict[str, Any]:
    """Details of a part of a user's file, which is imported since the user named it."""
    plain = name.partition(",")[0]
    own_code.trust([plain])
    made = own_code.named(plain) if registry is None else registry.load(plain)
    text = paragraphs(made)
    options = getattr(made, "Options", None)
    return {
        "about": text[0] if text else "your own part",
        "text": text,
        "options": [] if options is None else [asdict(each) for each in options_of(options)],
        "source": str(own_code.file_of(own_code.source_of(plain))),
    }


def _game(name: str, shipped: Mapping[str, str]) -> dict[str, Any]:
    """Details of a shipped game or a user's YAML file: observations, messages, task and reward, and one round."""
    if not name.endswith((".yaml", ".yml")):
        look_up("game", name, shipped)
    from ecsuite.games.config.experiment import load_experiment
    from ecsuite.games.pictures.game_page import game_page

    missing = settings_to_show(name)
    experiment = load_experiment(name, missing)
    page = game_page(experiment)
    if missing:
        page.facts["seen"] = f"Objects of your own file: --set {' --set '.join(missing)}."
    works = ", ".join(author_years(name))
    facts = page.facts | ({"from": f"{works} (ecsuite cite {name})"} if works else {})
    return {
        "about": experiment.about or "your own game",
        "sections": facts,
        "round": page.round,
        "use": f"ecsuite train-game {name}; every setting: ecsuite config {name}",
    }


def _grammar_options(name: str) -> Iterator[Option]:
    """Yield the options of a grammar: choices of a corruption, or numbers."""
    for key, choices in found("grammars.corruptions:OPTIONS").get(name, {}).items():
        yield Option(name=key, default=choices[0], values=", ".join(choices), about="")
    for key, default in (found("grammars.registry:GRAMMARS").load(name).__kwdefaults__ or {}).items():
        if key not in ("num_types", "text"):
            yield Option(name=key, default=written(default), values="number", about="")


def _kinds_table() -> Table:
    rows = []
    for kind, entry in KINDS.items():
        names = list(entry.names())
        some = entry.usual or names[:4]
        more = ", ..." if len(some) < len(names) else ""
        rows.append(row_of(kind.replace(" ", "-"), len(names), ", ".join(some) + more))
    columns = (Column("kind"), number_column("names"), Column("some", wraps=True))
    return Table(columns=columns, rows=rows)


def _names_table(lines: Mapping[str, str]) -> Table:
    columns = (Column("name"), Column("about", wraps=True))
    return Table(columns=columns, rows=[row_of(*each) for each in lines.items()])


def _details_table(details: Mapping[str, Any]) -> Table | None:
    """Table of the details of a name: the sections of a game, or options."""
    if sections := details.get("sections"):
        rows = [row_of(section, text) for section, text in sections.items()]
        return Table(columns=(Column("what"), Column("in this game", wraps=True)), rows=rows)
    if not (options := details.get("options")):
        return None
    keys = [key for key in ("name", "default", "values", "about") if any(each[key] for each in options)]
    heads = {"name": "option", "about": "meaning"} | ({} if "values" in keys else {"default": "value"})
    columns = [Column(heads.get(key, key), wraps=key in keys[1:]) for key in keys]
    return Table(columns=columns, rows=[row_of(*(each[key] for key in keys)) for each in options])


def _lines_before(details: Mapping[str, Any]) -> list[str]:
    about, text = details["about"], list(details.get("text", ()))
    if text and text[0].startswith(about):
        about = text.pop(0)
    scores = map(_about_score, details.get("scores", ()))
    return [f"{details['name']} ({details['kind']}): {about}", *text, *scores]


def _lines_after(kind: str, details: Mapping[str, Any]) -> list[str]:
    """Lines below the options of a name: a round, how the name is used and its source."""
    lines = []
    if details.get("round"):
        lines += [f"A {details['round'][0].replace('round 1', 'round')}", *details["round"][1:], ""]
    if "use" in details:
        lines.append(f"Use it: {details['use']}")
    elif use := KINDS[kind].use:
        lines.append(f"Use it: {use.format(name=_with_option(details))}")
    return [*lines, *([f"Defined in: {details['source']}"] if "source" in details else [])]


def _show(before: Sequence[str], table: Table | None, after: Sequence[str], form: Form) -> None:
    """Print a table with lines above and below; formats other than text have them as title and notes."""
    if form is not Form.TEXT:
        empty = Table(columns=(), rows=())
        publish([replace(table or empty, title=" ".join(before), notes=tuple(filter(None, after)))], form)
        return
    width = min(shutil.get_terminal_size().columns, 110)
    for paragraph in before:
        print(textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False) + "\n")
    if table is not None:
        publish([table], form)
    for line in ["", *after] if table is not None and after else after:
        print(line)


def _about_score(score: Mapping[str, Any]) -> str:
    """Description of a score, independent of its value."""
    title = f", {score['title']}" if score["title"] else ""
    better = f" ({score['direction']} is better)." if score["direction"] else ""
    question = score["question"]
    question += "" if better or question.endswith("?") else "."
    high = f" {score['high'][0].upper()}{score['high'][1:]}." if score["high"] else ""
    size = score["depends_on_size"]
    number = f" Its signature has the number of messages: {size}." if size else ""
    return f"{score['name']}{title}: {question}{better}{high}{number}"


def _with_option(details: Mapping[str, Any]) -> str:
    """The name of a part, with its first numerical option."""
    for option in details.get("options", ()):
        if option["values"].startswith(("integer", "number")) and option["default"][0].isdigit():
            return f"{details['name']},{option['name']}={option['default']}"
    return str(details["name"])
