"""Processes of a machine with several GPUs: each sees one of them; the GPUs are pretended."""

import os

from counting_jobs import LOG, seen_gpu, square

from ecsuite.jobs import graph
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job
from ecsuite.jobs.launchers import VISIBLE, visible_gpus


def test_without_a_choice_all_are_used(monkeypatch):
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 3)
    assert visible_gpus() == ("0", "1", "2")


def test_each_process_sees_one_gpu(tmp_path, monkeypatch):
    monkeypatch.setenv(LOG, str(tmp_path / "log.txt"))
    monkeypatch.setenv(VISIBLE, "4,7")
    monkeypatch.setattr(graph, "num_cores", lambda: 4)
    jobs = [Job(seen_gpu, number=number, together=2) for number in range(2)]
    results = Runner(folder=tmp_path / "kept", num_workers=2).run([*jobs, Job(square, number=3)])
    assert sorted(results[job].value for job in jobs) == ["4", "7"] and os.environ[VISIBLE] == "4,7"
