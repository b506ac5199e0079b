"""`ecsuite new` and `ecsuite check`, and parts of one's own in `train-game` and `score`."""

import json
import subprocess
import sys

import pytest

from ecsuite import foreign
from ecsuite.commands.new import FOLDER

KINDS = sorted(entry.name.removesuffix(".txt") for entry in FOLDER.iterdir())


@pytest.fixture(autouse=True)
def nothing_is_trusted(monkeypatch):
    monkeypatch.setattr(foreign, "_trusted", set())


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if kind in ("metric", "task", "grammar") else pytest.mark.slow)
        for kind in KINDS
    ],
)
def test_a_new_file_passes_its_checks(ecsuite, tmp_path, kind):
    code, out, _ = ecsuite("new", kind, "my_own.py")
    assert code == 0
    part = "./my_own.py:my_own" if kind in ("metric", "grammar") else "./my_own.py:MyOwn"
    assert out.splitlines()[1:] == [f"try it: ecsuite check {part}", out.splitlines()[2]]
    code, out, _ = ecsuite("check", part, "--json")
    found = json.loads(out)
    assert found["kind"] == kind and code == 0, found
    assert all(check["holds"] for check in found["checks"])


def test_the_test_beside_it_is_run_by_pytest(ecsuite, tmp_path):
    assert ecsuite("new", "metric", "mine.py")[0] == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_mine.py"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "7 passed" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "chanel", "a.py"], "unknown kind 'chanel'; did you mean 'channel'?"),
        (["new", "channel", "a.txt"], "a.txt: expected a name for a Python file, such as noisy.py"),
        (["new", "channel", "there.py"], "there.py is there already: choose another name"),
        (["check", "gumbel"], "gumbel: say what it is with --kind: world, task, channel"),
        (["check", "./gone.py:X"], "./gone.py: can't be read: No such file or directory"),
        (["check", "gumbel", "--kind", "chanel"], "unknown kind 'chanel'; did you mean 'channel'?"),
        (["score", "corpus.jsonl", "--metrics", "./gone.py:x"], "./gone.py: can't be read"),
    ],
)
def test_mistakes(ecsuite, tmp_path, arguments, message):
    (tmp_path / "there.py").touch()
    (tmp_path / "corpus.jsonl").write_text("[1, 2]\n")
    code, out, err = ecsuite(*arguments)
    assert (code, out) == (2, "") and err.startswith(message) and err.count("\n") == 1


def test_a_fault_is_told_and_the_exit_code_is_1(ecsuite, tmp_path):
    (tmp_path / "own.py").write_text("def nothing(corpus):\n    return 1 / 0\n")
    code, out, _ = ecsuite("check", "./own.py:nothing")
    assert code == 1
    assert "own.py:2: ZeroDivisionError" in out and "as above" in out
    assert out.splitlines()[-1] == "./own.py:nothing: 0 of 7 checks of a metric hold"


def test_a_metric_may_return_scores_and_take_options(ecsuite, tmp_path):
    (tmp_path / "own.py").write_text(
        "from ecsuite.eval.metrics.score import Score\n"
        "def both(corpus, options):\n"
        "    return [Score(name=name, value=options.seed, about='a', signature=name) for name in 'ab']\n"
    )
    (tmp_path / "corpus.jsonl").write_text("[1, 2]\n[3]\n")
    code, out, _ = ecsuite("score", "corpus.jsonl", "--metrics", "./own.py:both", "--json")
    assert code == 0 and [score["name"] for score in json.loads(out)["scores"]] == ["a", "b"]
    assert all("|code:" in score["signature"] for score in json.loads(out)["scores"])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no')", "own.py:5: ValueError: no"),
        ("return builder.step(meanings)", "own.py:5: RuntimeError: The size of tensor"),
    ],
)
def test_an_error_of_a_part_is_one_line(ecsuite, tmp_path, code, message):
    (tmp_path / "own.py").write_text(
        "from torch import nn\nclass Own(nn.Module):\n    def __init__(self, options, **sizes): super().__init__()\n"
        f"    def forward(self, meanings, builder):\n        {code}\n"
    )
    code, out, err = ecsuite("train-game", "disc_tiny", "--sender", "./own.py:Own")
    assert (code, out) == (2, "") and message in err and err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_run_with_parts_is_repeated_with_trust_alone(ecsuite, tmp_path, monkeypatch):
    quick = [
        part
        for setting in ("training.num_examples=64", "training.batch_size=32", "training.num_epochs=1")
        for part in ("--set", setting)
    ]
    assert ecsuite("new", "loss", "own.py")[0] == 0
    assert ecsuite("train-game", "disc_tiny", "--loss", "./own.py:Own", "--out", "run", *quick)[0] == 0
    monkeypatch.setattr(foreign, "_trusted", set())
    code, _, err = ecsuite("train-game", "run/config.yaml", "--out", "again")
    assert code == 2 and "add --trust-code" in err and not (tmp_path / "again").exists()
    code, _, err = ecsuite("train-game", "run/config.yaml", "--out", "again", "--trust-code")
    assert code == 0 and "code: ./own.py, unchanged since the run" in err
    assert (tmp_path / "again" / "corpus.jsonl").read_bytes() == (
        tmp_path / "run" / "corpus.jsonl"
    ).read_bytes()


def test_a_metric_of_a_file_is_scored_with_its_checksum(ecsuite, tmp_path):
    (tmp_path / "own.py").write_text(
        'def size(corpus):\n    """messages"""\n    return len(corpus.messages)\n'
    )
    (tmp_path / "corpus.jsonl").write_text("[1, 2]\n[3]\n")
    code, out, _ = ecsuite("score", "corpus.jsonl", "--metrics", "./own.py:size", "--json")
    (score,) = json.loads(out)["scores"]
    assert code == 0 and (score["name"], score["value"], score["about"]) == ("size", 2, "messages")
    assert score["signature"] == f"size|code:{foreign.checksum('own.py')[:12]}"
