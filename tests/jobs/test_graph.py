"""Graphs of jobs: what is kept is not computed again, what fails fails alone, and processes share a store."""

import subprocess
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
)

from ecsuite.corpus import Corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.groups import GroupFolder
from ecsuite.jobs.job import Context, Job
from ecsuite.jobs.store import Store
from ecsuite.jobs.worker import compute_jobs
from ecsuite.runtime.errors import ConfigError, FormatError
from ecsuite.runtime.ragged import Ragged


@pytest.fixture(autouse=True)
def calls(tmp_path, monkeypatch):
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


def test_what_a_killed_process_left_beside_a_kept_result_is_removed(runner, calls, tmp_path):
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


def test_a_result_of_an_unknown_format_is_refused(runner, calls, tmp_path):
    values(runner, Job(square, number=3))
    file = only_file(tmp_path, "*.json")
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(FormatError, match=rf"{file.name}: format 2 of a kept result file is not known"):
        values(runner, Job(square, number=3))


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


def test_a_failed_job_is_tried_once_more(runner, calls, notes):
    job = Job(misbehave, how="full")
    assert runner.run([job])[job].failure.startswith("OSError: no space left (")
    assert calls() == ["misbehave full"] * 2
    assert [note.rpartition("; ")[2] for note in notes] == ["tried once more", "given up"]
    assert "Traceback" in Path(notes[0].partition("(")[2].partition(")")[0]).read_text()
    assert runner.plan([job]).missing == (job,)  # another run tries again


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
        started, popen = [], subprocess.Popen
        monkeypatch.setattr(
            subprocess, "Popen", lambda *words, **_: started.append(words) or popen(*words, **_)
        )
        runner = Runner(folder=tmp_path / "kept", num_workers=num_workers)
        runner.run([Job(square, number=number) for number in range(num_jobs)])
        assert len(started) == num_processes
