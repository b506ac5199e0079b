"""Loggers: the figures of the log in other forms, also of a user's own class, and after a run was continued."""

import csv
import signal
import sys

import pytest

from ecsuite.games.runs.result import flat_figures
from ecsuite.games.training.loggers import make_loggers
from ecsuite.games.training.train import train
from ecsuite.jobs.signals import stop_signals
from ecsuite.runtime.errors import ConfigError
from ecsuite.testing import checks


@pytest.fixture
def logged(tmp_path):
    """Trains with loggers in the folder `run`."""

    def logged(experiment, *texts, resume=False, progress=lambda *_: None):
        with stop_signals() as asked:
            return train(
                experiment, tmp_path / "run", resume=resume, device="cpu", loggers=make_loggers(texts),
                progress=progress, note=lambda _: None, should_stop=asked,
            )  # fmt: skip

    return logged


def test_the_csv_file_has_the_figures_of_the_log_also_after_a_kill(tmp_path, small, logged, log_of, kill):
    """Rows after the checkpoint are dropped, and come once."""
    experiment = small("training.checkpoint_every=8")
    logged(experiment, "csv", progress=kill(signal.SIGTERM, 13))
    with (tmp_path / "run" / "log.csv").open("a") as file:
        file.write("16,2.0,0,0,0,0,0,0,0\n20,2.5,0")  # of a run that was killed later, the last row cut
    logged(experiment, "csv", resume=True)
    log = [{"step": float(line["step"]), **flat_figures(line)} for line in log_of(tmp_path / "run")]
    with (tmp_path / "run" / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = [{name: float(value) for name, value in row.items() if "second" not in name} for row in rows]
    assert found == log and len(log) == 6


class Service:
    """In the place of `trackio`: keeps what it is given; away after `limit` figures."""

    def __init__(self):
        self.names, self.sent, self.limit = [], [], 100

    def init(self, name, config, **_):
        if self.limit == 0:
            raise ConnectionError("no answer\nfrom the server")
        self.names.append(name)
        return self

    def log(self, figures, step):
        if len(self.sent) == self.limit:
            raise ConnectionError("no answer\nfrom the server")
        self.sent.append(step)

    def finish(self):
        print("finished")


@pytest.fixture
def service(monkeypatch):
    service = Service()
    monkeypatch.setitem(sys.modules, "trackio", service)
    return service


def test_a_service_that_is_away_and_another_run_in_the_folder(tmp_path, small, logged, service, capsys):
    service.limit = 2
    logged(small(), "trackio")
    assert service.sent == [4, 8]
    line = "--log trackio: no figures are sent from step 12 on: no answer from the server"
    assert capsys.readouterr().err.count(line) == 1
    service.limit = 100
    (tmp_path / "run").rename(tmp_path / "first")
    logged(small("training.num_epochs=1"), "trackio")
    assert len(set(service.names)) == 2
    service.limit = 0
    with pytest.raises(ConfigError, match=r"^--log trackio: no answer from the server$"):
        make_loggers(["trackio"])[0].start({}, tmp_path, 0)


def test_mlflow_has_the_settings_and_the_figures(tmp_path, small, logged, log_of):
    mlflow = pytest.importorskip("mlflow")
    database = f"sqlite:///{tmp_path}/all.db"
    logged(small(), f"mlflow,tracking={database}")
    client = mlflow.MlflowClient(database)
    (run,) = client.search_runs([client.get_experiment_by_name("ecsuite").experiment_id])
    assert run.info.status == "FINISHED" and run.data.params["channel.kind"] == "gumbel"
    history = client.get_metric_history(run.info.run_id, "valid.loss")
    assert [(each.step, each.value) for each in history] == [
        (line["step"], line["valid"]["loss"]) for line in log_of(tmp_path / "run")
    ]


def test_the_csv_file_holds_what_loggers_of_users_must_hold():
    for check in checks("logger", "csv"):
        check()
