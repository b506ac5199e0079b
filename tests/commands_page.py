"""The page of the commands with all their options, made from them: `python tests/commands_page.py` writes it."""

from itertools import groupby
from pathlib import Path
from typing import Any

import typer.main

from ecsuite.cli import app
from ecsuite.commands.catalogue import COMMANDS
from ecsuite.commands.command_help import grouped

FILE = Path(__file__).parents[1] / "docs" / "commands.md"
HEAD = """# Commands

Every command with all its options. `ecsuite COMMAND --help` has those that most need, `--help-all` has all of them, and
`ecsuite --install-completion` teaches them to your shell. The page is made from the source by
`python tests/commands_page.py`.
"""


def page() -> str:
    """The text of docs/commands.md."""
    root: Any = typer.main.get_command(app)
    parts = [HEAD]
    for group, names in groupby(COMMANDS, key=lambda name: COMMANDS[name].group):
        parts.append(f"## {group}\n")
        for name in names:
            command = root.get_command(None, name)
            usage = " ".join(["ecsuite", name, *command.usage_pieces()])
            examples = "\n".join(command.examples)
            parts.append(f"### `{name}`\n\n{command.help}\n\n```text\n{usage}\n```\n")
            parts += [table(group, rows) for group, rows in grouped(command.params).items()]
            parts.append(f"Examples:\n\n```text\n{examples}\n```\n")
    return "\n".join(parts)


def table(group: str, rows: list[tuple[str, str]]) -> str:
    """The options of a group, a row each."""
    lines = [f"| `{written}` | {text.replace('|', chr(92) + '|')} |" for written, text in rows]
    return "\n".join([f"| {group.lower()} | meaning |", "|---|---|", *lines]) + "\n"


if __name__ == "__main__":
    FILE.write_text(page())
