"""A game small enough to be trained many times, and its run folders."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecsuite.eval.run_metrics.language_metrics import LanguageMetrics
from ecsuite.games.config.experiment import load_experiment
from ecsuite.games.config.sections import Experiment
from ecsuite.games.runs.result import RunResult
from ecsuite.games.training.train import train
from ecsuite.games.worlds.feature_files import synthetic_features, write_features
from ecsuite.jobs.signals import stop_signals

SMALL = (
    "sender.hidden_size=16", "receiver.hidden_size=16", "sender.embedding_size=8", "receiver.embedding_size=8",
    "training.num_examples=250", "training.batch_size=32", "training.num_epochs=3", "training.evaluate_every=4",
    "training.checkpoint_every=4", "training.precision=fp32", "evaluation.num_valid=50",
)  # fmt: skip
"""24 steps, with a short last batch in each epoch."""


@pytest.fixture(scope="session")
def small() -> Callable[..., Experiment]:
    """Makes the small experiment, with changes."""
    return lambda *overrides: load_experiment("disc_tiny", [*SMALL, *overrides])


@pytest.fixture(scope="session")
def run() -> Callable[..., RunResult]:
    """Trains without a word, and stops at signals; notes are added to the list `notes`."""

    def run(experiment, folder, *, resume=False, progress=lambda *_: None, notes=None) -> RunResult:
        note = (lambda _: None) if notes is None else notes.append
        how = {"device": "cpu", "scorer": LanguageMetrics, "progress": progress, "note": note}
        with stop_signals() as asked:
            return train(experiment, folder, resume=resume, should_stop=asked, **how)

    return run


@pytest.fixture(scope="session")
def log_of() -> Callable[[Path], list[dict[str, Any]]]:
    """Reads the log of a run folder, without its clock."""

    def log_of(folder: Path) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
        for line in lines:
            assert line.pop("examples_per_second") >= 0
        return lines

    return log_of


@pytest.fixture(scope="session")
def contents(log_of: Callable[[Path], Any]) -> Callable[[Path], dict[str, Any]]:
    """Reads everything in a run folder that must repeat."""

    def contents(folder: Path) -> dict[str, Any]:
        files = {file.name: file.read_bytes() for file in folder.glob("*.*") if file.name != "log.jsonl"}
        return files | {"log.jsonl": log_of(folder)}

    return contents


@pytest.fixture(scope="session")
def whole(small, run, tmp_path_factory) -> Path:
    """The folder of the small run that nobody disturbed; not to be changed."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(small(), folder)
    return folder


@pytest.fixture
def finished(whole: Path, tmp_path: Path) -> Path:
    """A copy of the folder of the small run."""
    return shutil.copytree(whole, tmp_path / "finished")


@pytest.fixture(scope="session")
def unchanged() -> Callable[[Path], AbstractContextManager[None]]:
    """Makes a context in which every file of a folder must stay as it is."""

    @contextmanager
    def unchanged(folder: Path) -> Iterator[None]:
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        yield
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before

    return unchanged


@pytest.fixture(scope="session")
def kill() -> Callable[[int, int], Callable[..., None]]:
    """Makes a progress callback that sends a signal to this process after some step."""
    return lambda number, at: lambda _, done, total: os.kill(os.getpid(), number) if done == at else None


@pytest.fixture(scope="session")
def object_table(tmp_path_factory) -> str:
    """A table of 16 objects: 4 colors by 4 shapes."""
    file = tmp_path_factory.mktemp("objects") / "objects.csv"
    rows = (f"{color},{shape}\n" for color in "abcd" for shape in "efgh")
    file.write_text("color,shape\n" + "".join(rows))
    return str(file)


@pytest.fixture(scope="session")
def image_folder(tmp_path_factory) -> str:
    """A folder of 16 images of 20 x 30 pixels in two classes, which are their sub-folders."""
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path_factory.mktemp("images") / "photos"
    pixels = np.random.default_rng(0).integers(256, size=(16, 3, 2, 3)).astype(np.uint8)
    for number, each in enumerate(pixels):
        place = folder / ("bird", "cat")[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        image.fromarray(each).resize((20, 30), image.Resampling.NEAREST).save(place / f"{number:02}.png")
    return str(folder)


@pytest.fixture(scope="session")
def feature_file(tmp_path_factory) -> str:
    """A file of 8 classes of 24 rows of 5 features, with 4 attributes."""
    file = str(tmp_path_factory.mktemp("features") / "features.npz")
    write_features(file, synthetic_features(1, 8, 24, 5, 4))
    return file
