"""The job runner: results in order, cached and read again, also after failed jobs and damaged files."""

import json
import os
import sys
import time

import pytest

from ecsuite.jobs.runner import Job, JobRunner

CALLS = []


def square(number, report_progress):
    CALLS.append(number)
    report_progress("half", 0.5)
    return {"square": number**2, "pair": (number, None)}


def fail(number, report_progress):
    raise ValueError(f"no square of {number}")


def interrupt(number, report_progress):
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def job(number, function=square, work=1.0, **key):
    return Job(function=function, inputs={"number": number}, key={"number": number, **key}, work=work)


def make_runner(folder=None, num_workers=1, reports=None):
    progress = (lambda *what: None) if reports is None else (lambda *what: reports.append(what))
    return JobRunner(num_workers=num_workers, folder=folder, progress=progress)


def result(number):
    return {"square": number**2, "pair": [number, None]}


def test_results_are_in_the_order_of_the_jobs_and_the_longest_job_starts_first():
    with make_runner() as runner:
        jobs = [job(3, work=1), job(1, work=5), job(2, work=3)]
        assert runner.run(jobs) == [result(3), result(1), result(2)]
    assert CALLS == [1, 2, 3]


def test_jobs_that_take_equally_long_run_in_order():
    make_runner().run([job(number) for number in (4, 2, 3)])
    assert CALLS == [4, 2, 3]


def test_no_jobs_give_no_results():
    assert make_runner().run([]) == []


def test_cached_results_are_not_computed_again(tmp_path):
    first = make_runner(tmp_path / "cache")
    assert first.run([job(1), job(2)]) == [result(1), result(2)]
    assert first.num_kept == 0
    second = make_runner(tmp_path / "cache")
    assert second.run([job(2), job(3), job(1)]) == [result(2), result(3), result(1)]
    assert second.num_kept == 2
    assert CALLS == [1, 2, 3]


def test_a_new_result_equals_the_cached_one():
    """Tuples are returned as lists, whether a result was cached or not."""
    assert make_runner().run([job(2)]) == [{"square": 4, "pair": [2, None]}]


def test_without_a_folder_nothing_is_cached(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = make_runner()
    runner.run([job(1)])
    runner.run([job(1)])
    assert CALLS == [1, 1]
    assert not list(tmp_path.iterdir())


def test_another_key_is_another_result(tmp_path):
    make_runner(tmp_path).run([job(1, version=1), job(1, version=2)])
    assert CALLS == [1, 1]
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_the_order_of_a_key_does_not_matter(tmp_path):
    one = Job(function=square, inputs={"number": 1}, key={"a": 1, "b": {"c": 2, "d": 3}})
    other = Job(function=square, inputs={"number": 1}, key={"b": {"d": 3, "c": 2}, "a": 1})
    assert one.digest == other.digest
    runner = make_runner(tmp_path)
    runner.run([one])
    runner.run([other])
    assert CALLS == [1]


def test_a_key_may_contain_values_that_json_converts(tmp_path):
    """A tuple is read as a list, and a dict key that is a number as a string: it is the same key."""
    cached = Job(function=square, inputs={"number": 1}, key={"seeds": (123, 124), "caps": {123: 400}})
    make_runner(tmp_path).run([cached])
    runner = make_runner(tmp_path)
    runner.run([cached])
    assert runner.num_kept == 1
    assert CALLS == [1]


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"17",
        b"{}",
        b"\xff\xfe\x00",
        b'{"key": {"number": 2}, "result": 5}',
        b'{"key": {"number": 1}}',
    ],
)
def test_the_job_of_a_damaged_file_is_computed_again(tmp_path, damaged):
    path = tmp_path / f"{job(1).digest}.json"
    path.write_bytes(damaged)
    runner = make_runner(tmp_path)
    assert runner.run([job(1)]) == [result(1)]
    assert runner.num_kept == 0
    assert CALLS == [1]
    assert json.loads(path.read_text()) == {"format": 1, "key": {"number": 1}, "result": result(1)}


def test_a_file_contains_key_and_result(tmp_path):
    make_runner(tmp_path).run([job(3)])
    (path,) = tmp_path.iterdir()
    assert path.name == f"{job(3).digest}.json"
    assert json.loads(path.read_text()) == {"format": 1, "key": {"number": 3}, "result": result(3)}


def test_an_error_in_a_job_is_raised_and_earlier_results_are_cached(tmp_path):
    jobs = [job(1, work=3), job(2, fail, work=2), job(3, work=1)]
    with pytest.raises(ValueError, match="no square of 2"), make_runner(tmp_path) as runner:
        runner.run(jobs)
    assert CALLS == [1]
    assert [path.name for path in tmp_path.iterdir()] == [f"{jobs[0].digest}.json"]


def test_after_an_interrupt_only_the_remaining_jobs_are_computed(tmp_path):
    jobs = [job(1, work=3), job(2, interrupt, work=2), job(3, work=1)]
    with pytest.raises(KeyboardInterrupt), make_runner(tmp_path) as runner:
        runner.run(jobs)
    jobs[1] = job(2, work=2)
    with make_runner(tmp_path) as runner:
        assert runner.run(jobs) == [result(1), result(2), result(3)]
        assert runner.num_kept == 1
    assert CALLS == [1, 2, 3]


def test_a_result_that_is_not_a_number_is_refused(tmp_path):
    """NaN is not valid JSON; an unreadable cache would be worse than an error."""
    with pytest.raises(ValueError, match="JSON"):
        make_runner(tmp_path).run([Job(function=lambda report_progress: float("nan"), inputs={}, key={})])
    assert not list(tmp_path.glob("*.json"))


def test_progress_is_reported_as_a_fraction_of_the_remaining_work(tmp_path):
    make_runner(tmp_path).run([job(1, work=100)])
    reports = []
    make_runner(tmp_path, reports=reports).run([job(1, work=100), job(2, work=6), job(3, work=2)])
    assert reports == [("half", 3.0, 8.0), ("half", 7.0, 8.0)]


JOBS = """
import os, time
def square(number, report_progress):
    report_progress(f"at {number}", 0.5)
    time.sleep({6: 0.8, 100: 60.0}.get(number, 0.0))
    if number == 13:
        raise ValueError("no square of 13")
    return {"square": number**2, "process": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]}
"""


def test_two_processes_share_the_work(tmp_path, monkeypatch):
    """One pool serves all calls, since processes are slow to start."""
    (tmp_path / "jobs_for_processes.py").write_text(JOBS)
    monkeypatch.syspath_prepend(tmp_path)
    import jobs_for_processes  # type: ignore[import-not-found]

    def jobs(*numbers):
        return [job(number, jobs_for_processes.square, work=number) for number in numbers]

    def interrupt_when_one_is_done(label, done, total):
        if done >= 7:
            raise KeyboardInterrupt

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    folder, reports = tmp_path / "cache", []
    with pytest.raises(KeyboardInterrupt), make_runner(folder, 2, reports) as runner:
        results = runner.run(jobs(1, 2, 3, 4, 5, 6))
        assert [each["square"] for each in results] == [1, 4, 9, 16, 25, 36]
        processes = {each["process"] for each in results}
        assert os.getpid() not in processes
        assert 1 <= len(processes) <= 2
        assert {each["threads"] for each in results} == {"1"}
        assert os.environ["OMP_NUM_THREADS"] == "3"
        assert reports[-1][1:] == (21.0, 21.0)
        assert all(done <= total == 21.0 for _, done, total in reports)
        assert "at 6" in {part for label, _, _ in reports for part in label.split("  ")}

        assert runner.run(jobs(1, 2, 3, 4, 5, 6)) == results
        assert runner.num_kept == 6
        with pytest.raises(ValueError, match="no square of 13"):
            runner.run(jobs(13))

        runner.progress, began = interrupt_when_one_is_done, time.monotonic()
        runner.run(jobs(7, 100))
    assert time.monotonic() - began < 20  # the job that takes a minute was not waited for
    assert {json.loads(path.read_text())["key"]["number"] for path in folder.iterdir()} == {
        1,
        2,
        3,
        4,
        5,
        6,
        7,
    }
    del sys.modules["jobs_for_processes"]
