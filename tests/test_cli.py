import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from ecsuite import __version__
from ecsuite.cli import app
from ecsuite.corpus import Corpus
from ecsuite.formats import write_corpus

LIGHT = [
    "list", "list games", "list metrics", "list grammars", "list baselines", "score c.jsonl",
    "score c.jsonl --json --metrics cbm,topsim", "show run", "convert c.jsonl c.csv --to csv", "compare c.jsonl run",
    "cite cbm", "score run --metrics conflict_count", "score nowhere", "train-game nowhere", "config nowhere",
    "show nowhere", "compare table nowhere", "compare nowhere run", "convert nowhere d.csv --to csv",
    "grammar nowhere", "translate nowhere",
]  # fmt: skip


@pytest.mark.slow
def test_what_trains_nothing_imports_nothing_heavy(tmp_path):
    script = """
import contextlib, io, sys
from ecsuite.cli import main
for line in LIGHT:
    sys.argv = ["ecsuite", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert code == (2 if "nowhere" in line else 0), (line, code)
    heavy = {"torch", "scipy.stats", "tokenizers", "transformers", "sklearn"}
    heavy |= {"numpy"} if line.startswith("list") else set()
    assert not heavy & set(sys.modules), (line, heavy)
"""
    (tmp_path / "c.jsonl").write_text("[1, 2]\n[3]\n[1]\n")
    corpus = Corpus([[1, 2], [3], [1, 1]], meanings=[[0, 1], [1, 1], [0, 0]])
    write_corpus(corpus, tmp_path / "run")
    done = subprocess.run(
        [sys.executable, "-c", script.replace("LIGHT", repr(LIGHT))],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


LISTING = json.loads((Path(__file__).parent / "contracts" / "command_options.json").read_text())
OPTIONS = {command: set(options.split()) for command, options in LISTING.items()}
"""Scripts rely on these: adding one is fine, renaming or removing one breaks somebody's work."""


def the_commands():
    group = typer.main.get_command(app)
    return {name: group.get_command(None, name) for name in group.list_commands(None)}


def test_commands_and_options_are_the_known_ones():
    found = {
        name: {option for parameter in command.params for option in parameter.opts} - {"--help-all", "--max-memory"}
        | {"--help"}
        for name, command in the_commands().items()
    }
    assert found == OPTIONS


def test_the_version_and_short_help(ecsuite, succeeded):
    assert ecsuite("--version") == (0, f"ecsuite {__version__}\n", "")
    for arguments in (["-h"], ["score", "-h"]):
        assert "Usage: " in succeeded(*arguments)


def test_details_of_metrics_have_no_names_of_code(ecsuite):
    for name in ("topsim", "elcc", "cbm", "efficiency", "rsa", "cross_play", "tre7"):
        out = " ".join(ecsuite("list", "metric", name)[1].split())
        assert not re.search(r"`(resampling|contingency|estimates|eval|exchange|spaces)\.", out), name
        assert "entropies Its" not in out
