import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from counting_jobs import LOG, misbehave, square
from ecsuite.jobs import ray as ray_workers
from ecsuite.jobs.engines import place_of
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Location
from ecsuite.runtime.errors import ConfigError
from slurm_daemons import corpora, program, scores, with_patience

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[ray]'")
psutil = pytest.importorskip("psutil", reason="psutil is not installed: pip install psutil")
pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(900),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]  # fmt: skip

STUDY = """
base: disc_tiny
vary: {channel.vocab_size: [5, 10, 20], channel.max_len: [2, 3]}
seeds: 2
set: {training.num_epochs: 6, training.checkpoint_every: 8}
score: [topsim]
"""
TESTS = str(Path(__file__).parents[1])


@pytest.fixture
def cluster(monkeypatch, tmp_path_factory):
    from ray.cluster_utils import Cluster

    # What the processes of nodes see; they are started by Ray, not by this process.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    monkeypatch.setenv(LOG, str(tmp_path_factory.mktemp("log") / "log.txt"))
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    sizes = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args=sizes | {"include_dashboard": False})
    cluster.second = cluster.add_node(**sizes)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def on(cluster):
    return f"ray,address={cluster.address}"


@pytest.fixture
def sweep(tmp_path):
    (tmp_path / "study.yaml").write_text(STUDY)

    return lambda on, out: program("sweep", "study.yaml", "--on", on, "--out", out, folder=tmp_path)


def when_results(folder, number):
    assert with_patience(lambda: len(list(folder.glob("jobs/results/*.json"))) >= number, 300)


def when_computing(node):
    (raylet,) = node.all_processes["raylet"]
    assert with_patience(lambda: any("ray::_work" in title for title in titles(raylet.process.pid)), 120)


def titles(pid):
    """The titles of the processes below one; those that end meanwhile have none."""
    for process in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            yield " ".join(process.cmdline())


def test_a_sweep_has_the_same_bytes_although_a_node_is_lost(cluster, on, sweep, tmp_path):
    here = sweep("here", "here")
    assert here.wait() == 0, here.stderr.read()
    there = sweep(on, "there")
    when_results(tmp_path / "there", 3)
    when_computing(cluster.second)
    cluster.second.kill_raylet()  # with SIGKILL, and all its processes end
    out, err = there.communicate()
    assert there.returncode == 0, err
    assert len(corpora(tmp_path / "here")) == 12 and corpora(tmp_path / "here") == corpora(tmp_path / "there")
    assert scores(tmp_path / "here") == scores(tmp_path / "there")
    assert "raylet" not in out and "Traceback" not in err
    assert "its node in Ray was lost; computed elsewhere" in " ".join(err.split())


def test_a_killed_command_computes_nothing_twice(on, sweep, tmp_path):
    first = sweep(on, "there")
    when_results(tmp_path / "there", 5)
    first.kill()
    first.wait()
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("there/jobs/results/*.json")}
    second = sweep(on, "there")
    assert second.wait() == 0, second.stderr.read()
    assert {file: file.stat().st_mtime_ns for file in kept} == kept and len(kept) < 24
    assert len(corpora(tmp_path / "there")) == 12 and not list(tmp_path.glob("there/jobs/groups/*.*"))


def test_ctrl_c_writes_checkpoints(on, sweep, tmp_path):
    first = sweep(on, "there")
    when_results(tmp_path / "there", 1)
    first.send_signal(signal.SIGINT)
    assert first.wait() == 130
    assert not list(tmp_path.glob("there/jobs/groups/*.*"))
    second = sweep(on, "there")
    assert second.wait() == 0 and len(corpora(tmp_path / "there")) == 12


def test_nodes_that_do_not_see_the_folder_are_told_of_before_anything(on, tmp_path, monkeypatch):
    look = ray_workers._sees
    monkeypatch.setattr(ray_workers, "_sees", lambda file: look(f"{file}.elsewhere"))
    place = place_of(on)
    with pytest.raises(ConfigError, match="does not see this folder; expected one that all nodes share"):
        place.require(tmp_path / "kept")


def test_a_killed_and_a_hanging_job_are_tried_once_more(on, tmp_path):
    told = []
    dies = Job(misbehave, how="die", mark=Location(path=tmp_path / "mark"))
    hangs, good = Job(misbehave, how="hang"), Job(square, number=2)
    runner = Runner(folder=tmp_path / "kept", launcher=place_of(on).launcher, note=told.append, seconds_silent=10)
    results = runner.run([dies, hangs, good])
    assert results[dies].value == "done" and results[good].value["square"] == 4
    assert results[hangs].failure == "it hung: no progress and no use of the processor for 10 s"
    assert sorted(note.partition(":")[2] for note in told)[-1].endswith("tried once more")


def test_without_a_cluster_a_line_says_what_to_type(tmp_path, refused, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    (tmp_path / "study.yaml").write_text(STUDY)
    for options, said in (
        ("", "no cluster of Ray runs here; name one"),
        (",address=127.0.0.1:9", "no cluster of Ray answers"),
    ):
        assert said in refused("sweep", "study.yaml", "--on", f"ray{options}", "--out", "there")
        assert not Path("there").exists()


def test_without_ray_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"--on ray: pip install -e '\.\[ray\]'"):
        Runner(folder=tmp_path, launcher=place_of("ray").launcher).run([Job(square, number=1)])
