import os
import signal

import pytest

from counting_jobs import LOG, seen_gpu, square
from ecsuite.jobs import graph
from ecsuite.jobs.engines import place_of
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job
from ecsuite.jobs.launchers import VISIBLE, visible_gpus
from ecsuite.jobs.signals import stop_signals
from ecsuite.runtime.errors import ConfigError


@pytest.mark.parametrize(
    ("on", "said"),
    [
        *((on, f"--on {on}: expected here, local, local:N") for on in ("local:0", "local:x", "moon", "here:2")),
        ("local,slow=1", "unknown option of --on local 'slow'"),
        ("here,silent=3", "unknown option of --on here 'silent'"),
        ("local,silent=0", "silent=0: expected a number of at least 1"),
        ("local,silent=long", "silent=long: expected a number"),
        ("ray,cpu=2", "unknown option of --on ray 'cpu'; did you mean 'cpus'"),
        ("ray,cpus=many", "cpus=many: expected a number of at least 0"),
        ("ray,local", "expected KEY=VALUE, such as partition=low, got local"),
    ],
)  # fmt: skip
def test_wrong_places_are_told(on, said):
    with pytest.raises(ConfigError, match=said.replace("(", r"\(")):
        place_of(on)


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


def test_the_first_signal_is_noted_and_the_second_acts():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # also where tests run in the background
    try:
        with stop_signals() as should_stop:
            assert should_stop() is None
            signal.raise_signal(signal.SIGINT)
            assert should_stop() == "interrupt"
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
