import itertools
import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from counting_jobs import LOG, allocate, misbehave, run_beside, square, write
from ecsuite.jobs import graph
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Location
from ecsuite.jobs.worker import signs_of_life
from ecsuite.runtime.errors import ConfigError, DamagedError


@pytest.fixture
def notes(tmp_path, monkeypatch):
    monkeypatch.setenv(LOG, str(tmp_path / "log.txt"))
    return []


@pytest.fixture
def runner(tmp_path, notes):
    return Runner(folder=tmp_path / "kept", num_workers=2, note=notes.append)


def logged(text):
    file = Path(os.environ[LOG])
    return file.read_text().count(text) if file.exists() else 0


def test_a_killed_job_is_tried_once_more_after_the_others(runner, notes, tmp_path):
    dies = Job(misbehave, how="die", mark=Location(path=tmp_path / "mark"))
    others = [Job(run_beside, number=number) for number in range(4)]
    results = runner.run([dies, *others])
    assert results[dies].value == "done" and [results[job].value for job in others] == [0, 1, 2, 3]
    assert notes == ["misbehave: its process ended: it was killed (out of memory?); tried once more, alone"]
    assert Path(os.environ[LOG]).read_text().splitlines()[-1] == "misbehave die"


@pytest.mark.slow
def test_a_job_beyond_the_limit_of_memory_fails_alone(runner, notes):
    large, good = Job(allocate, gigabytes=64), Job(square, number=3)
    results = runner.run([large, good])
    assert results[good].value["square"] == 9 and results[large].failure.startswith("MemoryError")
    assert len(notes) == 2 and notes[0].endswith("tried once more, alone") and notes[1].endswith("given up")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["hang", "stop"])
def test_a_job_that_hangs_is_ended_and_tried_once_more(tmp_path, notes, how):
    runner = Runner(folder=tmp_path / "kept", num_workers=2, note=notes.append, seconds_silent=4)
    hangs = Job(misbehave, how=how, mark=Location(path=tmp_path / "mark"))
    others = [Job(square, number=number) for number in range(3)]
    results = runner.run([hangs, *others])
    assert results[hangs].value == "done" and [results[job].value["square"] for job in others] == [0, 1, 4]
    told = "misbehave: it hung: no progress and no use of the processor for 5 s; tried once more, alone"
    assert notes == [told]


@pytest.mark.slow
def test_a_command_that_was_stopped_itself_takes_nobody_for_hanging(tmp_path, notes, monkeypatch):
    monkeypatch.setattr(graph, "SECONDS_ASLEEP", 1.0)
    runner = Runner(folder=tmp_path / "kept", num_workers=2, note=notes.append, seconds_silent=2)
    poll, slept = graph.Workers.poll, []

    def poll_late(self, seconds):
        poll(self, seconds)
        if self.groups and not slept and logged("run beside 0"):
            slept.append(time.sleep(3))

    monkeypatch.setattr(graph.Workers, "poll", poll_late)
    jobs = [Job(run_beside, number=number) for number in range(2)]
    assert [result.value for result in runner.run(jobs).values()] == [0, 1] and notes == []


@pytest.mark.parametrize(("used", "is_alive"), [(0.05, True), (1e-4, False)])
def test_a_process_that_computes_is_alive_and_one_that_waits_is_not(monkeypatch, used, is_alive):
    looks, signs = itertools.count(), []
    third = threading.Event()

    def process_time():
        number = next(looks)
        if number == 3:
            third.set()
        return used * number

    monkeypatch.setattr(time, "process_time", process_time)
    with signs_of_life(lambda: signs.append(1), 0.02):
        assert third.wait(30)
    assert bool(signs) == is_alive


@pytest.mark.parametrize("num_workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_full_disk_ends_the_work_with_one_line(tmp_path, notes, num_workers):
    runner = Runner(folder=tmp_path / "kept", num_workers=num_workers)
    good = Job(square, number=3)
    runner.run([good])
    full = [Job(write, file=Location(path=Path("/dev/full")), number=number) for number in range(2)]
    with pytest.raises(ConfigError, match=r"the disk of .* is full .*; finished jobs are stored, and the"):
        runner.run(full)
    assert runner.plan([good]).missing == ()


@pytest.mark.parametrize("num_workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_lost_store_ends_the_work_with_one_line(tmp_path, notes, num_workers):
    folder, jobs = tmp_path / "kept", [Job(square, number=number) for number in range(6)]
    lost = {"progress": lambda *_: shutil.rmtree(folder, ignore_errors=True)}
    with pytest.raises(DamagedError, match="kept: this folder of stored results was removed or replaced"):
        Runner(folder=folder, num_workers=num_workers, **lost).run(jobs)
    again = Runner(folder=folder).run(jobs)
    assert [result.value["square"] for result in again.values()] == [0, 1, 4, 9, 16, 25]
