"""The page of the Python interface, made from the docstrings: `python tests/api_page.py` writes docs/api.md."""

import inspect
from pathlib import Path

import ecsuite as ec
from ecsuite.eval.reports.findings import Findings
from ecsuite.eval.reports.scorecard import Scorecard
from ecsuite.games.runs import Run

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
CLASSES = (Run, Scorecard, Findings, ec.Corpus)


def page() -> str:
    """The text of docs/api.md."""
    parts = [HEAD]
    for name in FUNCTIONS:
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
    """A heading with the signature, and the docstring as it is."""
    function = getattr(member, "__func__", member)
    arguments = ", ".join(
        argument.name if argument.default is argument.empty else f"{argument.name}={argument.default!r}"
        for argument in inspect.signature(function).parameters.values()
        if argument.name not in ("self", "cls")
    )
    return f"{'#' * depth} `{name}({arguments})`\n\n```text\n{inspect.getdoc(function)}\n```\n"


def first_line(member: object) -> str:
    """The first line of a property's docstring."""
    return (inspect.getdoc(getattr(member, "fget", None) or member.func) or "").split("\n")[0]


if __name__ == "__main__":
    FILE.write_text(page())
