"""A row of the table, and how a published program is run."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Value = float | str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A defect and its effect."""

    program: str
    """The published program."""
    defect: str
    """The behaviour of the program."""
    measured: str
    """The data, and the figure that both ways compute."""
    theirs: Value
    """The figure as the program computes it; None if it ends in an error."""
    right: Value
    """The figure without the defect."""
    is_run: bool
    """Whether the program itself was run; else our reimplementation of its rule."""


def as_markdown(row: Row) -> str:
    """A line of the table."""
    cells = [row.program, row.defect, row.measured, _text(row.theirs), _text(row.right)]
    return f"| {' | '.join(cells)} | {'run' if row.is_run else 'rule'} |"


def _text(value: Value) -> str:
    return "error" if value is None else value if isinstance(value, str) else f"{value:.3f}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Programs:
    """Paths of published programs."""

    folder: Path | None = None
    """Folder with a checkout of each; None: none is run."""
    path: Path | None = None
    """Folder of packages that they import and this Python lacks."""

    def has(self, name: str) -> bool:
        """Whether there is a checkout."""
        return self.folder is not None and (self.folder / name).is_dir()

    def run(self, name: str, code: str, data: Any) -> Any:
        """Run Python code in a process that can import the program.

        Args:
            name: The folder of the checkout.
            code: It finds `data` and sets `result`, both JSON values; NaN is kept.
            data: What it reads.

        Raises:
            RuntimeError: With the last line of the error.
        """
        assert self.folder is not None
        whole = f"import json, sys\ndata = json.load(sys.stdin)\n{code}\nprint('\\n' + json.dumps(result))"
        folders = [self.folder / name, *([self.path] if self.path else [])]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", whole],
            input=json.dumps(data),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(str(folder.resolve()) for folder in folders)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip().rpartition("\n")[2])
        return json.loads(done.stdout.rstrip().rpartition("\n")[2])
