import json
import subprocess
import sys

import pytest

from ecsuite.commands.new import FOLDER
from ecsuite.formats import read_corpus
from ecsuite.parts import own_code
from ecsuite.testing import games
from quick_checks import TRAIN

KINDS = sorted(entry.name.removesuffix(".txt") for entry in FOLDER.iterdir())


@pytest.fixture(autouse=True)
def nothing_is_trusted(monkeypatch):
    monkeypatch.setattr(own_code, "_trusted", set())


@pytest.mark.parametrize(("kind", "left_out"), [
    ("metric", ()), *((kind, TRAIN) for kind in ("task", "distance", "reward")),
    *(pytest.param(kind, (), marks=pytest.mark.slow) for kind in KINDS if kind != "metric"),
])  # fmt: skip
def test_a_new_file_passes_its_checks(ecsuite, succeeded, monkeypatch, kind, left_out):
    quick = [check for check in games.ALL if check.__doc__.rstrip(".") not in left_out]
    monkeypatch.setattr(games, "ALL", quick)
    lines = succeeded("new", kind, "my_own.py").splitlines()
    part = "./my_own.py:my_own" if kind in ("metric", "grammar", "distance") else "./my_own.py:MyOwn"
    assert lines[1] == f"try it: ecsuite check {part}" and len(lines) == 3
    code, out, _ = ecsuite("check", part, "--json")
    found = json.loads(out)
    assert found["kind"] == kind and code == 0 and all(check["holds"] for check in found["checks"]), found


QUICK = ("distance", "reward", "frequencies", "learner")
SMALL = [f"--set={each}" for each in ("training.num_examples=64", "training.batch_size=16", "training.num_epochs=1")]


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in KINDS]
)
def test_a_new_file_is_used_as_the_command_says(succeeded, tmp_path, kind):
    use = succeeded("new", kind, "my_own.py").splitlines()[2].removeprefix("use it: ")
    commands = use.replace("runs/disc_small", "run").replace("disc_small", "disc_tiny").split(" && ")
    settings = [*SMALL, "--set=evaluation.corpus_size=8", "--quiet"]
    if commands[0].startswith("ecsuite score run "):
        succeeded("train-game", "disc_tiny", *settings, "--out", "run")
    for command in commands:
        words = command.replace("runs/my_own", "language").split()[1:]
        if words[0] == "train-game":
            words += [*settings, "--out", "used"]
            words += [] if words[1] == "naming" else ["--set", "evaluation.num_valid=16"]
        succeeded(*words, *(["--out", "language"] if words[0] == "grammar" else []))
        if words[0] == "train-game":
            assert (tmp_path / "used" / "corpus.jsonl").exists()


@pytest.mark.slow
def test_the_test_beside_it_is_run_by_pytest(ecsuite, tmp_path):
    assert ecsuite("new", "metric", "mine.py")[0] == 0
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "test_mine.py"], capture_output=True, text=True)
    assert done.returncode == 0 and "9 passed" in done.stdout


def test_a_fault_is_told_and_the_exit_code_is_1(ecsuite, tmp_path):
    (tmp_path / "own.py").write_text("def nothing(corpus):\n    return 1 / 0\n")
    code, out, _ = ecsuite("check", "./own.py:nothing")
    assert code == 1
    assert "own.py:2: ZeroDivisionError" in out and "as above" in out
    assert out.splitlines()[-1] == "./own.py:nothing: 1 of 9 checks of a metric hold"


@pytest.mark.slow
def test_a_grammar_may_be_a_class_with_options(ecsuite, succeeded, tmp_path):
    (tmp_path / "own.py").write_text(
        "from dataclasses import dataclass\nfrom ecsuite.parts.config import Count\n"
        "class Same:\n    @dataclass(frozen=True, kw_only=True)\n    class Options:\n        symbol: Count = 1\n"
        "    def __init__(self, options): self.symbol = options.symbol\n"
        "    def __call__(self, meanings): return [[self.symbol + int(value) for value in row] for row in meanings]\n"
    )
    line = ("grammar", "./own.py:Same,symbol=3", "--num-attributes", "2", "--num-values", "2", "--json")
    out = succeeded(*line)
    found = json.loads(out)
    assert found["grammar"] == "Same,symbol=3" and "|symbol:3|seed:0|code:" in found["signature"]
    assert read_corpus(tmp_path / "runs" / "Same,symbol=3").messages[3].tolist() == [4, 4]
    assert json.loads(ecsuite("check", "./own.py:Same,symbol=2", "--json")[1])["kind"] == "grammar"
    assert ecsuite("grammar", "./own.py:Same,size=3")[0] == 2


def test_commands_that_meet_foreign_code_have_the_option(ecsuite, succeeded, tmp_path, monkeypatch):
    assert ecsuite("new", "loss", "own.py")[0] == 0
    line = ["train-game", "disc_tiny", "--loss", "./own.py:Own", "--out", "run", "--set=training.num_epochs=1"]
    assert ecsuite(*line, "--set", "training.num_examples=64")[0] == 0
    (tmp_path / "study.yaml").write_text("base: run/config.yaml\nvary: {channel.vocab_size: [5]}\nseeds: 1\n")
    for command in (
        "train-game run/config.yaml --out again", "show run/config.yaml --rounds 1", "config run/config.yaml",
        "people play run", "people play run/config.yaml", "sweep study.yaml", "evaluate run", "audit run",
        "list games run/config.yaml", "list run/config.yaml", "methods run", "report run --out a.html",
    ):  # fmt: skip
        monkeypatch.setattr(own_code, "_trusted", set())
        code, _, err = ecsuite(*command.split())
        told = "add --trust-code if you trust it" in err
        if told:
            _, words, _ = ecsuite(*command.split()[: 2 if command.startswith("people") else 1], "--help-all")
            assert "--trust-code" in words, command
        else:
            assert "--trust-code" not in err or "ecsuite config FILE --trust-code" in err, command
        assert code == 0 or err.count("\n") == 1, (command, err)
    assert ecsuite("show", "run/config.yaml", "--rounds", "1", "--trust-code")[0] == 0
    monkeypatch.setattr(own_code, "_trusted", set())
    out = succeeded("config", "run/config.yaml", "--trust-code")
    assert "./own.py:Own" in out
    (tmp_path / "mine.yaml").write_text(out)
    monkeypatch.setattr(own_code, "_trusted", set())
    assert ecsuite("show", "mine.yaml", "--rounds", "1")[0] == 0


@pytest.mark.slow
def test_a_run_with_parts_is_repeated_with_trust_alone(ecsuite, refused, tmp_path, monkeypatch):
    assert ecsuite("new", "loss", "own.py")[0] == 0
    assert ecsuite("train-game", "disc_tiny", "--loss", "./own.py:Own", "--out", "run", *SMALL)[0] == 0
    monkeypatch.setattr(own_code, "_trusted", set())
    assert "add --trust-code" in refused("train-game", "run/config.yaml", "--out", "again")
    assert not (tmp_path / "again").exists()
    code, _, err = ecsuite("train-game", "run/config.yaml", "--out", "again", "--trust-code")
    assert code == 0 and "code: ./own.py, unchanged since the run" in err
    assert (tmp_path / "again" / "corpus.jsonl").read_bytes() == (tmp_path / "run" / "corpus.jsonl").read_bytes()
