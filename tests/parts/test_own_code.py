"""Names of parts in files: what they are, what is imported, and what is told of those that can't be."""

import re
import sys
from pathlib import Path

import pytest
from torch import nn

from ecsuite.agents.registry import SENDERS
from ecsuite.games.config.registry import CHANNELS
from ecsuite.jobs.signals import ending_at_once, exit_at_sigterm, stop_signals
from ecsuite.parts import own_code
from ecsuite.parts.registry import KIND
from ecsuite.runtime.errors import ConfigError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder, where nothing is trusted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(own_code, "_trusted", set())
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "is_foreign"),
    [
        ("./noisy.py:Noisy", True),
        ("noisy.py:Noisy,flip=0.1", True),
        ("my.module:Noisy", True),
        ("husendz:dgsend", False),
        ("hier:gru,stop=first", False),
        ("gumbel", False),
        ("./noisy.py", False),
        ("./noisy.py:", False),
        ("./noisy.py:0.5", False),
        ("noisy:Noisy", False),
    ],
)
def test_names(kind, is_foreign):
    assert own_code.is_foreign(kind) == is_foreign


def test_only_what_was_named_is_imported(folder):
    (folder / "own").mkdir()
    for name in ("own.py", "own/__init__.py", "own/mine.py"):
        (folder / name).write_text("raise SystemExit\n")
    for kind in ("./own.py:Mine", "own/mine.py:Mine", "own.mine:Mine"):
        with pytest.raises(own_code.UntrustedError, match="code from a file, which is not run unasked"):
            SENDERS.load(kind)


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        (None, "./own.py:Mine", "./own.py: can't be read: No such file or directory"),
        (None, "own.mine:Mine", "own.mine: no such module, neither installed nor in this folder"),
        ("def x(:\n", "./own.py:Mine", "./own.py:1: invalid syntax"),
        ("import os\n1 / 0\n", "./own.py:Mine", "./own.py:2: ZeroDivisionError: division by zero"),
        ("class Other: pass\n", "./own.py:Mine", "./own.py: has no Mine; it has Other"),
        ("", "./own.py:Mine", "./own.py: has no Mine; it has no class or function"),
        (
            "class Mine: pass\n",
            "./own.py:Mine",
            "./own.py:1: Mine: for a sender, expected a class that derives from ecsuite.agents.senders.Sender",
        ),
        (
            "from ecsuite.agents.senders import Sender\n"
            "class Mine(Sender):\n    forward = None\n    class Options: pass\n",
            "./own.py:Mine",
            "./own.py:2: Mine: expected Options that derive from ecsuite.agents.options.AgentOptions",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(folder, code, kind, message):
    if code is not None:
        (folder / "own.py").write_text(code)
    own_code.trust([kind])
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}"):
        SENDERS.load(kind)


def test_a_part_without_options_has_those_of_its_kind(folder):
    (folder / "own.py").write_text(
        "from ecsuite.agents.senders import Sender\nclass Mine(Sender): forward = None\n"
    )
    own_code.trust(["./own.py:Mine"])
    made = SENDERS.load("./own.py:Mine")
    assert issubclass(made, nn.Module) and made.Options().perception.kind == "identity"


def test_another_content_is_another_part(folder):
    file = folder / "own.py"
    for value in (1, 2):
        file.write_text(
            f"from ecsuite.agents.senders import Sender\nclass Mine(Sender):\n    forward = None\n    value = {value}\n"
        )
        own_code.trust(["./own.py:Mine"])
        assert SENDERS.load("./own.py:Mine").value == value


def test_modules_of_the_current_folder_are_found(folder, monkeypatch):
    (folder / "mine_for_a_test").mkdir()
    (folder / "mine_for_a_test" / "parts.py").write_text(
        "from ecsuite.agents.senders import Sender\nclass Mine(Sender): forward = None\n"
    )
    own_code.trust(["mine_for_a_test.parts:Mine"])
    assert SENDERS.load("mine_for_a_test.parts:Mine").__name__ == "Mine"
    assert "" not in sys.path[:1]


def test_options_after_commas(folder):
    assert CHANNELS.section("./own.py:Mine,flip=0.5", "channel") == {KIND: "./own.py:Mine", "flip": 0.5}
    with pytest.raises(ConfigError, match="expected key=value after the comma"):
        CHANNELS.section("./own.py:Mine,flip", "channel")


ENDS = """import argparse
import sys

def plain(corpus):
    sys.exit()

def said(corpus):
    sys.exit("not today")

class OfALibrary:
    def __call__(self, corpus):
        argparse.ArgumentParser().parse_args(["--nope"])
"""


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("plain", "./own.py:5: SystemExit\n"),
        ("said", "./own.py:8: SystemExit: not today\n"),
        ("OfALibrary", "./own.py:12: SystemExit: 2\n"),
    ],
)
@pytest.mark.parametrize("before", ["", "topsim,"])
def test_a_part_that_ends_the_program_is_named(ecsuite, name, told, before):
    Path("own.py").write_text(ENDS)
    Path("corpus.jsonl").write_text("[0, 1]\n[1, 0]\n[1, 1]\n")
    code, out, err = ecsuite("score", "corpus.jsonl", "--metrics", f"{before}./own.py:{name}")
    assert (code, out, err.splitlines(keepends=True)[-1]) == (2, "", told)


def test_a_request_to_stop_while_a_part_runs_is_no_error_of_it(folder):
    (folder / "own.py").write_text(
        "import signal\ndef slow(corpus):\n    signal.raise_signal(signal.SIGTERM)\n    return 1.0\n"
    )
    own_code.trust(["./own.py:slow"])
    slow = own_code.named("./own.py:slow")
    with exit_at_sigterm(), pytest.raises(SystemExit) as raised:
        slow(None)
    assert raised.value.code == 75 and own_code.error_in_part(raised.value) is None
    with stop_signals(), ending_at_once(), pytest.raises(SystemExit) as raised:
        slow(None)
    assert raised.value.code == 75 and own_code.error_in_part(raised.value) is None
