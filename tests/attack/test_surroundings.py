"""Odd surroundings: the same bytes as elsewhere, or one line that says what is missing.

What can be imitated in this process is tried here in the ordinary run; the rest in fresh processes, and with a real
read-only mount.
"""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from attack.events import Events

SETTINGS = ("num_examples=64", "batch_size=32", "num_epochs=2", "seed=4")
TRAIN = ["train-game", "disc_tiny", "--device", "cpu", *(f"--set=training.{each}" for each in SETTINGS)]
SCORE = ["--metrics", "topsim"]
ICY = "icy --model fc1l --grammar perm --num-attributes 2 --num-values 2 --seeds 1".split()


def contents(run):
    scores = json.loads((run / "scores.json").read_text("utf-8"))["scores"]
    files = [*run.glob("checkpoint-*"), run / "corpus.jsonl", run / "meanings.jsonl"]
    return {file.name: file.read_bytes() for file in files} | {"scores": scores}


@pytest.fixture
def whole(ecsuite, all_draws):
    """The folder `run` of a run that was trained and scored; and its contents."""
    assert ecsuite(*TRAIN, "--out", "run")[0] == 0
    assert ecsuite("score", "run", *SCORE)[0] == 0
    return contents(Path("run"))


def refused(code, err, reason):
    line = err.splitlines()[-1]
    return code == 2 and len(line) <= 300 and reason in line and "choose another" in line


@pytest.mark.parametrize("fault", ["read_only", pytest.param("denied", marks=pytest.mark.slow)])
def test_folders_that_may_not_be_changed(ecsuite, whole, monkeypatch, fault):
    reason = {"read_only": "read-only file system", "denied": "permission denied"}[fault]
    files = sorted(Path().rglob("*"))
    Events(".", 1, fault).install(monkeypatch.setattr)
    code, out, err = ecsuite("score", "run", "--metrics", "posdis", "--json")
    assert code == 0 and json.loads(out)["scores"][0]["name"] == "posdis"
    assert err == f"run: {reason}: the scores are not stored; add --out FILE\n"
    for line in (
        [*TRAIN, "--out", "other"],
        [*TRAIN, "--out", "run", "--epochs", "3", "--resume"],
        ["score", "run", *SCORE, "--out", "scores.json"],
        [*ICY, "--cache", "cache", "--workers", "1"],
    ):
        code, _, err = ecsuite(*line)
        assert refused(code, err, reason), err
    assert sorted(Path().rglob("*")) == files and contents(Path("run")) == whole


def test_the_same_bytes(ecsuite, whole, monkeypatch):
    folder = Path("a b ü\nline") / "r"

    def no_lock(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    now = count(time.time(), -86400)
    monkeypatch.setattr(fcntl, "flock", no_lock)
    monkeypatch.setattr(time, "time", lambda: next(now))
    code, _, err = ecsuite(*TRAIN, "--out", folder)
    assert code == 0 and "its file system has no locks (No locks available)" in err
    assert ecsuite("score", folder, *SCORE)[0] == 0
    assert contents(folder) == whole
    assert not [each for each in Path().rglob(".*") if each.name != ".scores.json.lock"]


def test_a_working_folder_that_was_removed(refused, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    err = refused("score", "run")
    assert err.startswith("the working folder was removed") and "cd" in err


IN_C = {"LC_ALL": "C", "PYTHONUTF8": None}
SURROUNDINGS = {
    "no_home": {"HOME": None},
    "home_that_is_missing": {"HOME": "/no/such/folder"},
    "locale_c": IN_C,
    "locale_c_as_ascii": {**IN_C, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "no_folder_for_temporary_files": {"TMPDIR": "/no/such/folder"},
    "umask_077": {}, "closed_streams": {}, "nobody_reads": {},
}  # fmt: skip
SHELL = {"umask_077": 'umask 077; "$@"', "closed_streams": '"$@" <&- >&- 2>&-', "nobody_reads": '"$@" | true'}


def start(line, *, shell='"$@"', variables=()):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **dict(variables)}
    return subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable, "-m", "ecsuite.cli", *map(str, line)],
        env={name: value for name, value in environment.items() if value is not None},
        capture_output=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_the_same_bytes_in_fresh_processes(whole, name):
    folder = Path("é") / "r"
    for line in ([*TRAIN, "--out", folder], ["score", folder, *SCORE], [*ICY, "--cache", "é/cache", "--workers", "2"]):
        done = start(line, shell=SHELL.get(name, '"$@"'), variables=SURROUNDINGS[name])
        assert done.returncode == 0 and b"Traceback" not in done.stderr, done.stderr.decode()
    assert contents(folder) == whole and len(list(Path("é/cache/results").iterdir())) >= 2
    if name == "umask_077":
        assert not [each for each in folder.parent.rglob("*") if each.stat().st_mode & 0o077]


@pytest.mark.slow
def test_a_name_that_is_no_text(ecsuite, whole):
    folder = Path(os.fsdecode(b"x\xff"))
    shutil.copytree("run", folder)
    for metric in ("topsim", "posdis"):
        assert ecsuite("score", folder, "--metrics", metric)[0] == 0
    assert "x\\\\xff/corpus.jsonl" in (folder / "scores.json").read_text()
    assert ecsuite("report", folder, "--out", "page.html")[0] == 0
    assert ecsuite("compare", "table", folder, "--json")[0] == 0


@pytest.mark.slow
def test_a_read_only_mount(whole):
    mount = 'mount --bind run run && mount -o remount,ro,bind run && exec "$@"'
    if subprocess.run(["unshare", "-m", "sh", "-c", "mount --bind run run"], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    shell = f"exec unshare -m sh -c '{mount}' sh \"$@\""
    done = start(["score", "run", "--metrics", "posdis"], shell=shell)
    assert done.returncode == 0 and b"run: read-only file system: the scores are not stored" in done.stderr
    for line in (["score", "run", *SCORE, "--out", "run/s.json"], [*ICY, "--cache", "run/cache", "--workers", "1"]):
        done = start(line, shell=shell)
        assert refused(done.returncode, done.stderr.decode(), "run"), done.stderr
    assert contents(Path("run")) == whole
