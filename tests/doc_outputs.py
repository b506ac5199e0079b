"""The outputs that pages show: `python tests/doc_outputs.py docs/start.md` runs a page and writes them.

Every `sh` block is run at full size. What it prints, but for lines of progress, replaces the `text` block below it,
where there is one.
"""

import os
import re
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from doc_pages import Block, blocks

PROGRESS = re.compile(r" *\d+%  ")


def outputs(page: Path) -> list[tuple[Block, str]]:
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder, programs = Path(name) / "page", Path(name) / "bin"
        folder.mkdir()
        programs.mkdir()
        program = programs / "ecsuite"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ecsuite.cli "$@"\n')
        program.chmod(0o755)
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "COLUMNS": "80"}
        for block, below in pairwise([*blocks(page), Block(line=0, language="", text="")]):
            if not block.is_run or block.language != "sh":
                continue
            done = subprocess.run(
                ["bash", "-euc", f"{block.setup}\n{block.text}"],
                cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=True,
            )  # fmt: skip
            if below.language == "text":
                lines = done.stdout.strip("\n").splitlines()
                found.append((below, "".join(f"{each.rstrip()}\n" for each in lines if not PROGRESS.match(each))))
    return found


def with_outputs(page: Path) -> str:
    lines = page.read_text().splitlines(keepends=True)
    for block, output in reversed(outputs(page)):
        start = block.line - 1  # of the first line in the block
        lines[start : start + block.text.count("\n")] = [output]
    return "".join(lines)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(with_outputs(Path(name)))
