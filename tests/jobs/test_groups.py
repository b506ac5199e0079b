import errno
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, replace

import filelock
import pytest

from counting_jobs import LOG, cube, misbehave, square
from ecsuite.files.locks import Lock, process_name
from ecsuite.jobs import launchers, worker
from ecsuite.jobs.engines import place_of
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.groups import GroupFolder, TakenGroup
from ecsuite.jobs.job import MODULES, Job, Location, hash_of
from ecsuite.jobs.launchers import Users
from ecsuite.jobs.store import Store
from ecsuite.jobs.worker import ANY, WorkerOptions, work
from ecsuite.runtime.errors import ConfigError


@pytest.fixture(autouse=True)
def log(tmp_path, monkeypatch):
    monkeypatch.setenv(LOG, str(tmp_path / "log.txt"))
    return lambda: (tmp_path / "log.txt").read_text().splitlines() if (tmp_path / "log.txt").exists() else []


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "kept")


@pytest.fixture
def folder(store):
    folder = GroupFolder(store)
    yield folder
    folder.close()


def put(folder, *jobs, number=1, pool=ANY):
    with folder.putting():
        return folder.put(pool, number, [folder.store.send(job) for job in jobs])


def one_worker(store, **options):
    return work(store.folder, WorkerOptions(**{"seconds_idle": 0.0, **options}))


class Workers:
    """Runs workers of users beside a command, as threads of this process."""

    def __init__(self, store, number, **options):
        options = WorkerOptions(seconds_idle=60.0, **options)
        self.is_over = False
        self.threads = [
            threading.Thread(
                target=work, args=(store, replace(options, name=f"worker {each}"), lambda: self.is_over),
            ) for each in range(number)
        ]  # fmt: skip

    def __enter__(self):
        for thread in self.threads:
            thread.start()

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def test_workers_of_users_compute_what_a_command_wants(tmp_path, log):
    jobs = [Job(square, number=number) for number in range(12)]
    notes = []
    runner = Runner(folder=tmp_path / "kept", launcher=place_of("workers").launcher, note=notes.append)
    with Workers(tmp_path / "kept", 3):
        results = runner.run(jobs)
    assert [results[job].value["square"] for job in jobs] == [number**2 for number in range(12)]
    assert sorted(log()) == sorted(f"square {number}" for number in range(12))
    assert notes == [f"start workers on machines that share the folder: ecsuite work {tmp_path / 'kept'}"]
    assert [file.name for file in (tmp_path / "kept" / "groups").iterdir()] == ["lock"]


def test_two_workers_never_compute_one_group_twice(folder, store, log):
    for number in range(40):
        put(folder, Job(square, number=number), number=number)
    with Workers(store.folder, 4):
        while any(folder.events(name, 0) is None or folder.is_held(name) for name in folder._names()):
            time.sleep(0.01)
    assert sorted(log()) == sorted(f"square {number}" for number in range(40))


def test_five_hundred_groups_of_ten_need_few_open_files(tmp_path, monkeypatch, log):
    monkeypatch.setattr(cube, "grouping", lambda jobs, *_: [jobs[at : at + 10] for at in range(0, len(jobs), 10)])
    monkeypatch.setattr(launchers, "SECONDS_TO_CANCEL", 0.0)
    jobs, asked = [Job(cube, number=number) for number in range(20, 5020)], iter([None, "interrupt"])
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        launcher = place_of("workers").launcher
        with pytest.raises(KeyboardInterrupt):
            Runner(folder=tmp_path, launcher=launcher, should_stop=lambda: next(asked)).run(jobs)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(list((tmp_path / "groups").glob("*.json"))) == 500
    work(tmp_path, WorkerOptions(seconds_for_more=0.0))  # a worker takes what the command has left
    assert [len(line.split()) for line in log()] == [11] and len(list((tmp_path / "results").iterdir())) == 10


def test_a_short_job_waits_less_than_50_ms(store, monkeypatch):
    waits, seconds = [], iter(range(10_000))
    monkeypatch.setattr(worker.time, "sleep", waits.append)
    monkeypatch.setattr(worker.time, "monotonic", lambda: next(seconds) / 10)
    assert one_worker(store, seconds_idle=60.0, most_wait=worker.MOST_WAIT_HERE) == "idle"
    assert len(waits) > 100 and max(waits) < 0.05


def test_who_takes_a_group_at_the_same_moment_does_not_get_it(folder):
    name = put(folder, Job(square, number=1))
    first, second = (TakenGroup(folder, name, Lock(folder.file(name, ".lock"))) for _ in range(2))
    assert first.begin("one", again=False) and not second.begin("two", again=False)
    assert [event.text for event in folder.events(name, 0)[0]] == ["one"]


def test_a_group_whose_worker_has_ended_is_taken_again(tmp_path, monkeypatch, log):
    monkeypatch.setattr(launchers, "SECONDS_BETWEEN_CHECKS", 0.02)
    notes, lost, job = [], [], Job(square, number=3)

    def launcher(folder):
        users = Users(folder)

        def start(groups):
            if groups and not lost:
                lost.append(folder.take([ANY], process_name(1)))
                lost[0]._lock.release()
            elif any(not group.worker for group in groups):
                one_worker(folder.store)

        users.start = start
        return users

    found = Runner(folder=tmp_path, launcher=launcher, note=notes.append).run([job])
    assert found[job].value["square"] == 9 and log() == ["square 3"]
    assert notes[1] == f"square of 3: its worker ({process_name(1)}) has ended; computed elsewhere"


@pytest.mark.slow
def test_a_group_whose_worker_was_killed_is_taken_again(tmp_path, log):
    job = Job(misbehave, how="die", mark=Location(path=tmp_path / "mark"))
    words = [sys.executable, "-m", "ecsuite", "work", str(tmp_path / "kept"), "--idle", "0.5", "--quiet"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), MODULES: "counting_jobs"}
    workers = [subprocess.Popen(words, env=environment) for _ in range(2)]
    runner = Runner(folder=tmp_path / "kept", launcher=place_of("workers").launcher)
    assert runner.run([job])[job].value == "done" and log() == ["misbehave die"] * 2
    assert sorted(worker.wait() for worker in workers) == [-signal.SIGKILL, 0]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_that_a_worker_was_stopped_is_told_once(monkeypatch, ecsuite, number, code):
    monkeypatch.setattr("ecsuite.jobs.processes.WORKER_ENVIRONMENT", {})

    def stopped(*_):
        signal.raise_signal(number)
        return "asked"

    monkeypatch.setattr(worker, "work", stopped)
    ended, _, err = ecsuite("work", "store")
    assert ended == code and err.splitlines()[1:] == ["stopped"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_worker_ends_as_it_is_asked(tmp_path, folder, store, log, number, code):
    name = put(folder, Job(misbehave, how="wait"))
    words = [sys.executable, "-m", "ecsuite", "work", str(store.folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), MODULES: "counting_jobs"}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while not log():
            time.sleep(0.05)
        process.send_signal(number)
        _, err = process.communicate()
    assert (process.returncode, folder.events(name, 0)) == (code, None)
    assert err.splitlines() == [f"takes jobs from {store.folder}, for commands with --on workers", "stopped"]


def test_a_group_that_is_taken_back_stops(folder, store, monkeypatch):
    monkeypatch.setattr(worker, "SECONDS_BETWEEN_LOOKS", 0.0)
    name = put(folder, Job(misbehave, how="wait"))
    with Workers(store.folder, 1):
        while not folder.is_held(name):
            time.sleep(0.01)
        folder.withdraw(name)
        while list(folder.folder.glob(f"{name}.*")):
            time.sleep(0.01)


def test_what_killed_commands_left_is_removed_unless_its_pool_has_workers(store, log):
    first = GroupFolder(store)
    mine, anyones = (
        put(first, Job(square, number=number), number=number, pool=pool)
        for number, pool in ((1, first.command), (2, ANY))
    )
    half = first.folder / f".{ANY}.{first.command}.000003.tmp"  # a group that it was putting
    half.touch()
    second = GroupFolder(store)
    with second.putting() as elsewhere:
        assert len(elsewhere) == 2 and half.exists()
    begun = second.take([ANY], process_name(1))
    begun._lock.release()  # its worker has ended, and nobody has noticed
    first.close()
    with second.putting() as elsewhere:
        assert len(elsewhere) == 1
    assert not first.file(mine, ".json").exists() and first.file(anyones, ".json").exists()
    with second.putting([Job(square, number=2).digest]) as elsewhere:
        assert not elsewhere
    second.close()
    assert [file.name for file in second.folder.iterdir()] == ["lock"]


def test_a_group_is_data_that_is_not_believed(folder, store, tmp_path, log):
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    job = store.send(Job(square, number=1))
    foreign, edited = {**job.key, "function": "evil:square"}, asdict(job)
    contents = [
        b"{", b"[]", b'{"jobs": [3]}',
        edited | {"name": "../../out"}, edited | {"digest": "../../out"}, edited | {"key": {**job.key, "version": 2}},
        edited | {"key": foreign, "function": "evil:square", "digest": hash_of(foreign)[:24],
                  "name": f"square-{hash_of(foreign)[:24]}"},
        edited | {"key": {**job.key, "function": "os:system"}, "function": "os:system"},
    ]  # fmt: skip
    for number, content in enumerate(contents):
        name = put(folder, Job(square, number=1), number=number)
        text = content if isinstance(content, bytes) else json.dumps({"jobs": [content]}).encode()
        folder.file(name, ".json").write_bytes(text)
        one_worker(store)
        (_, *_, last), _ = folder.events(name, 0)
        assert last.kind == "failed" and last.error in ("DamagedError", "ConfigError"), content
    assert log() == [] and not (tmp_path / "ran").exists() and not list(store.folder.glob("results/*"))


def test_a_file_system_without_locks_is_told_of_at_the_start(tmp_path, monkeypatch, log):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(filelock.FileLock, "acquire", lambda self, **_: refuse())
    notes, job = [], Job(square, number=3)
    results = Runner(folder=tmp_path / "kept", note=notes.append).run([job])
    assert results[job].value["square"] == 9 and len(notes) == 1 and "has no locks" in notes[0]
    with pytest.raises(ConfigError, match=r"--on workers: .* has no locks, which keep workers"):
        place_of("workers").require(tmp_path / "kept")
