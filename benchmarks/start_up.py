"""CPU time of commands, compared with the import of typer and rich.

    python benchmarks/start_up.py
    python benchmarks/start_up.py --scores --repeats 5 --beside OTHER      # OTHER/ecsuite is another version

Each measurement runs in a separate process; the rows alternate, so that changes in the speed of the machine affect all.
With `--scores`, the rows are the scores of 256 and of 10 000 messages (all default metrics, in several processes and in
one), and a run of `disc_tiny` with one step, its evaluation and its corpus. With `--beside` another version alternates;
its rows are called `other`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from metrics import write
from rows import add_json_option, collect, other_version, publish, timed

IMPORTS = {"python alone": "pass", "import typer, rich": "import typer, rich", "import numpy": "import numpy"}
LINES = ("--help", "--version", "list", "list games", "list grammars", "list metrics", "score --help")
COMPLETED = ("ecsuite sco", "ecsuite score --met", "ecsuite score runs --metrics ", "ecsuite grammar ")
"""Command lines for which the shell requests completions."""
SIZES = (256, 10_000)
"""Messages of the corpora that are scored."""
ONE_STEP = ("training.num_examples=128", "training.num_epochs=1")
"""Settings of `disc_tiny` with one step."""


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


def scores(folder: Path) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Name, arguments and environment of commands that score, or train, in a new folder."""
    for size in SIZES:
        write(folder / str(size), size)
        for threads in ("2", "1"):
            line = ["-m", "ecsuite.cli", "score", str(folder / str(size) / "corpus.jsonl")]
            yield f"score of {size}, processes: {threads}", line, {"OMP_NUM_THREADS": threads}
    settings = [word for each in ONE_STEP for word in ("--set", each)]
    line = ["-m", "ecsuite.cli", "train-game", "disc_tiny", *settings, "--out"]
    yield "train-game disc_tiny, one step", line, {}


def figures(given: argparse.Namespace, folder: Path) -> Iterator[tuple[str, str, float]]:
    """CPU milliseconds of each row, and wall milliseconds of scores."""
    packages = {"": Path(__file__).resolve().parents[2]}
    if given.beside:
        packages["other "] = other_version(given.beside)
    rows = list(scores(folder) if given.scores else commands())
    for _ in range(given.repeats):
        for name, arguments, asked in rows:
            for which, package in packages.items():
                environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(package)} | asked
                run = [sys.executable, *arguments]
                if run[-1] == "--out":
                    run.append(tempfile.mkdtemp(dir=folder))
                wall, cpu, _ = timed(
                    lambda run=run, env=environment: subprocess.run(
                        run, env=env, capture_output=True, check=True
                    )
                )
                yield f"{which}{name}", "ms", 1000 * cpu
                if given.scores:
                    yield f"{which}{name}, wall", "ms", 1000 * wall


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=10, help="measurements of each")
    parser.add_argument("--scores", action="store_true", help="measure commands that score and train instead")
    parser.add_argument("--beside", type=Path, help="folder of another version of the package `ecsuite`")
    add_json_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        publish(collect(figures(given, Path(folder))), as_json=given.json)


if __name__ == "__main__":
    main()
