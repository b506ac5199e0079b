"""The run folder: checks before a run, its files, and the signals that end a run early.

A run folder holds `config.yaml` (every setting, so that it reproduces the run), `log.jsonl` (one line per evaluation),
the newest checkpoints, and at the end of the run the corpus: `corpus.jsonl`, `meanings.jsonl` and `metadata.json`.
"""

import json
import platform
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import numpy as np
import torch

import ecsuite
from ecsuite.config import ConfigError, DamagedError
from ecsuite.corpus import write_atomically
from ecsuite.file_formats import FORMATS, KEY
from ecsuite.games.checkpoints import checkpoints
from ecsuite.games.experiment import Experiment, load_experiment, with_training

TMP_FILES = re.compile(
    r"\.(config\.yaml|checkpoint-\d+\.safetensors|(corpus|meanings)\.jsonl|metadata\.json)\.\d+\.tmp"
)
"""Names of temporary files that a killed run may leave behind."""


def check_run_folder(folder: Path, experiment: Experiment, *, resume: bool) -> dict[str, Any] | None:
    """Check whether the folder can be used for this run or already holds it. Changes no file.

    Args:
        folder: The run folder; it need not exist.
        experiment: The run; on resuming, the settings of when to stop may differ.
        resume: Whether to continue an unfinished run in the folder.

    Returns:
        The training section of the folder's metadata if it holds this run and the run is finished; else None.

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
            existing = load_experiment(str(config))
        except ConfigError as error:
            raise DamagedError(f"damaged run folder: {error}") from None
        difference = _difference(existing, experiment)
        if difference:
            raise ConfigError(f"{folder} holds another run ({difference}): choose another folder with --out")
        training = _read_training(folder, experiment)
        if training and training["stopped"] != "interrupt" and not resume:
            return training
        if not resume and checkpoints(folder):
            raise ConfigError(
                f"{folder} holds this run, unfinished: add --resume to continue it, or choose another folder with --out"
            )
    elif folder.is_dir() and not all(TMP_FILES.fullmatch(file.name) for file in folder.iterdir()):
        raise ConfigError(f"{folder} is not empty and not a run folder: choose another folder with --out")
    return None


def prepare_run_folder(folder: Path, experiment: Experiment) -> None:
    """Create the folder, remove temporary files of a killed run, and write `config.yaml`."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if TMP_FILES.fullmatch(file.name):
            file.unlink()
    text = f"{KEY}: {FORMATS['config']}\n{experiment.to_yaml()}"
    write_atomically(folder / "config.yaml", text.encode())


def open_log(file: Path, num_lines: int) -> BinaryIO:
    """Open a log for appending after its first `num_lines`; later lines of a killed run are removed and rewritten."""
    log = file.open("r+b" if file.exists() else "w+b")
    end = sum(map(len, islice(log, num_lines)))
    log.seek(end)
    log.truncate()
    return log


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT, SIGTERM and SIGUSR1 in a list instead of ending; the second signal has its usual effect."""
    received: list[int] = []
    names = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    before = {name: signal.getsignal(name) for name in names}

    def handle_signal(number: int, _: FrameType | None) -> None:
        # Both may be pending at once, so the handler of one is not changed while the other is handled.
        if received:
            signal.signal(number, before[signal.Signals(number)])
            signal.raise_signal(number)
        received.append(number)

    for name in names:
        signal.signal(name, handle_signal)
    try:
        yield received
    finally:
        for name in names:
            signal.signal(name, before[name])


def versions(device: torch.device) -> dict[str, Any]:
    """Versions and hardware settings that two runs must share to be bit-identical."""
    return {
        "ecsuite": ecsuite.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": device.type,
        "num_threads": torch.get_num_threads(),
    }


def _difference(existing: Experiment, requested: Experiment) -> str:
    """The first setting in which two runs differ, except its description and when to stop; empty if none."""
    neutral = {
        "num_epochs": requested.training.num_epochs,
        "until_accuracy": requested.training.until_accuracy,
        "max_minutes": requested.training.max_minutes,
    }
    existing = replace(with_training(existing, **neutral), about=requested.about)
    before, now = existing.to_tree(), requested.to_tree()
    for section, values in now.items():
        pairs = values.items() if isinstance(values, dict) else [("", values)]
        for key, value in pairs:
            old = before[section][key] if key else before[section]
            if old != value:
                return f"{section}{'.' if key else ''}{key} is {old} in the folder, {value} requested"
    return ""


def _read_training(folder: Path, experiment: Experiment) -> dict[str, Any] | None:
    """The folder's metadata on the training and the extra evaluations, if they belong to this experiment."""
    try:
        metadata = json.loads((folder / "metadata.json").read_bytes())
        known = metadata["training"] | {"probes": metadata.get("probes", {})}
        same = metadata["config"] | {"about": experiment.about} == experiment.to_tree()
        return known if same else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
