"""The one door from the golden figures into the package: its command line, called in this process.

Modules, functions and names inside the package may be moved and renamed; what is compared must not depend on them.
So nothing else in this folder imports the package, and what a command is asked and gives are files and JSON.
"""

import atexit
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Read when torch is imported, and by the programs that a command starts. Sums depend on the number of threads.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["ECSUITE_DATA"] = os.path.join(tempfile.mkdtemp(), "data")
atexit.register(shutil.rmtree, os.path.dirname(os.environ["ECSUITE_DATA"]), True)


def package_file() -> Path:
    import ecsuite

    return Path(ecsuite.__file__).resolve()


def run(*arguments: object, folder: Path) -> str:
    """What a command prints on standard output.

    Args:
        *arguments: As typed after `ecsuite`.
        folder: Where the command is run; relative names and its own folder `runs` mean this place.

    Raises:
        RuntimeError: If its exit code is not 0, with what it said.
    """
    import torch

    from ecsuite.cli import main

    torch.set_num_threads(1)
    out, error, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(folder),
        _arguments("ecsuite", *map(str, arguments)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    if code:
        raise RuntimeError(f"ecsuite {' '.join(map(str, arguments))}: exit {code}: {error.getvalue()}")
    return out.getvalue()


def as_json(*arguments: object, folder: Path) -> Any:
    return json.loads(run(*arguments, "--json", folder=folder))


@contextlib.contextmanager
def _arguments(*arguments: str) -> Iterator[None]:
    before, sys.argv = sys.argv, list(arguments)
    try:
        yield
    finally:
        sys.argv = before
