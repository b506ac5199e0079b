"""Jobs in Slurm: tasks that end, die, are left behind and taken up again; on a real Slurm where there is one."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from counting_jobs import LOG, square

from ecsuite.config import ConfigError
from ecsuite.jobs import slurm
from ecsuite.jobs.engines import place_of
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job
from ecsuite.jobs.slurm import Slurm, minutes_of, slurm_options

HAS_SLURM = (
    shutil.which("sbatch") is not None
    and subprocess.run(["sinfo"], capture_output=True, check=False).returncode == 0
)


class Cluster:
    """What submitit and Slurm do, in this process: tasks wait until `run` computes them."""

    def __init__(self):
        self.waiting, self.num_submitted, self.refuses = {}, 0, False

    def batch(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, function, *arguments):
        if self.refuses:
            raise RuntimeError("sbatch: error: invalid partition\nspecified: nowhere")
        name = f"7_{self.num_submitted}"
        self.num_submitted += 1
        self.waiting[name] = (function, arguments)
        return type("Task", (), {"job_id": name})

    def run(self):
        for name in list(self.waiting):
            function, arguments = self.waiting.pop(name)
            function(*arguments)


@pytest.fixture
def cluster(monkeypatch, tmp_path_factory):
    cluster = Cluster()
    monkeypatch.setenv(LOG, str(tmp_path_factory.mktemp("log") / "log.txt"))
    monkeypatch.setattr(slurm, "_executor", lambda folder, options: cluster)
    monkeypatch.setattr(slurm, "_queued", lambda: set(cluster.waiting))
    monkeypatch.setattr(slurm, "SECONDS_BETWEEN_CHECKS", 0.0)
    return cluster


def engine(before_poll=lambda: None):
    def made(store, report):
        place = Slurm(store, report, {})
        poll = place.poll
        place.poll = lambda seconds: (poll(0), before_poll())
        return place

    return made


def test_results_are_those_of_the_jobs(cluster, tmp_path):
    jobs = [Job(square, number=number) for number in range(4)]
    told = []
    runner = Runner(folder=tmp_path, engine=engine(cluster.run), announces=True, note=told.append)
    results = runner.run(jobs)
    assert told == [f"4 jobs: 0 kept in {tmp_path}, 4 to submit"]
    assert [results[job].value["square"] for job in jobs] == [0, 1, 4, 9] and cluster.num_submitted == 4
    assert not list((tmp_path / "slurm").glob("*.json"))
    assert Runner(folder=tmp_path, engine=None).run(jobs) == results and cluster.num_submitted == 4


def test_a_task_that_slurm_lost_is_tried_once_more(cluster, tmp_path):
    told, lost = [], []

    def lose_the_first():
        if lost:
            cluster.run()
        elif cluster.waiting:
            lost.append(cluster.waiting.pop("7_0"))

    job = Job(square, number=4)
    found = Runner(folder=tmp_path, engine=engine(lose_the_first), note=told.append).run([job])
    assert found[job].value["square"] == 16 and cluster.num_submitted == 2
    assert "its task 7_0 in Slurm ended without a result" in told[0] and "tried once more" in told[0]


def test_tasks_go_on_without_the_command_and_are_taken_up_again(cluster, tmp_path):
    told, jobs = [], [Job(square, number=number) for number in range(3)]
    asked = iter([None, "interrupt"])
    with pytest.raises(KeyboardInterrupt):
        Runner(
            folder=tmp_path, engine=engine(), note=told.append, should_stop=lambda: next(asked, "interrupt")
        ).run(jobs)
    assert told == ["3 tasks go on in Slurm; the same command takes their results; to cancel them: scancel 7"]
    first = cluster.waiting.pop("7_0")  # one of them ends meanwhile
    first[0](*first[1])
    results = Runner(folder=tmp_path, engine=engine(cluster.run)).run(jobs)
    assert [results[job].value["square"] for job in jobs] == [0, 1, 4] and cluster.num_submitted == 3
    assert not list((tmp_path / "slurm").glob("*.json"))
    first[0](*first[1])  # queued again by Slurm although its result was taken: computes nothing
    assert not list((tmp_path / "slurm").glob("*.json"))


def test_a_damaged_note_of_a_task_is_removed(cluster, tmp_path):
    (tmp_path / "slurm").mkdir()
    for name, text in (("a", "{"), ("b", '{"group": "x", "slurm_id": "9_9"}'), ("c", "[]")):
        (tmp_path / "slurm" / f"{name}.task.json").write_text(text)
    job = Job(square, number=1)
    assert Runner(folder=tmp_path, engine=engine(cluster.run)).run([job])[job].value["square"] == 1
    assert not list((tmp_path / "slurm").glob("*.json"))


def test_what_sbatch_refuses_is_one_line(cluster, tmp_path):
    cluster.refuses = True
    with pytest.raises(
        ConfigError, match="sbatch refused the jobs: sbatch: error: invalid partition specified"
    ):
        Runner(folder=tmp_path, engine=engine()).run([Job(square, number=1)])
    assert not list((tmp_path / "slurm").glob("*.json"))


def test_options():
    assert slurm_options("partition=low, gres=gpu:1") == {"time": "60", "partition": "low", "gres": "gpu:1"}
    assert slurm_options("--cpus-per-task=2,time=2:00:00") == {"time": "2:00:00", "cpus_per_task": "2"}
    for text, minutes in (
        ("90", 90),
        ("5:30", 5),
        ("1:30:00", 90),
        ("1-12", 2160),
        ("2-01:30:00", 2970),
        ("0", 1),
    ):
        assert minutes_of(text) == minutes
    assert place_of("slurm,partition=low").engine.keywords["options"] == {"time": "60", "partition": "low"}
    for text in ("low", "time=soon", "time=1:2:3:4", "time="):
        with pytest.raises(ConfigError, match="--slurm"):
            slurm_options(text)


def test_without_slurm_the_remedy_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(
        ConfigError, match="--on slurm: there is no sbatch here; run the command on a login node"
    ):
        Runner(folder=tmp_path, engine=place_of("slurm").engine).run([Job(square, number=1)])


SWEEP = """
base: disc_tiny
vary: {channel.vocab_size: [5, 20]}
set: {training.num_epochs: 2, training.checkpoint_every: 8}
score: [topsim]
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not HAS_SLURM, reason="no Slurm answers `sinfo` here")
def test_a_sweep_in_a_real_slurm_has_the_same_bytes(tmp_path, ecsuite, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(SWEEP)
    for on in (["here"], ["slurm", "--slurm", "time=10"]):
        code, _, err = ecsuite("sweep", "study.yaml", "--on", *on, "--out", on[0])
        assert code == 0, err
    for corpus in Path("here/runs").glob("*/corpus.jsonl"):
        other = Path("slurm").joinpath(*corpus.parts[1:])
        assert corpus.read_bytes() == other.read_bytes()
    scores = [json.loads(Path(place, "sweep.json").read_bytes())["runs"] for place in ("here", "slurm")]
    assert [run["scores"] for run in scores[0]] == [run["scores"] for run in scores[1]]
