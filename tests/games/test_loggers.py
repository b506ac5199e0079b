"""Loggers: the figures of the log in other forms, also of a user's own class, and after a run was continued."""

import csv
import json
import signal
import sys

import pytest

from ecsuite.games.loggers import flat_figures, make_loggers
from ecsuite.games.training import train
from ecsuite.jobs.signals import stop_signals
from ecsuite.runtime.errors import ConfigError
from ecsuite.testing import checks

MINE = """
from dataclasses import dataclass

@dataclass(frozen=True, kw_only=True)
class Options:
    prefix: str = ""

class Mine:
    Options = Options

    def __init__(self, options):
        self.options = options

    def start(self, config, folder, step):
        self.file = open(folder / "mine.txt", "a")
        print("start", config["name"], step, file=self.file)

    def log(self, step, figures):
        print(self.options.prefix, step, sorted(figures)[:1], file=self.file)

    def close(self):
        print("close", file=self.file)
        self.file.close()
"""


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


def rows_of(folder):
    with (folder / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    return [{name: float(value) for name, value in row.items() if "second" not in name} for row in rows]


def test_the_csv_file_has_the_figures_of_the_log(tmp_path, small, logged, log_of):
    logged(small(), "csv")
    log = [{"step": float(line["step"]), **flat_figures(line)} for line in log_of(tmp_path / "run")]
    assert rows_of(tmp_path / "run") == log and len(log) == 6


def test_rows_after_the_checkpoint_are_dropped_and_come_once(tmp_path, small, logged, kill):
    experiment = small("training.checkpoint_every=8")
    logged(experiment, "csv", progress=kill(signal.SIGTERM, 13))
    folder = tmp_path / "run"
    with (folder / "log.csv").open("a") as file:
        file.write(
            "16,2.0,0,0,0,0,0,0,0\n20,2.5,0"
        )  # of a run that was killed later, the last row in the middle
    logged(experiment, "csv", resume=True)
    assert [row["step"] for row in rows_of(folder)] == [4, 8, 12, 16, 20, 24]
    again = rows_of(folder)
    folder.rename(tmp_path / "first")
    logged(experiment, "csv")
    assert rows_of(folder) == again


def test_a_new_figure_is_a_new_column(tmp_path):
    (logger,) = make_loggers(["csv"])
    logger.start({}, tmp_path, 0)
    logger.log(1, {"a": 0.5})
    logger.log(2, {"a": 1.0, "b": 2.0})
    assert (tmp_path / "log.csv").read_text() == "step,a,b\n1,0.5,\n2,1.0,2.0\n"


def test_a_class_of_ones_own_with_options(tmp_path, small, logged, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    logged(small("training.num_epochs=1"), "csv,./mine.py:Mine,prefix=x")
    assert (tmp_path / "run" / "log.csv").exists()
    assert (tmp_path / "run" / "mine.txt").read_text().splitlines() == [
        "start disc_tiny 0", "x 4 ['epoch']", "x 8 ['epoch']", "close",
    ]  # fmt: skip


def test_loggers_are_closed_after_an_error(tmp_path, small, logged, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)

    def fail(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        logged(small(), "./mine.py:Mine", progress=fail)
    assert (tmp_path / "run" / "mine.txt").read_text().splitlines()[-1] == "close"


@pytest.mark.parametrize("name", ["tensorboard", "wandb"])
def test_a_missing_package_is_named_with_its_command(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    with pytest.raises(ConfigError) as error:
        make_loggers([name])
    assert str(error.value) == f"--log {name} needs the package {name}: pip install 'ecsuite[{name}]'"


def test_a_run_without_loggers_writes_nothing_more(whole):
    assert not (whole / "log.csv").exists()
    assert json.loads((whole / "log.jsonl").read_text().splitlines()[0]).keys() == {
        "step", "epoch", "train", "valid", "examples_per_second",
    }  # fmt: skip


def test_the_csv_file_holds_what_loggers_of_users_must_hold():
    for check in checks("logger", "csv"):
        check()
