"""Processes of a machine with several GPUs: each sees one of them; the GPUs are pretended."""

import os

import pytest
from counting_jobs import LOG, seen_gpu, square

from ecsuite.jobs import engines, graph
from ecsuite.jobs.engines import place_of
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job
from ecsuite.jobs.launchers import VISIBLE, visible_gpus


@pytest.mark.parametrize(
    ("text", "names"),
    [("0,2", ("0", "2")), ("", ()), ("1,-1,2", ("1",)), ("GPU-3a, GPU-4b", ("GPU-3a", "GPU-4b"))],
)
def test_the_gpus_are_those_that_cuda_would_choose(monkeypatch, text, names):
    monkeypatch.setenv(VISIBLE, text)
    assert visible_gpus() == names


def test_without_a_choice_all_are_used(monkeypatch):
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 3)
    assert visible_gpus() == ("0", "1", "2")


def test_each_process_sees_one_gpu(tmp_path, monkeypatch):
    """Jobs that end together show which process had which: none has a GPU that another one uses."""
    monkeypatch.setenv(LOG, str(tmp_path / "log.txt"))
    monkeypatch.setenv(VISIBLE, "4,7")
    monkeypatch.setattr(graph, "num_cores", lambda: 4)
    jobs = [Job(seen_gpu, number=number, together=2) for number in range(2)]
    results = Runner(folder=tmp_path / "kept", num_workers=2).run([*jobs, Job(square, number=3)])
    assert sorted(results[job].value for job in jobs) == ["4", "7"] and os.environ[VISIBLE] == "4,7"


def test_there_is_a_process_for_each_gpu(monkeypatch):
    monkeypatch.setenv(VISIBLE, "0,1,2")
    assert place_of("local").workers_for("cuda") == 3 and place_of("local:5").workers_for("cuda") == 5
    monkeypatch.setattr(engines, "num_cores", lambda: 6)
    assert place_of("local").workers_for("cpu") == 6
    monkeypatch.setenv(VISIBLE, "")
    assert place_of("local").workers_for("cuda") == 1


@pytest.mark.parametrize(("cores", "most"), [(4, 2), (3, 1), (1, 1)])
def test_the_cores_are_divided_among_processes(tmp_path, monkeypatch, cores, most):
    """A job keeps its number of threads; as many run at once as there are cores for."""
    monkeypatch.setattr(graph, "num_cores", lambda: cores)
    monkeypatch.setenv(VISIBLE, "0,1,2,3")
    running, seen = set(), []

    class Place(graph.Workers):
        num_slots = 3

        def submit(self, number, group, resources):
            running.add(number)
            seen.append((len(running), resources.num_threads))

        def poll(self, seconds):
            for number in list(running):
                running.remove(number)
                self.report(graph.Event(kind="failed", group=number, text="no", error="OSError"))

    monkeypatch.setattr(graph, "Workers", Place)
    Runner(folder=tmp_path, num_workers=3).run(
        [Job(seen_gpu, number=number, together=1) for number in range(4)]
    )
    assert max(number for number, _ in seen) == most and {threads for _, threads in seen} == {2}
