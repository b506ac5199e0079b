import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import slurm_daemons
from slurm_daemons import corpora, scores

pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(900),
    pytest.mark.skipif(bool(slurm_daemons.why_not()), reason=slurm_daemons.why_not() or "there is one"),
]  # fmt: skip
SCORED = "base: disc_tiny\nscore: [topsim]\n"
STUDY = f"""{SCORED}seeds: 2
vary: {{channel.vocab_size: [5, 10, 20], channel.max_len: [2, 3]}}
set: {{training.num_epochs: 2, training.checkpoint_every: 8}}
"""
LONG = f"{SCORED}set: {{training.num_epochs: 80, training.checkpoint_every: 8}}\n"
WAITING = """
import os
import time
from dataclasses import dataclass

from ecsuite.games.channels.noise import MessageNoise


class Waiting(MessageNoise):
    @dataclass(frozen=True, kw_only=True, slots=True)
    class Options:
        pass

    def change(self, message, generator):
        time.sleep(float(os.environ.get("SECONDS_A_MESSAGE", "0")))
        return message
"""
"""Messages arrive as they were, late where the environment says so: a run takes its time, however fast the machine."""
SLOW = f"""{SCORED}set: {{channel.noise: "waiting.py:Waiting", training.num_examples: 1024, training.num_epochs: 6,
  training.checkpoint_every: 4}}
"""

SMALL = (
    "training.num_examples=512", "training.num_epochs=2", "evaluation.num_valid=64", "evaluation.corpus_size=150",
    "world.num_values=4", "task.num_targets=4", "task.num_distractors=4",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory):
    pytest.importorskip("submitit", reason="submitit is not installed: pip install -e '.[slurm]'")
    with slurm_daemons.Slurm(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture
def start(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "long.yaml").write_text(LONG)

    return lambda *arguments: slurm_daemons.program(*arguments, folder=tmp_path)


@pytest.fixture
def run(start):
    def run(*arguments):
        process = start(*arguments)
        out, err = process.communicate()
        assert process.returncode == 0 and "Traceback" not in err, err
        return out, " ".join(err.split())

    return run


def until(found, seconds=300):
    end = time.monotonic() + seconds
    while not (it := found()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return it


def slurm(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def running():
    return slurm("squeue", "--noheader", "--states=RUNNING", "--format=%i %N").split()


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    (folder / "study.yaml").write_text(STUDY)
    command = [sys.executable, *"-m ecsuite.cli sweep study.yaml --on here --out here --quiet".split()]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "here"


def test_a_sweep_has_the_same_bytes(run, here, tmp_path):
    run("sweep", "study.yaml", "--on", "slurm,time=10", "--out", "there")
    assert len(corpora(here)) == 12 and corpora(here) == corpora(tmp_path / "there")
    assert scores(here) == scores(tmp_path / "there")
    assert not list(tmp_path.glob("there/jobs/groups/*.*"))


def test_a_killed_node_loses_nothing(cluster, start, here, tmp_path):
    process = start("sweep", "study.yaml", "--on", "slurm,time=10", "--out", "there")
    until(lambda: len(list(tmp_path.glob("there/jobs/results/*.json"))) >= 3)
    _, node = until(running)[:2]
    cluster.kill_node(node)
    for number in tasks_of(node):
        os.kill(number, signal.SIGKILL)
    try:
        _, err = process.communicate()
    finally:
        cluster.start_node(node)
    assert process.returncode == 0, err
    assert len(corpora(here)) == 12 and corpora(here) == corpora(tmp_path / "there")


def processes():
    """Number, command line and environment of each process of this machine."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (folder / "cmdline").read_text(errors="replace").split("\0")
            found.append((int(folder.name), command, variables(folder.name)))
    return found


def variables(number):
    texts = Path(f"/proc/{number}/environ").read_text(errors="replace").split("\0")
    return dict(text.split("=", 1) for text in texts if "=" in text)


def tasks_of(*nodes, name=""):
    """The processes of tasks on nodes, with a text in their command line."""
    return [
        number for number, command,
        environment in processes() if environment.get("SLURMD_NODENAME") in nodes and name in " ".join(command)
    ]  # fmt: skip


def test_a_preempted_run_goes_on_from_its_checkpoint(start, run, tmp_path):
    run("sweep", "long.yaml", "--on", "here", "--out", "here")
    process = start("sweep", "long.yaml", "--on", "slurm,time=10,partition=low", "--out", "there")
    until(lambda: list(tmp_path.glob("there/runs/*/checkpoint*")))
    (task, _) = running()
    slurm("sbatch", "--partition=high", "--nodes=2", "--time=5", "--output=/dev/null", "--wrap=sleep 2")
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert "Restarts=1" in slurm("scontrol", "show", "job", "-o", task)
    assert corpora(tmp_path / "here") == corpora(tmp_path / "there")


def test_a_task_whose_time_ends_goes_on_from_its_checkpoint(start, run, tmp_path, monkeypatch):
    (tmp_path / "waiting.py").write_text(WAITING)
    (tmp_path / "slow.yaml").write_text(SLOW)
    run("sweep", "slow.yaml", "--on", "here", "--out", "here")
    monkeypatch.setenv("SECONDS_A_MESSAGE", "1")
    process = start("sweep", "slow.yaml", "--on", "slurm,time=1", "--out", "there")
    (task, _) = until(running)  # it is stopped after half a minute
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert re.search(r"Restarts=[1-9]", slurm("scontrol", "show", "job", "-o", task))
    assert corpora(tmp_path / "here") == corpora(tmp_path / "there")


def test_a_killed_command_computes_nothing_twice(start, run, tmp_path):
    first = start("sweep", "study.yaml", "--on", "slurm,time=10", "--out", "there")
    until(lambda: len(list(tmp_path.glob("there/jobs/results/*.json"))) >= 3)
    first.kill()
    first.communicate()
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("there/jobs/results/*.json")}
    run("sweep", "study.yaml", "--on", "slurm,time=10", "--out", "there")
    assert {file: file.stat().st_mtime_ns for file in kept} == kept
    assert len(corpora(tmp_path / "there")) == 12


def test_ctrl_c_leaves_the_tasks_and_a_second_one_cancels_what_waits(start, tmp_path):
    process = start("sweep", "long.yaml", "--on", "slurm,time=10", "--out", "there")
    until(lambda: list(tmp_path.glob("there/jobs/groups/*.events")))
    process.send_signal(signal.SIGINT)
    said = until(lambda: process.stderr.readline())
    while "Ctrl-C again" not in " ".join(said.split()):
        said += process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    tasks = re.search(r"to end the others: scancel ([0-9_ ]+)", " ".join(err.split()))
    assert process.returncode == 130 and tasks, err
    slurm("scancel", *tasks[1].split())
    until(lambda: not slurm("squeue", "--noheader"))


def test_a_killed_and_a_stopped_task_are_tried_once_more(start, here, tmp_path):
    process = start("sweep", "study.yaml", "--on", "slurm,time=10,silent=1", "--out", "there")
    for how in (signal.SIGKILL, signal.SIGSTOP):
        before = len(list(tmp_path.glob("there/jobs/results/*.json")))
        until(lambda before=before: len(list(tmp_path.glob("there/jobs/results/*.json"))) >= before + 2)
        os.kill(until(lambda: tasks_of("n1", "n2", name="submitit.core._submit"))[0], how)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert corpora(here) == corpora(tmp_path / "there") and "tried once more" in err


def test_a_wrong_partition_is_one_line(start, tmp_path):
    process = start("sweep", "study.yaml", "--on", "slurm,partition=nowhere", "--out", "there")
    _, err = process.communicate()
    assert process.returncode == 2 and "sbatch refused the jobs" in err and "invalid partition" in err
    assert len(err.splitlines()) == 2 and not list(tmp_path.glob("there/jobs/groups/*.*"))


@pytest.mark.parametrize("name", ["baseline", "icy", "cbm", "translate", "xtreme"])
def test_other_commands(run, name, tmp_path, write_data):
    commands = {
        "baseline": ["score", "reference", "paren_synth,preset=nano"],
        "icy": ["icy", "--model", "fc1l", "--grammar", "perm", "--seeds", "1"],
        "cbm": ["cbm", "small.yaml", *(f"--set={setting}" for setting in SMALL)],
        "translate": ["translate", "corpus.jsonl", "--pairs", "pairs.tsv", "--preset", "nano"],
        "xtreme": ["xtreme", "corpus.jsonl", "--tasks", "udpos", "--data", "data", "--preset", "nano"],
    }
    write_data("udpos")
    (tmp_path / "corpus.jsonl").write_text("".join(f"[{row % 5}, {row % 3}, 7]\n" for row in range(40)))
    pairs = (f"a b {row % 8} {row // 8}\t{row // 8} {row % 8} b a\n" for row in range(60))
    (tmp_path / "pairs.tsv").write_text("".join(pairs))
    (tmp_path / "small.yaml").write_text("rows:\n- {name: thing_gs, base: thing_gs}\nname: small\nseeds: [1]\n")
    run(*commands[name], "--on", "slurm,time=10")
