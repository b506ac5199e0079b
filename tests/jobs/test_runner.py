"""The workshop: results in order, kept and found again, whatever happens to a job or to a file."""

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


def shop(folder=None, num_workers=1, news=None):
    progress = (lambda *what: None) if news is None else (lambda *what: news.append(what))
    return JobRunner(num_workers=num_workers, folder=folder, progress=progress)


def result(number):
    return {"square": number**2, "pair": [number, None]}


def test_results_are_in_the_order_of_the_jobs_and_the_longest_begins_first():
    with shop() as runner:
        jobs = [job(3, work=1), job(1, work=5), job(2, work=3)]
        assert runner.run(jobs) == [result(3), result(1), result(2)]
    assert CALLS == [1, 2, 3]


def test_jobs_that_take_equally_long_run_in_order():
    shop().run([job(number) for number in (4, 2, 3)])
    assert CALLS == [4, 2, 3]


def test_no_jobs_give_no_results():
    assert shop().run([]) == []


def test_what_was_done_is_not_done_again(tmp_path):
    first = shop(tmp_path / "kept")
    assert first.run([job(1), job(2)]) == [result(1), result(2)]
    assert first.num_kept == 0
    second = shop(tmp_path / "kept")
    assert second.run([job(2), job(3), job(1)]) == [result(2), result(3), result(1)]
    assert second.num_kept == 2
    assert CALLS == [1, 2, 3]


def test_a_fresh_result_is_what_would_be_read():
    """Tuples come back as lists, whether a result was kept or not."""
    assert shop().run([job(2)]) == [{"square": 4, "pair": [2, None]}]


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = shop()
    runner.run([job(1)])
    runner.run([job(1)])
    assert CALLS == [1, 1]
    assert not list(tmp_path.iterdir())


def test_another_key_is_another_result(tmp_path):
    shop(tmp_path).run([job(1, version=1), job(1, version=2)])
    assert CALLS == [1, 1]
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_the_order_of_a_key_does_not_matter(tmp_path):
    one = Job(function=square, inputs={"number": 1}, key={"a": 1, "b": {"c": 2, "d": 3}})
    other = Job(function=square, inputs={"number": 1}, key={"b": {"d": 3, "c": 2}, "a": 1})
    assert one.digest == other.digest
    runner = shop(tmp_path)
    runner.run([one])
    runner.run([other])
    assert CALLS == [1]


def test_a_key_may_hold_what_json_writes_otherwise(tmp_path):
    """A tuple is read back as a list, a number that names something as text: it is the same key."""
    kept = Job(function=square, inputs={"number": 1}, key={"seeds": (123, 124), "caps": {123: 400}})
    shop(tmp_path).run([kept])
    runner = shop(tmp_path)
    runner.run([kept])
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
def test_a_damaged_file_is_made_anew(tmp_path, damaged):
    path = tmp_path / f"{job(1).digest}.json"
    path.write_bytes(damaged)
    runner = shop(tmp_path)
    assert runner.run([job(1)]) == [result(1)]
    assert runner.num_kept == 0
    assert CALLS == [1]
    assert json.loads(path.read_text()) == {"format": 1, "key": {"number": 1}, "result": result(1)}


def test_a_file_says_what_it_is_the_result_of(tmp_path):
    shop(tmp_path).run([job(3)])
    (path,) = tmp_path.iterdir()
    assert path.name == f"{job(3).digest}.json"
    assert json.loads(path.read_text()) == {"format": 1, "key": {"number": 3}, "result": result(3)}


def test_a_fault_in_a_job_reaches_the_caller_and_earlier_results_are_kept(tmp_path):
    jobs = [job(1, work=3), job(2, fail, work=2), job(3, work=1)]
    with pytest.raises(ValueError, match="no square of 2"), shop(tmp_path) as runner:
        runner.run(jobs)
    assert CALLS == [1]
    assert [path.name for path in tmp_path.iterdir()] == [f"{jobs[0].digest}.json"]


def test_after_an_interrupt_the_rest_is_done_where_it_was_left(tmp_path):
    jobs = [job(1, work=3), job(2, interrupt, work=2), job(3, work=1)]
    with pytest.raises(KeyboardInterrupt), shop(tmp_path) as runner:
        runner.run(jobs)
    jobs[1] = job(2, work=2)
    with shop(tmp_path) as runner:
        assert runner.run(jobs) == [result(1), result(2), result(3)]
        assert runner.num_kept == 1
    assert CALLS == [1, 2, 3]


def test_a_result_that_is_not_a_number_is_refused(tmp_path):
    """NaN is no JSON; a folder that could not be read again would be worse than an error."""
    with pytest.raises(ValueError, match="JSON"):
        shop(tmp_path).run([Job(function=lambda report_progress: float("nan"), inputs={}, key={})])
    assert not list(tmp_path.glob("*.json"))


def test_progress_is_told_as_a_share_of_the_work_that_is_left(tmp_path):
    shop(tmp_path).run([job(1, work=100)])
    news = []
    shop(tmp_path, news=news).run([job(1, work=100), job(2, work=6), job(3, work=2)])
    assert news == [("half", 3.0, 8.0), ("half", 7.0, 8.0)]


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
    """One pool for all that is asked of it, since processes take a while to start."""
    (tmp_path / "jobs_for_processes.py").write_text(JOBS)
    monkeypatch.syspath_prepend(tmp_path)
    import jobs_for_processes  # type: ignore[import-not-found]

    def jobs(*numbers):
        return [job(number, jobs_for_processes.square, work=number) for number in numbers]

    def interrupt_when_one_is_done(label, done, total):
        if done >= 7:
            raise KeyboardInterrupt

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    kept, news = tmp_path / "kept", []
    with pytest.raises(KeyboardInterrupt), shop(kept, 2, news) as runner:
        results = runner.run(jobs(1, 2, 3, 4, 5, 6))
        assert [each["square"] for each in results] == [1, 4, 9, 16, 25, 36]
        processes = {each["process"] for each in results}
        assert os.getpid() not in processes
        assert 1 <= len(processes) <= 2
        assert {each["threads"] for each in results} == {"1"}
        assert os.environ["OMP_NUM_THREADS"] == "3"
        assert news[-1][1:] == (21.0, 21.0)
        assert all(done <= total == 21.0 for _, done, total in news)
        assert "at 6" in {part for label, _, _ in news for part in label.split("  ")}

        assert runner.run(jobs(1, 2, 3, 4, 5, 6)) == results
        assert runner.num_kept == 6
        with pytest.raises(ValueError, match="no square of 13"):
            runner.run(jobs(13))

        runner.progress, began = interrupt_when_one_is_done, time.monotonic()
        runner.run(jobs(7, 100))
    assert time.monotonic() - began < 20  # the job that takes a minute was not waited for
    assert {json.loads(path.read_text())["key"]["number"] for path in kept.iterdir()} == {1, 2, 3, 4, 5, 6, 7}
    del sys.modules["jobs_for_processes"]
