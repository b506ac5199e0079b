import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import counting_jobs as jobs
from counting_jobs import LOG, Named, count_symbols, cube, misbehave, named_length, square
from ecsuite.corpus import Corpus
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.groups import GroupFolder
from ecsuite.jobs.job import Context, Job
from ecsuite.jobs.store import Store
from ecsuite.jobs.worker import compute_jobs
from ecsuite.runtime.errors import ConfigError, FormatError


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


EDITS = [
    lambda text: text.replace("9", "8"), lambda text: text.replace('"square": 9', '"square": 90'), lambda text: "{",
    lambda text: "[" * 100_000, lambda text: "5", lambda text: "{}", lambda text: "[]", lambda text: '"format"',
    lambda text: text.replace('"seconds"', '"minutes"'),
]  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
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


def test_a_corpus_is_known_by_its_messages(runner, calls):
    rows, others = [[1, 2], [3]], [[1], [2, 3]]
    for corpus, counted in (
        (Corpus(rows), 1), (Corpus(rows, metadata={"other": 1}), 0), (Corpus(others), 1),
        (Corpus(others, symbol_names=("a", "b", "c", "d")), 1),  # jobs read the names as well
    ):  # fmt: skip
        assert values(runner, Job(count_symbols, corpus=corpus)) == [3]
        assert calls() == ["count"] * counted


def test_another_version_where_the_job_is_computed_is_refused(tmp_path, calls):
    store = Store(tmp_path / "kept")
    sent = store.send(Job(square, number=2))
    planned = replace(sent, key={**sent.key, "version": 2})
    with pytest.raises(ConfigError, match="another version of ecsuite is installed where the job is"):
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


@pytest.mark.slow
def test_processes_compute_the_same(tmp_path, calls):
    runner = Runner(folder=tmp_path / "kept", num_workers=2)
    parts = [Job(square, number=number) for number in (2, 3)]
    cubes = [Job(cube, number=number) for number in (1, 2, 3, 4)]
    added = Job(jobs.add_up, source=Job(jobs.fill, size=4), times=2)
    assert values(runner, Job(jobs.total, parts=parts), *cubes, added) == [13, 1, 8, 27, 64, 8.0]
    assert len(calls()) == 7


@pytest.mark.slow
@pytest.mark.parametrize(("num_jobs", "num_workers", "num_processes"), [(1, 3, 0), (2, 3, 2), (9, 2, 2)])
def test_no_more_processes_than_jobs_are_started(tmp_path, monkeypatch, num_jobs, num_workers, num_processes):
    started, popen = [], subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **_: started.append(words) or popen(*words, **_))
    runner = Runner(folder=tmp_path / "kept", num_workers=num_workers)
    runner.run([Job(square, number=number) for number in range(num_jobs)])
    assert len(started) == num_processes
