"""Reference pages, written from the source when the documentation is built.

They are commands, Python interface, settings, games and scores, in `docs/reference/`, which is not under version
control. `python docs/reference_pages.py` writes them without Sphinx.
"""

import dataclasses
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import typer.main

import ecsuite as ec
from ecsuite.cli import app
from ecsuite.commands.catalogue import COMMANDS
from ecsuite.commands.command_help import grouped
from ecsuite.commands.list import details_of
from ecsuite.commands.part_details import options_of
from ecsuite.eval.metrics import METRIC_OF, METRICS, traits_of
from ecsuite.eval.metrics.traits import QUESTIONS, Question, Traits
from ecsuite.eval.views.console import Findings
from ecsuite.eval.views.scorecard import Scorecard
from ecsuite.games.config.experiment import named_configs
from ecsuite.games.config.sections import DEFAULTS, PARTS, PLAIN, Experiment
from ecsuite.games.runs.run import Run
from ecsuite.parts.registry import Part, Registry, nested_registry, option_docs, option_types

COMMANDS_HEAD = """# Commands

Every command with all its options. `ecsuite COMMAND --help` has those that most need, `--help-all` has all of them, and
`ecsuite --install-completion` teaches them to your shell.
"""


def commands_page() -> str:
    """The text of docs/commands.md."""
    root: Any = typer.main.get_command(app)
    parts = [COMMANDS_HEAD]
    for group, names in groupby(COMMANDS, key=lambda name: COMMANDS[name].group):
        parts.append(f"## {group}\n")
        for name in names:
            command = root.get_command(None, name)
            usage = " ".join(["ecsuite", name, *command.usage_pieces()])
            examples = "\n".join(command.examples)
            parts.append(f"### `{name}`\n\n{command.help}\n\n```text\n{usage}\n```\n")
            parts += [option_table(group, rows) for group, rows in grouped(command.params).items()]
            parts.append(f"Examples:\n\n```text\n{examples}\n```\n")
    return "\n".join(parts)


def option_table(group: str, rows: list[tuple[str, str]]) -> str:
    """The options of a group, a row each."""
    lines = [f"| `{written}` | {text.replace('|', chr(92) + '|')} |" for written, text in rows]
    return "\n".join([f"| {group.lower()} | meaning |", "|---|---|", *lines]) + "\n"


GAMES_HEAD = """# Every game

Inputs, messages, tasks and rewards of every game, and a round of training if it can be printed as text.
`ecsuite list game NAME` prints these for one game or YAML file; `ecsuite show NAME` shows more rounds and draws images.
"""


def games_page() -> str:
    """The text of the page."""
    return "\n".join([GAMES_HEAD, *(game_text(name) for name in named_configs())])


def game_text(name: str) -> str:
    """A game with its facts and its round."""
    details = details_of("games", name)
    lines = [f"## `{name}`", "", f"{details['about']}.", ""]
    lines += [f"- **{what}**: {text}" for what, text in details["sections"].items()]
    if details["round"]:
        lines += ["", "```text", *details["round"], "```"]
    return "\n".join([*lines, ""])


SCORES_HEAD = """# Every score

Of each score: its name spelt out, which way is better, what is a high value, what it needs of a corpus,
and why the number of messages changes it (which is then in its signature). `ecsuite list metric NAME` says
the same with the metric's definition.
"""
ARROWS = {"higher": "↑", "lower": "↓", None: ""}


def scores_page() -> str:
    """The text of the page."""
    by_question: dict[Question, list[Traits]] = {}
    for name in METRIC_OF:
        by_question.setdefault(traits_of(name).question, []).append(traits_of(name))
    parts = [SCORES_HEAD]
    for question, heading in QUESTIONS.items():
        lines = ["| score | | what is a high value | needs | size |", "|---|---|---|---|---|"]
        lines += [score_row(traits) for traits in by_question[question]]
        parts.append("\n".join([f"## {heading}", "", *lines, ""]))
    lines = ["| metric | option | default | values | meaning |", "|---|---|---|---|---|"]
    for name in METRICS.parts:
        options = METRICS.load(name).traits[0].options
        for each in options_of(options) if options else ():
            lines.append(f"| `{name}` | `{each.name}` | `{each.default}` | {each.values} | {each.about} |")
    return "\n".join([*parts, "## Options", "", *lines, ""])


def score_row(traits: Traits) -> str:
    """A row about a score."""
    metric = METRIC_OF[traits.name]
    of = f" (of `{metric}`)" if metric not in (traits.name, "elcc") else ""
    title = f": {traits.title}" if traits.title else ""
    size = "" if traits.depends_on_size is None else traits.depends_on_size
    cells = [
        f"`{traits.name}`{of}{title}",
        ARROWS[traits.direction],
        traits.high or traits.about,
        ", ".join(traits.needs),
        size,
    ]
    return f"| {' | '.join(cells)} |"


INTERFACE_HEAD = """# The Python interface

Everything here is `ec.NAME` after `import ecsuite as ec`; a name is imported when it is used.
"""
FUNCTIONS = (
    "train",
    "load_run",
    "score",
    "compare",
    "icy",
    "sweep",
    "results",
    "report",
    "push",
    "pull",
    "list_parts",
    "read_corpus",
    "write_corpus",
)
TITLES = {"Args": "argument | means", "Raises": "error | when"}
"""Headings of tables by sections of docstrings."""
CLASSES = (Run, Scorecard, Findings, ec.Corpus)


def interface_page() -> str:
    """The text of docs/api.md."""
    parts = [INTERFACE_HEAD]
    others = [name for name in ec.__all__ if name.islower() and not name.startswith("_")]
    for name in dict.fromkeys([*FUNCTIONS, *others]):
        parts.append(section(f"ec.{name}", getattr(ec, name), depth=2))
    for made in CLASSES:
        name = f"ec.{made.__name__}" if made.__name__ in ec.__all__ else made.__name__
        parts.append(f"## `{name}`\n\n{inspect.getdoc(made)}\n")
        parts += [
            section(method, member, depth=3)
            for method, member in vars(made).items()
            if method not in made.__dataclass_fields__
            and not method.startswith("_")
            and (callable(member) or hasattr(member, "__func__"))
        ]
        described = [
            f"- `{method}`: {first_line(member)}"
            for method, member in vars(made).items()
            if isinstance(member, property) or hasattr(member, "attrname")
        ]
        if described:
            parts.append("\n".join(described) + "\n")
    return "\n".join(parts)


def section(name: str, member: object, *, depth: int) -> str:
    """A heading, the signature, the docstring's text, and its arguments and errors as a table."""
    function = getattr(member, "__func__", member)
    documented = parts_of(inspect.getdoc(function) or "")
    lines = [f"{'#' * depth} `{name}`", "", "```text", signature_of(name, function), "```", ""]
    lines += [documented.pop("")]
    for title, text in documented.items():
        entries = entries_of(text)
        if title not in TITLES or not entries:
            lines += ["", f"**{title}**: {' '.join(text.split())}"]
        else:
            rows = [f"| `{entry}` | {meaning.replace('|', chr(92) + '|')} |" for entry, meaning in entries]
            lines += ["", f"| {TITLES[title]} |", "|---|---|", *rows]
    return "\n".join([*lines, ""])


def signature_of(name: str, function: object) -> str:
    """The call with its defaults, without annotations, in lines of at most 80 characters."""
    shown = [
        argument.replace(annotation=argument.empty)
        for argument in inspect.signature(function).parameters.values()
        if argument.name not in ("self", "cls")
    ]
    text = f"{name}{inspect.Signature(shown)}"
    return "\n".join(textwrap.wrap(text, 80, subsequent_indent="    ", break_on_hyphens=False))


def parts_of(docstring: str) -> dict[str, str]:
    """The sections of a docstring in Google style by their titles; the text before them has none."""
    pieces = re.split(r"^(Args|Returns|Yields|Raises):$", docstring, flags=re.MULTILINE)
    text = re.sub(
        r"(?:^ {4}.*\n?)+", lambda block: fenced(block[0]), pieces[0].strip("\n"), flags=re.MULTILINE
    )
    return {"": text, **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


def fenced(block: str) -> str:
    """Indented code as a block that is shown."""
    return f"```text\n{textwrap.dedent(block).rstrip()}\n```\n"


def entries_of(text: str) -> list[tuple[str, str]]:
    """Arguments or errors of a section with their meanings; empty if it is not a list of them."""
    found = re.findall(r"^ {4}(\*{0,2}[\w.]+): (.*(?:\n(?: {5,}.*|(?=\n)))*)", text, flags=re.MULTILINE)
    return [(name, " ".join(meaning.split())) for name, meaning in found]


def first_line(member: object) -> str:
    """The first line of a property's docstring."""
    return (inspect.getdoc(getattr(member, "fget", None) or member.func) or "").split("\n")[0]


SETTINGS_HEAD = """# Every setting of a game

Each key stands in the YAML of a game, after `--set` (`--set channel.temperature=2`), or after a comma behind the
name of its part (`--channel gumbel,temperature=2`). `ecsuite config GAME` prints the values of one game; a shipped
game may have other values than these defaults.
"""
WORDS = {int: "integer", float: "number", str: "text", bool: "true or false"}
FAR = 2**53
"""Bounds beyond this are bounds of the number's type, and are not printed."""


def settings_page() -> str:
    """The text of the page."""
    docs = option_docs(Experiment)
    parts = [SETTINGS_HEAD]
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
        parts.append(f"## `{section}`\n\n{docs[section]}\n\n{settings_table(options)}")
    return "\n".join(parts)


def kind_text(registry: Registry, kind: str) -> str:
    """A heading, a line about the part, and the table of its options."""
    about = registry.lines()[kind]
    return f"### `{kind}`\n\n{about[0].upper()}{about[1:]}.\n\n{settings_table(registry.load(kind).Options)}"


def settings_table(options: type) -> str:
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
    """Describe the values of an option."""
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


PAGES: Mapping[str, Callable[[], str]] = {
    "commands": commands_page,
    "api": interface_page,
    "settings": settings_page,
    "games": games_page,
    "scores": scores_page,
}


def write_pages(folder: Path) -> None:
    """Write all pages into a folder, which is made if it is not there."""
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (folder / f"{name}.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(__file__).parent / "reference")
