"""kill -9 at any moment: what is there afterwards can be gone on with, to the same bytes."""

import multiprocessing
import random
import runpy
import signal
import time

import pytest

from ecsuite.formats import read_corpus
from ecsuite.games.runs.run_folder import RunFolder

CHILD = """
import os, signal
from pathlib import Path
from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.training.train import train

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def before(function, count):
    # Call the function as often as said, then die instead.
    def counted(*args, **kwargs):
        nonlocal count
        count -= 1
        return die() if count < 0 else function(*args, **kwargs)
    return counted

os.fsync = lambda descriptor: None  # what is killed is a process, not the machine
for name, count in deaths.items():
    setattr(os, name, before(getattr(os, name), count))
progress = lambda label, done, total: die() if done == death_step else None
quiet = {"device": "cpu", "scorer": LanguageMetrics, "note": lambda text: None}
train(load_experiment(config), Path(folder), resume=True, progress=progress, **quiet)
"""


@pytest.fixture(scope="module")
def server():
    """Starts children from a clean process that has the imports done."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ecsuite.games.training.train"])
    return context


@pytest.fixture
def start(server, tmp_path, small):
    """Start a training in a child that may be told to die."""
    script, config = tmp_path / "child.py", tmp_path / "small.yaml"
    script.write_text(CHILD)
    config.write_text(small().to_yaml())

    def start(folder, death_step=None, **deaths):
        told = {"config": str(config), "folder": str(folder), "death_step": death_step, "deaths": deaths}
        child = server.Process(target=runpy.run_path, args=(str(script), told))
        child.start()
        return child

    return start


def finish(child):
    child.join(60)
    return child.exitcode


def test_killed_after_steps_and_at_random_moments(start, tmp_path, contents, whole):
    folder, rng = tmp_path / "killed", random.Random(0)
    for death_step in (1, 7, 24):
        assert finish(start(folder, death_step)) == -signal.SIGKILL
    for _ in range(2):
        child = start(folder)
        time.sleep(rng.uniform(0.05, 0.5))
        child.kill()
        child.join()
        (folder / "metadata.json").unlink(missing_ok=True)
    assert finish(start(folder)) == 0
    assert contents(folder) == contents(whole) and len(contents(whole)["log.jsonl"]) == 6


@pytest.mark.sample(1)
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_killed_inside_each_write(start, tmp_path, contents, whole, call):
    """A run writes its config, then checkpoints, then the corpus: it dies in each of these writes in turn."""
    folder = tmp_path / "killed"
    for count in (0, 3, 2, 5):
        if finish(start(folder, **{call: count})) == 0:
            break
        for file in RunFolder(folder).checkpoints:
            assert file.read_bytes()[-8:] != b"\0" * 8
    assert finish(start(folder)) == 0
    assert contents(folder) == contents(whole)
    assert len(read_corpus(folder).messages) == 16


@pytest.mark.slow
def test_killed_with_a_best_state_and_patience(start, tmp_path, small, contents):
    """At a step, in the write of a best state, and in that of its checkpoint: the same end, by patience or not."""
    settings = ("training.keep_best=-length", "training.patience=3", "evaluation.metrics=topsim")
    (tmp_path / "small.yaml").write_text(small(*settings).to_yaml())
    assert finish(start(tmp_path / "whole")) == 0
    folder = tmp_path / "killed"
    for arguments in ({"death_step": 6}, {"replace": 1}, {"replace": 4}, {"fsync": 3}):
        finish(start(folder, **arguments))
    assert finish(start(folder)) == 0
    assert contents(folder) == contents(tmp_path / "whole")
