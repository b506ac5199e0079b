"""The page of the Python interface, made from the docstrings: `python tests/api_page.py` writes docs/api.md."""

import inspect
import re
import textwrap
from pathlib import Path

import ecsuite as ec
from ecsuite.eval.views.console import Findings
from ecsuite.eval.views.scorecard import Scorecard
from ecsuite.games.runs.run import Run

FILE = Path(__file__).parents[1] / "docs" / "api.md"
HEAD = """# The Python interface

Everything here is `ec.NAME` after `import ecsuite as ec`; a name is imported when it is used. The page is made from the
docstrings by `python tests/api_page.py`.
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


def page() -> str:
    """The text of docs/api.md."""
    parts = [HEAD]
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
    """What a section says of each argument or error; what is no list of them has none."""
    found = re.findall(r"^ {4}(\*{0,2}[\w.]+): (.*(?:\n(?: {5,}.*|(?=\n)))*)", text, flags=re.MULTILINE)
    return [(name, " ".join(meaning.split())) for name, meaning in found]


def first_line(member: object) -> str:
    """The first line of a property's docstring."""
    return (inspect.getdoc(getattr(member, "fget", None) or member.func) or "").split("\n")[0]


if __name__ == "__main__":
    FILE.write_text(page())
