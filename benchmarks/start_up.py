"""CPU time until a command has answered, beside what importing typer and rich takes.

    python benchmarks/start_up.py

Each measurement is a process of its own; the rows take turns, so that changes in the speed of the machine affect all.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator

from rows import add_json_option, collect, publish, timed

IMPORTS = {"python alone": "pass", "import typer, rich": "import typer, rich", "import numpy": "import numpy"}
LINES = ("--help", "--version", "list", "list games", "list grammars", "list metrics", "score --help")
COMPLETED = ("ecsuite sco", "ecsuite score --met", "ecsuite score runs --metrics ", "ecsuite grammar ")
"""What a user has typed when the shell asks for completions."""


def commands() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Name, command and further environment of each row."""
    for name, code in IMPORTS.items():
        yield name, ["-c", code], {}
    for line in LINES:
        yield f"ecsuite {line}", ["-m", "ecsuite.cli", *line.split()], {}
    for typed in COMPLETED:
        asked = {
            "_ECSUITE_COMPLETE": "complete_bash",
            "COMP_WORDS": typed,
            "COMP_CWORD": f"{typed.count(' ')}",
        }
        yield f"completing {typed!r}", ["-m", "ecsuite.cli"], asked


def figures(repeats: int) -> Iterator[tuple[str, str, float]]:
    """CPU milliseconds of each row."""
    for _ in range(repeats):
        for name, arguments, asked in commands():
            environment = os.environ | {"OMP_NUM_THREADS": "1"} | asked
            run = [sys.executable, *arguments]
            _, cpu, _ = timed(
                lambda run=run, env=environment: subprocess.run(run, env=env, capture_output=True)
            )
            yield name, "ms", 1000 * cpu


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10, help="measurements of each")
    add_json_option(parser)
    given = parser.parse_args()
    publish(collect(figures(given.repeats)), as_json=given.json)


if __name__ == "__main__":
    main()
