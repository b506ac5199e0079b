"""`ecsuite new` and `ecsuite check`, and parts of one's own in `train-game` and `score`."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from quick_checks import TRAIN

import ecsuite
from ecsuite.commands.named import KINDS as listed_kinds
from ecsuite.commands.named import read_kind, singular
from ecsuite.commands.new import FOLDER
from ecsuite.formats import read_corpus
from ecsuite.parts import own_code
from ecsuite.parts.registry import Registry
from ecsuite.runtime.errors import LISTED
from ecsuite.testing import KINDS as checked_kinds
from ecsuite.testing import games

KINDS = sorted(entry.name.removesuffix(".txt") for entry in FOLDER.iterdir())


@pytest.fixture(autouse=True)
def nothing_is_trusted(monkeypatch):
    monkeypatch.setattr(own_code, "_trusted", set())


@pytest.mark.parametrize(
    ("kind", "left_out"),
    [
        *(("metric", ()), ("task", TRAIN)),
        *((kind, TRAIN) for kind in ("distance", "reward")),
        *(pytest.param(kind, (), marks=pytest.mark.slow) for kind in KINDS if kind != "metric"),
    ],
)
def test_a_new_file_passes_its_checks(ecsuite, monkeypatch, tmp_path, kind, left_out):
    quick = [check for check in games.ALL if check.__doc__.rstrip(".") not in left_out]
    monkeypatch.setattr(games, "ALL", quick)
    code, out, _ = ecsuite("new", kind, "my_own.py")
    assert code == 0
    part = "./my_own.py:my_own" if kind in ("metric", "grammar", "distance") else "./my_own.py:MyOwn"
    assert out.splitlines()[1:] == [f"try it: ecsuite check {part}", out.splitlines()[2]]
    code, out, _ = ecsuite("check", part, "--json")
    found = json.loads(out)
    assert found["kind"] == kind and code == 0, found
    assert all(check["holds"] for check in found["checks"])


QUICK = ("distance", "reward", "frequencies", "learner")
SMALL = (
    "training.num_examples=64", "training.batch_size=16", "training.num_epochs=1", "evaluation.corpus_size=8"
)  # fmt: skip


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in QUICK else pytest.mark.slow) for kind in KINDS]
)
def test_a_new_file_is_used_as_the_command_says(ecsuite, tmp_path, kind):
    code, out, _ = ecsuite("new", kind, "my_own.py")
    assert code == 0
    commands = out.splitlines()[2].removeprefix("use it: ").replace("runs/disc_small", "run")
    commands = commands.replace("disc_small", "disc_tiny").split(" && ")
    settings = [word for each in SMALL for word in ("--set", each)]
    if commands[0].startswith("ecsuite score run "):
        assert ecsuite("train-game", "disc_tiny", *settings, "--quiet", "--out", "run")[0] == 0
    for command in commands:
        words = command.replace("runs/my_own", "language").split()[1:]
        if words[0] == "train-game":
            words += [*settings, "--quiet", "--out", "used"]
            words += [] if words[1] == "naming" else ["--set", "evaluation.num_valid=16"]
        if words[0] == "grammar":
            words += ["--out", "language"]
        code, out, err = ecsuite(*words)
        assert code == 0, err
        if words[0] == "train-game":
            assert (tmp_path / "used" / "corpus.jsonl").exists()


NOT_OWN = {"cell", "baseline", "taught"}
"""Words of registries in which no user's part can stand: agents and commands name what they have."""


def registries():
    """Every registry of the package, by its module and its name there."""
    root = Path(ecsuite.__file__).parent
    folders = [each for each in root.iterdir() if each.is_dir() and each.name.isidentifier()]
    for file in (file for folder in folders if folder.name != "tests" for file in folder.rglob("*.py")):
        names = re.findall(r"^(\w+)(?:: .*)? = (?:Registry|Languages)\(", file.read_text(), re.MULTILINE)
        module = ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        for name in names:
            yield f"{module}:{name}", getattr(import_module(f"ecsuite.{module}"), name)


def test_list_new_and_check_have_every_registry():
    assert {each.__name__ for each in Registry.__subclasses__()} <= {"Languages"}  # `registries` finds these
    every = dict(registries())
    words = {registry.word for registry in every.values()}
    listed = {singular(kind): entry.registry or entry.functions for kind, entry in listed_kinds.items()}
    for word in words - {"taught"}:
        assert every[listed[word]].word == word
    assert list(listed_kinds) == sorted(listed_kinds)
    # Distances of messages are values of an option of a metric, and in no registry.
    assert len(words) > 20 and set(KINDS) == set(checked_kinds) == (words - NOT_OWN) | {"distance"}
    assert all("{name}" in listed_kinds[read_kind(kind)].use for kind in KINDS)
    assert set(LISTED) == {word for word in listed if " " not in word}


@pytest.mark.slow
def test_the_test_beside_it_is_run_by_pytest(ecsuite, tmp_path):
    assert ecsuite("new", "metric", "mine.py")[0] == 0
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_mine.py"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "9 passed" in done.stdout


def test_a_file_that_is_called_as_its_kind_does_not_hide_the_base_class(ecsuite, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for kind, line in (("sender", "class MySender(Sender):"), ("metric", "def my_metric(corpus):")):
        assert f"./{kind}.py:" in ecsuite("new", kind, f"{kind}.py")[1]
        assert line in (tmp_path / f"{kind}.py").read_text().splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["new", "chanel", "a.py"], "unknown kind 'chanel'; did you mean 'channel'?"),
        (["new", "channel", "a.txt"], "a.txt: expected a name for a Python file, such as noisy.py"),
        (["new", "channel", "there.py"], "there.py: exists already: choose another name"),
        (["check", "gumbel"], "gumbel: unknown kind of part, add --kind: play, world, environment, task"),
        (["check", "./there.py"], "./there.py: expected a part of this file, such as ./there.py:Noisy"),
        (
            ["check", "hammin", "--kind", "distance"],
            "topsim.message_distance: unknown distance 'hammin'; did you mean",
        ),
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
    assert out.splitlines()[-1] == "./own.py:nothing: 1 of 9 checks of a metric hold"


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


RATIO = """
from dataclasses import dataclass
from ecsuite.parts.config import Count
class Ratio:
    'Messages by a number.'
    @dataclass(frozen=True, kw_only=True)
    class Options:
        base: Count = 2
    def __init__(self, options): self.base = options.base
    def __call__(self, corpus): return len(corpus.messages) / self.base
def plain(corpus): return 1
def needy(corpus, *, base): return 1
"""


def test_a_metric_may_be_a_class_with_options(ecsuite, tmp_path):
    (tmp_path / "own.py").write_text(RATIO)
    (tmp_path / "corpus.jsonl").write_text("[1, 2]\n[3]\n")
    names = "topsim,./own.py:Ratio,base=4,./own.py:Ratio"
    code, out, err = ecsuite("score", "corpus.jsonl", "--metrics", names, "--json")
    assert code == 0, err
    _, four, two = json.loads(out)["scores"]
    assert (four["name"], four["value"], four["about"]) == ("Ratio,base=4", 0.5, "Messages by a number")
    assert (two["name"], two["value"]) == ("Ratio", 1.0)
    digest = own_code.checksum("./own.py")[:12]
    assert [score["signature"] for score in (four, two)] == [
        f"Ratio|base:{base}|code:{digest}" for base in (4, 2)
    ]
    code, out, _ = ecsuite("check", "./own.py:Ratio,base=3", "--json")
    assert json.loads(out)["kind"] == "metric" and code == 0


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("./own.py:Ratio,bass=2", "unknown option of ./own.py:Ratio 'bass'; did you mean 'base'?"),
        ("./own.py:Ratio,base=0", "./own.py:Ratio.base: expected int >= 1, got 0"),
        ("./own.py:plain,base=2", "./own.py:plain has no options: leave out base"),
        ("posdis,base=2", "posdis has no options: leave out base"),
        ("topsim,base=2", "unknown option of topsim 'base'; choices: meaning_distance"),
        ("base=2,topsim", "base=2,topsim: expected a name before the option base=2"),
        (
            "./own.py:needy",
            "./own.py:12: needy: for a metric, expected a function of corpus, options or fewer, or a callable "
            "class; missing a required ",  # "argument", since Python 3.12 "keyword-only argument"
        ),
        ("./own.py:RATIO", "./own.py: has no RATIO; it has Ratio, plain, needy"),
    ],
)
def test_options_of_a_metric_that_are_refused(ecsuite, tmp_path, names, message):
    (tmp_path / "own.py").write_text(RATIO)
    (tmp_path / "corpus.jsonl").write_text("[1, 2]\n[3]\n")
    code, out, err = ecsuite("score", "corpus.jsonl", "--metrics", names)
    assert (code, out) == (2, "") and err.startswith(message) and err.count("\n") == 1


@pytest.mark.slow
def test_a_grammar_may_be_a_class_with_options(ecsuite, tmp_path):
    (tmp_path / "own.py").write_text(
        "from dataclasses import dataclass\nfrom ecsuite.parts.config import Count\n"
        "class Same:\n    @dataclass(frozen=True, kw_only=True)\n    class Options:\n        symbol: Count = 1\n"
        "    def __init__(self, options): self.symbol = options.symbol\n"
        "    def __call__(self, meanings): return [[self.symbol + int(value) for value in row] for row in meanings]\n"
    )
    line = ("grammar", "./own.py:Same,symbol=3", "--num-attributes", "2", "--num-values", "2", "--json")
    code, out, err = ecsuite(*line)
    assert code == 0, err
    found = json.loads(out)
    assert found["grammar"] == "Same,symbol=3" and "|symbol:3|seed:0|code:" in found["signature"]
    assert read_corpus(tmp_path / "runs" / "Same,symbol=3").messages[3].tolist() == [4, 4]
    assert json.loads(ecsuite("check", "./own.py:Same,symbol=2", "--json")[1])["kind"] == "grammar"
    assert ecsuite("grammar", "./own.py:Same,size=3")[0] == 2


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise ValueError('no')", "own.py:5: ValueError: no"),
        ("return builder.step(meanings)", "own.py:5: RuntimeError: The size of tensor"),
    ],
)
def test_an_error_of_a_part_is_one_line(ecsuite, tmp_path, code, message):
    (tmp_path / "own.py").write_text(
        "from ecsuite.agents.senders import Sender\nclass Own(Sender):\n"
        "    def __init__(self, options, **sizes): super().__init__()\n"
        f"    def forward(self, meanings, builder):\n        {code}\n"
    )
    code, out, err = ecsuite("train-game", "disc_tiny", "--sender", "./own.py:Own")
    assert (code, out) == (2, "") and message in err and err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_commands_that_meet_foreign_code_have_the_option_or_name_one_that_has_it(
    ecsuite, tmp_path, monkeypatch
):
    assert ecsuite("new", "loss", "own.py")[0] == 0
    line = [
        "train-game",
        "disc_tiny",
        "--loss",
        "./own.py:Own",
        "--out",
        "run",
        "--set",
        "training.num_epochs=1",
    ]
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
    code, out, _ = ecsuite("config", "run/config.yaml", "--trust-code")
    assert code == 0 and "./own.py:Own" in out
    (tmp_path / "mine.yaml").write_text(out)
    monkeypatch.setattr(own_code, "_trusted", set())
    assert ecsuite("show", "mine.yaml", "--rounds", "1")[0] == 0


@pytest.mark.slow
def test_a_run_with_parts_is_repeated_with_trust_alone(ecsuite, tmp_path, monkeypatch):
    quick = [
        part
        for setting in ("training.num_examples=64", "training.batch_size=32", "training.num_epochs=1")
        for part in ("--set", setting)
    ]
    assert ecsuite("new", "loss", "own.py")[0] == 0
    assert ecsuite("train-game", "disc_tiny", "--loss", "./own.py:Own", "--out", "run", *quick)[0] == 0
    monkeypatch.setattr(own_code, "_trusted", set())
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
    assert score["signature"] == f"size|code:{own_code.checksum('own.py')[:12]}"
