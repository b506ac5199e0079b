"""The run folder: who it belongs to, what it holds, and the signals that end a run early.

A run folder holds `config.yaml` (complete: it runs again as it is), `log.jsonl` (a line an evaluation), the newest
checkpoints, and in the end the corpus: `corpus.jsonl`, `meanings.jsonl` and `metadata.json`.
"""

import json
import platform
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import numpy as np
import torch

import ecsuite
from ecsuite.config import ConfigError, DamagedError, Experiment, load_experiment, with_training
from ecsuite.corpus import write_atomically
from ecsuite.file_formats import FORMATS, KEY
from ecsuite.games.checkpoints import checkpoints

TMP_FILES = re.compile(
    r"\.(config\.yaml|checkpoint-\d+\.safetensors|(corpus|meanings)\.jsonl|metadata\.json)\.\d+\.tmp"
)
"""Names of files that a killed run may have been writing."""


def check_run_folder(folder: Path, experiment: Experiment, *, resume: bool) -> dict[str, Any] | None:
    """Look whether the folder is free for this run, or holds it already. Changes nothing.

    Args:
        folder: The run folder; it need not be there.
        experiment: The run; a resumed one may have other settings for when to stop.
        resume: Whether an unfinished run in the folder may be gone on with.

    Returns:
        What the folder's metadata say of the training, if it already holds this very run, finished; else None.

    Raises:
        ConfigError: If the folder holds another run, or an unfinished one and `resume` is False.
        DamagedError: If its config can't be read.
        FormatError: If a newer version wrote it.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file: choose another folder with --out")
    config = folder / "config.yaml"
    if config.exists():
        try:
            there = load_experiment(str(config))
        except ConfigError as error:
            raise DamagedError(f"damaged run folder: {error}") from None
        difference = _difference(there, experiment)
        if difference:
            raise ConfigError(f"{folder} holds another run ({difference}): choose another folder with --out")
        training = _read_training(folder, experiment)
        if training and training["stopped"] != "interrupt" and not resume:
            return training
        if not resume and checkpoints(folder):
            raise ConfigError(
                f"{folder} holds this run, unfinished: add --resume to go on, or choose another folder with --out"
            )
    elif folder.is_dir() and not all(TMP_FILES.fullmatch(file.name) for file in folder.iterdir()):
        raise ConfigError(f"{folder} is not empty and not a run: choose another folder with --out")
    return None


def claim(folder: Path, experiment: Experiment) -> None:
    """Make the folder this run's own, and remove what a killed one left half-written."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if TMP_FILES.fullmatch(file.name):
            file.unlink()
    text = f"{KEY}: {FORMATS['config']}\n{experiment.to_yaml()}"
    write_atomically(folder / "config.yaml", text.encode())


def open_log(file: Path, num_lines: int) -> BinaryIO:
    """Open a log for appending after its first `num_lines`: what a killed run wrote later will be written again."""
    log = file.open("r+b" if file.exists() else "w+b")
    end = sum(map(len, islice(log, num_lines)))
    log.seek(end)
    log.truncate()
    return log


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT, SIGTERM and SIGUSR1 in a list instead of dying; the second one acts as usual."""
    asked: list[int] = []
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    before = {name: signal.getsignal(name) for name in names}

    def ask(number: int, _: FrameType | None) -> None:
        if (
            asked
        ):  # both may be pending at once, so the handler of one is not changed while the other is handled
            signal.signal(number, before[signal.Signals(number)])
            signal.raise_signal(number)
        asked.append(number)

    for name in names:
        signal.signal(name, ask)
    try:
        yield asked
    finally:
        for name in names:
            signal.signal(name, before[name])


def versions(device: torch.device) -> dict[str, Any]:
    """What a run must share with another to be bit-identical with it."""
    return {
        "ecsuite": ecsuite.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": device.type,
        "num_threads": torch.get_num_threads(),
    }


def _difference(there: Experiment, here: Experiment) -> str:
    """The first setting in which two runs differ, but for those that only say when to stop."""
    neutral = {
        "num_epochs": here.training.num_epochs,
        "until_accuracy": here.training.until_accuracy,
        "max_minutes": here.training.max_minutes,
    }
    before, now = asdict(with_training(there, **neutral)), asdict(here)
    for section, values in now.items():
        pairs = values.items() if isinstance(values, dict) else [("", values)]
        for key, value in pairs:
            old = before[section][key] if key else before[section]
            if old != value:
                return f"{section}{'.' if key else ''}{key} is {old} there and {value} here"
    return ""


def _read_training(folder: Path, experiment: Experiment) -> dict[str, Any] | None:
    """What the folder's metadata say of the training, and the probes, if they are of this very experiment."""
    try:
        metadata = json.loads((folder / "metadata.json").read_bytes())
        known = metadata["training"] | {"probes": metadata.get("probes", {})}
        return known if metadata["config"] == asdict(experiment) else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
