"""Graphs of jobs: what is kept is not computed again, what fails fails alone, and processes share a store."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from counting_jobs import (
    LOG,
    Named,
    add_up,
    count_symbols,
    cube,
    fill,
    misbehave,
    named_length,
    square,
    total,
    use_the_gpu,
)

from ecsuite.corpus import Corpus
from ecsuite.jobs.graph import Plan, Runner
from ecsuite.jobs.groups import GroupFolder
from ecsuite.jobs.job import Context, Job
from ecsuite.jobs.store import Store
from ecsuite.jobs.worker import compute_jobs
from ecsuite.runtime.errors import ConfigError, DamagedError, FormatError
from ecsuite.runtime.ragged import Ragged


@pytest.fixture(autouse=True)
def calls(tmp_path, monkeypatch):
    """What was computed since the last call of this fixture's value."""
    log = tmp_path / "log.txt"
    monkeypatch.setenv(LOG, str(log))

    def read():
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    return read


@pytest.fixture
def notes():
    return []


@pytest.fixture
def runner(tmp_path, notes):
    return Runner(folder=tmp_path / "kept", note=notes.append)


def values(runner, *jobs):
    results = runner.run(jobs)
    return [results[job].value for job in jobs]


def only_file(folder, pattern):
    (file,) = (folder / "kept" / "results").glob(pattern)
    return file


def test_a_note_says_before_the_first_job_how_many_there_are(tmp_path, notes):
    runner = Runner(folder=tmp_path / "kept", note=notes.append, announces=True)
    runner.run([Job(square, number=3)])
    assert notes == [f"1 job: 0 found in {tmp_path / 'kept'}, 1 to compute with 1 process"]
    runner.run([Job(square, number=3)])
    assert len(notes) == 1  # nothing to compute
    runner.run([Job(square, number=3), Job(square, number=4)])
    assert notes[1] == f"2 jobs: 1 found in {tmp_path / 'kept'}, 1 to compute with 1 process, about 5 s"


def test_results_are_those_of_the_jobs_and_are_kept(runner, calls):
    jobs = [Job(square, number=number) for number in (50, 1, 20)]
    expected = [{"square": number**2, "pair": [number, None]} for number in (50, 1, 20)]
    assert values(runner, *jobs) == expected
    assert calls() == ["square 1", "square 20", "square 50"]  # the shortest first
    assert values(runner, *jobs) == expected
    assert calls() == []


def test_what_a_killed_process_left_beside_a_kept_result_is_removed(runner, calls, tmp_path):
    """It was killed after it kept the result, and before it removed the scratch folder."""
    job = Job(square, number=3)
    expected = values(runner, job)
    store = Store(tmp_path / "kept", print)
    store.scratch(job).mkdir(parents=True)
    other = GroupFolder(store)
    with other.putting():
        name = other.put("any", 1, [store.send(job)])
    assert values(runner, job) == expected
    assert store.scratch(job).exists(), "another process is at work"
    other.remove(name)
    assert values(runner, job) == expected
    assert not store.scratch(job).exists()


def test_a_job_reads_the_results_of_others(runner, calls):
    parts = [Job(square, number=number) for number in (2, 3)]
    assert values(runner, Job(total, parts=parts)) == [13]
    assert calls() == ["square 2", "square 3", "total"]


def test_arrays_are_made_again_only_if_something_needs_them(runner, calls, tmp_path):
    source = Job(fill, size=4)
    assert values(runner, source, Job(add_up, source=source, times=2)) == [{"size": 4}, 8.0]
    only_file(tmp_path, "*.safetensors").unlink()
    calls()
    assert values(runner, Job(add_up, source=source, times=2)) == [8.0]
    assert calls() == []
    assert values(runner, Job(add_up, source=source, times=3)) == [12.0]
    assert calls() == ["fill 4", "add up 3"]


def test_arrays_can_be_wanted_themselves(runner, calls):
    job = Job(fill, size=4)
    assert runner.run([job])[job].arrays is None
    arrays = runner.run([job], needs_arrays=True)[job].arrays
    assert len(arrays.read_bytes()) > 4
    assert calls() == ["fill 4"]
    arrays.unlink()
    assert runner.run([job], needs_arrays=True)[job].arrays.is_file()
    assert calls() == ["fill 4"]


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9] + b"garbage!!", lambda data: b"", lambda data: data[:20]]
)
def test_damaged_arrays_are_made_again(runner, calls, notes, tmp_path, damage):
    source = Job(fill, size=4)
    values(runner, source)
    arrays = only_file(tmp_path, "*.safetensors")
    arrays.write_bytes(damage(arrays.read_bytes()))
    assert values(runner, Job(add_up, source=source, times=3)) == [12.0]
    assert calls() == ["fill 4", "fill 4", "add up 3"]
    assert any("damaged" in note for note in notes)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("9", "8"),
        lambda text: text.replace('"square": 9', '"square": 90'),
        lambda text: "{",
        lambda text: "[" * 100_000,
        lambda text: "5",
        lambda text: "{}",
        lambda text: "[]",
        lambda text: '"format"',
        lambda text: text.replace('"seconds"', '"minutes"'),
    ],
)
def test_an_edited_or_damaged_result_is_computed_again(runner, calls, notes, tmp_path, edit):
    job = Job(square, number=3)
    values(runner, job)
    file = only_file(tmp_path, "*.json")
    file.write_text(edit(file.read_text()))
    assert values(runner, job) == [{"square": 9, "pair": [3, None]}]
    assert calls() == ["square 3", "square 3"]
    assert len(notes) == 1 and file.name in notes[0]


def test_a_result_of_an_unknown_format_is_refused(runner, calls, tmp_path):
    values(runner, Job(square, number=3))
    file = only_file(tmp_path, "*.json")
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(FormatError, match=rf"{file.name}: format 2 of a kept result file is not known"):
        values(runner, Job(square, number=3))


def test_a_result_of_another_job_is_not_believed(runner, calls, tmp_path):
    values(runner, Job(square, number=3), Job(square, number=4))
    folder = tmp_path / "kept" / "results"
    three, four = (folder / f"{Job(square, number=number).name}.json" for number in (3, 4))
    three.write_bytes(four.read_bytes())
    assert values(runner, Job(square, number=3)) == [{"square": 9, "pair": [3, None]}]


def test_a_corpus_is_known_by_its_messages(runner, calls):
    def corpus(*rows, **others):
        return Corpus(messages=Ragged.from_rows(rows), **others)

    assert values(runner, Job(count_symbols, corpus=corpus([1, 2], [3]))) == [3]
    assert values(runner, Job(count_symbols, corpus=corpus([1, 2], [3], metadata={"other": 1}))) == [3]
    assert calls() == ["count"]
    assert values(runner, Job(count_symbols, corpus=corpus([1], [2, 3]))) == [3]
    assert calls() == ["count"]
    assert values(
        runner, Job(count_symbols, corpus=corpus([1], [2, 3], symbol_names=("a", "b", "c", "d")))
    ) == [3]
    assert calls() == ["count"]  # jobs read the names as well


@pytest.mark.parametrize("damage", [lambda data: data[:-1] + b"7", lambda data: data[:9], lambda data: b""])
def test_a_damaged_corpus_of_a_job_is_written_again(runner, calls, tmp_path, damage):
    """One of which a part was missing failed every job that read it, at every call."""
    corpus = Corpus(messages=Ragged.from_rows([[1, 2], [3]]))
    store = Store(tmp_path / "kept")
    sent = store.send(Job(count_symbols, corpus=corpus))
    (file,) = (tmp_path / "kept" / "inputs").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DamagedError, match="damaged; it is written again when the command is run again"):
        store.receive(sent, count_symbols)
    assert values(runner, Job(count_symbols, corpus=corpus)) == [3]


def test_another_version_where_the_job_is_computed_is_refused(tmp_path, calls):
    store = Store(tmp_path / "kept")
    sent = store.send(Job(square, number=2))
    planned = replace(sent, key={**sent.key, "version": 2})
    with pytest.raises(
        ConfigError, match="another version of ecsuite is installed where the job is computed"
    ):
        list(compute_jobs([planned], store, Context(scratch=store.scratch(sent))))
    assert calls() == []


def test_an_input_is_known_by_what_it_says(runner, calls):
    assert values(runner, Job(named_length, named=Named(name="abc", path="here"))) == [3]
    assert values(runner, Job(named_length, named=Named(name="abc", path="there"))) == [3]
    assert calls() == ["named abc"]
    with pytest.raises(TypeError, match="PosixPath cannot be an input of a job"):
        Job(misbehave, how="", mark=Path("x")).digest  # noqa: B018


def test_groups_have_the_results_of_single_jobs(runner, calls, tmp_path):
    jobs = [Job(cube, number=number) for number in (1, 2, 3, 4, 5)]
    assert values(runner, *jobs) == [1, 8, 27, 64, 125]
    assert sorted(calls(), key=len) == ["cubes 4 5", "cubes 1 2 3"]
    for number, job in enumerate(jobs, 1):
        alone = Runner(folder=tmp_path / f"alone {number}").run([job])[job]
        assert alone.value == number**3
    calls()
    assert values(runner, *jobs, Job(cube, number=6)) == [1, 8, 27, 64, 125, 216]
    assert calls() == ["cubes 6"]  # what is kept is not computed again, however it was grouped


def test_a_member_of_a_group_that_diverges_fails_alone_and_is_not_tried_again(runner, calls, notes):
    jobs = [Job(cube, number=number) for number in (12, 13, 14)]
    results = runner.run(jobs)
    assert [results[job].value for job in jobs] == [1728, None, 2744]
    assert results[jobs[1]].failure == "13 is unlucky"
    calls()
    assert runner.run(jobs)[jobs[1]].failure == "13 is unlucky"
    assert calls() == []


@pytest.mark.parametrize("retries", [False, True])
def test_a_failure_that_another_process_keeps_after_the_plan_counts_as_one(
    runner, calls, monkeypatch, retries
):
    job = Job(misbehave, how="diverge")
    runner.run([job])
    calls()
    monkeypatch.setattr("ecsuite.jobs.graph.make_plan", lambda *_, **__: Plan(kept={}, missing=(job,)))
    result = replace(runner, retries=retries).run([job])[job]
    assert result.failure == "the loss is nan at step 3"
    assert calls() == (["misbehave diverge"] if retries else [])


def test_a_failed_job_fails_what_reads_it_and_nothing_else(runner, calls, notes):
    diverges = Job(misbehave, how="diverge")
    reads = Job(add_up, source=diverges, times=1)
    results = runner.run([reads, Job(square, number=2), diverges])
    assert results[reads].failure == results[diverges].failure == "the loss is nan at step 3"
    assert results[Job(square, number=2)].value["square"] == 4
    assert notes == ["misbehave: the loss is nan at step 3"]


def test_an_error_with_bytes_that_are_no_text_fails_its_job_alone(runner):
    """As of names of files that are not UTF-8; what it says is kept as any system can write it."""
    garbles, good = Job(misbehave, how="garble"), Job(square, number=2)
    results = runner.run([garbles, good])
    assert results[good].value["square"] == 4
    told = results[garbles].failure
    assert told.startswith("RuntimeError: a half")
    file = told.rpartition("(")[2].removesuffix(")")
    assert "a half \\udcff of é" in Path(file).read_text(encoding="utf-8")


def test_checkpoints_of_a_job_end_with_it(tmp_path):
    store, job = Store(tmp_path), Job(square, number=3)
    store.scratch(job).mkdir(parents=True)
    (store.scratch(job) / "checkpoint").write_text("half")
    store.write(job, {"square": 9}, seconds=1.0)
    assert store.read(job).value == {"square": 9} and not store.scratch(job).exists()


def test_a_failed_job_is_tried_once_more(runner, calls, notes):
    job = Job(misbehave, how="full")
    assert runner.run([job])[job].failure.startswith("OSError: no space left (")
    assert calls() == ["misbehave full"] * 2
    assert [note.rpartition("; ")[2] for note in notes] == ["tried once more", "given up"]
    assert "Traceback" in Path(notes[0].partition("(")[2].partition(")")[0]).read_text()
    assert runner.plan([job]).missing == (job,)  # another run tries again


def test_wrong_input_ends_the_work_at_once(runner, calls):
    with pytest.raises(ConfigError, match=r"data.txt: expected text, found none"):
        runner.run([Job(misbehave, how="refuse"), Job(square, number=9)])
    assert calls() == ["misbehave refuse"]
    assert not runner.folder.exists()  # nothing is left


def test_folders_that_were_made_for_nothing_are_removed_unless_somebody_uses_them(tmp_path):
    store = Store(tmp_path / "kept")
    groups = store.folder / "groups"
    for file in ("lock", "lock", "other.command"):
        groups.mkdir(parents=True, exist_ok=True)
        (groups / file).touch()
        store.remove_if_empty([store.folder])
        assert store.folder.exists() == (file != "lock")
    assert (groups / "other.command").exists()


class TestProcesses:
    """The same in processes of their own."""

    @pytest.fixture
    def runner(self, tmp_path, notes):
        return Runner(folder=tmp_path / "kept", num_workers=2, note=notes.append)

    @pytest.mark.slow
    def test_they_compute_the_same(self, runner, calls):
        parts = [Job(square, number=number) for number in (2, 3)]
        cubes = [Job(cube, number=number) for number in (1, 2, 3, 4)]
        source = Job(fill, size=4)
        assert values(runner, Job(total, parts=parts), *cubes, Job(add_up, source=source, times=2)) == [
            13,
            *(1, 8, 27, 64),
            8.0,
        ]
        assert len(calls()) == 7

    @pytest.mark.slow
    @pytest.mark.parametrize(("num_jobs", "num_workers", "num_processes"), [(1, 3, 0), (2, 3, 2), (9, 2, 2)])
    def test_no_more_processes_than_jobs_are_started(
        self, tmp_path, monkeypatch, num_jobs, num_workers, num_processes
    ):
        """One was started for each worker, however few jobs there were; one job is computed here."""
        started, popen = [], subprocess.Popen
        monkeypatch.setattr(
            subprocess, "Popen", lambda *words, **_: started.append(words) or popen(*words, **_)
        )
        runner = Runner(folder=tmp_path / "kept", num_workers=num_workers)
        runner.run([Job(square, number=number) for number in range(num_jobs)])
        assert len(started) == num_processes

    def test_jobs_that_need_the_gpu_have_it_to_themselves(self, runner, notes):
        assert values(runner, *(Job(use_the_gpu, number=number) for number in range(4))) == [0, 1, 2, 3]
        assert notes == []

    def test_a_process_that_dies_costs_its_job_alone(self, runner, calls, notes):
        dies, good = Job(misbehave, how="die"), Job(square, number=2)
        results = runner.run([dies, good])
        assert results[good].value["square"] == 4
        assert results[dies].failure == "its process ended: it was killed (out of memory?)"
        assert len(notes) == 2 and notes[0].endswith("tried once more, alone")


def run_in_process(folder, *numbers, **options):
    program = f"""
from pathlib import Path
from counting_jobs import misbehave, square
from ecsuite.runtime.errors import FormatError
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job
from ecsuite.jobs.store import Store
from ecsuite.jobs.signals import stop_signals
if __name__ == "__main__":
    jobs = [Job(square, number=number) for number in {numbers}]
    jobs = jobs or [Job(misbehave, how="wait"), Job(square, number=7)]
    with stop_signals() as should_stop:
        results = Runner(folder=Path({str(folder)!r}), should_stop=should_stop, **{options}).run(jobs)
    print([result.value["square"] for result in results.values()])
"""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_two_processes_never_compute_the_same_job(tmp_path, calls):
    numbers = tuple(range(60))
    processes = [run_in_process(tmp_path / "kept", *numbers) for _ in range(2)]
    for process in processes:
        assert json.loads(process.communicate()[0]) == [number**2 for number in numbers]
    assert sorted(calls()) == sorted(f"square {number}" for number in numbers)
    assert [file.name for file in (tmp_path / "kept" / "groups").iterdir()] == ["lock"]


@pytest.mark.parametrize("num_workers", [1, 2])
def test_a_job_that_is_asked_to_stop_keeps_its_checkpoint(tmp_path, calls, num_workers):
    process = run_in_process(tmp_path / "kept", num_workers=num_workers)
    log, end = Path(os.environ[LOG]), time.monotonic() + 60
    while time.monotonic() < end and "misbehave wait" not in (log.read_text() if log.exists() else ""):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGTERM)  # as schedulers do, and as Ctrl-C does with another signal
    process.communicate(timeout=60)
    assert process.returncode == 75
    (checkpoint,) = (tmp_path / "kept" / "scratch").glob("*/checkpoint")
    assert checkpoint.read_text() == "half"
