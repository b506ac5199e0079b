"""The run folder: checks before a run, and its files.

A run folder holds `config.yaml` (every setting, so that it reproduces the run), `log.jsonl` (one line per evaluation),
the newest checkpoints, and at the end of the run the corpus: `corpus.jsonl`, `meanings.jsonl` and `metadata.json`.
A run that diverged writes no corpus. It has a last line in the log and, if the folder has no corpus of fewer steps, a
`metadata.json`, both with `stopped: diverged`; another run may then replace it.
"""

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

import ecsuite
from ecsuite.config import ConfigError, DamagedError, Experiment, build, load_experiment, with_training
from ecsuite.corpus import write_atomically
from ecsuite.file_formats import FORMATS, KEY
from ecsuite.games.checkpoints import checkpoints, newest_step

TMP_FILES = re.compile(
    r"\.(config\.yaml|checkpoint-\d+\.safetensors|(corpus|meanings)\.jsonl|metadata\.json)\.\d+\.tmp"
)
"""Names of temporary files that a killed run may leave behind."""

REMEDY = "try a smaller training.lr, or training.precision=fp32"
"""What helps where training diverges."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderState:
    """What a run that may use the folder finds in it."""

    finished: Mapping[str, Any] | None = None
    """The training section of the metadata and the probes, if nothing is left to train; None if something is."""
    diverged_at: int | None = None
    """The step at which the run in the folder diverged; None if it did not."""
    is_replaced: bool = False
    """Whether the folder holds another run, which diverged, and whose files are to be replaced."""


def check_run_folder(
    folder: Path, experiment: Experiment, *, steps_per_epoch: int, resume: bool
) -> FolderState:
    """Check whether the folder can be used for this run or already holds it. Changes no file.

    Args:
        folder: The run folder; it need not exist.
        experiment: The run; the settings of when to stop may differ from those of the run in the folder.
        steps_per_epoch: Steps of an epoch of this run.
        resume: Whether to continue an unfinished run in the folder.

    Raises:
        ConfigError: If the folder holds another run, or one with more steps, or an unfinished one and `resume` is
            False.
        DamagedError: If its config can't be read.
        FormatError: If a newer version wrote it.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file: choose another folder with --out")
    config = folder / "config.yaml"
    if not config.exists():
        if folder.is_dir() and not all(TMP_FILES.fullmatch(file.name) for file in folder.iterdir()):
            raise ConfigError(f"{folder} is not empty and not a run folder: choose another folder with --out")
        return FolderState()
    try:
        existing = replace(load_experiment(str(config)), about=experiment.about)
    except ConfigError as error:
        raise DamagedError(f"damaged run folder: {error}") from None
    num_steps_done = newest_step(folder)
    training = _read_training(folder, existing)
    if training is not None and training["step"] < num_steps_done:
        training = None  # written before the run went on, and was killed
    diverged_at = training["step"] if training and training["stopped"] == "diverged" else None
    if diverged_at is not None and not resume:
        if existing != experiment:
            return FolderState(diverged_at=diverged_at, is_replaced=True)
        raise ConfigError(
            f"{folder} holds this run, which diverged at step {diverged_at}: {REMEDY}, which replaces it; --resume "
            "tries again from its last checkpoint"
        )
    _require_same_run(folder, existing, experiment, diverged_at)
    if training is not None and diverged_at is None:
        num_steps_done = training["step"]
    num_epochs = experiment.training.num_epochs
    num_steps = steps_per_epoch * num_epochs
    if num_steps_done > num_steps:
        raise ConfigError(
            f"the run in {folder} has {num_steps_done} steps ({num_steps_done / steps_per_epoch:.3g} epochs) already; "
            f"--epochs {num_epochs} means {num_steps}"
        )
    _require_same_decay(folder, existing, experiment)
    if diverged_at is not None:
        return FolderState(diverged_at=diverged_at)
    if training is not None and training["stopped"] != "interrupt":
        is_done = num_steps_done == num_steps or is_accuracy_reached(experiment, training)
        if is_done or (existing == experiment and not resume):
            return FolderState(finished=training)
    if not resume and checkpoints(folder):
        raise ConfigError(
            f"{folder} holds this run, unfinished: add --resume to continue it, or choose another folder with --out"
        )
    return FolderState()


def is_accuracy_reached(experiment: Experiment, valid: Mapping[str, Any]) -> bool:
    """Whether an evaluation (empty: none) has the accuracy at which the experiment stops."""
    until_accuracy = experiment.training.until_accuracy
    return until_accuracy is not None and valid.get("accuracy", -1) >= until_accuracy


def prepare_run_folder(folder: Path, experiment: Experiment, *, is_replaced: bool) -> None:
    """Create the folder, write `config.yaml`, and remove what killed and diverged runs leave behind.

    Args:
        folder: The run folder.
        experiment: The run.
        is_replaced: Whether to remove the checkpoints of another run.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if TMP_FILES.fullmatch(file.name):
            file.unlink()
    if is_replaced:
        for file in checkpoints(folder):
            file.unlink()
    text = f"{KEY}: {FORMATS['config']}\n{experiment.to_yaml()}"
    write_atomically(folder / "config.yaml", text.encode())
    # Last, because it is what allows to replace the run.
    training = _read_metadata(folder).get("training")
    if isinstance(training, dict) and training.get("stopped") == "diverged":
        (folder / "metadata.json").unlink()


def write_divergence(
    folder: Path, log: BinaryIO, entry: Mapping[str, Any], metadata: Mapping[str, Any]
) -> None:
    """Write the last line of the log, and the metadata unless they are those of a corpus of fewer steps."""
    log.write(json.dumps(entry).encode() + b"\n")
    log.flush()
    if not (folder / "corpus.jsonl").exists():
        write_atomically(folder / "metadata.json", json.dumps(metadata, indent=2).encode() + b"\n")


def open_log(file: Path, num_lines: int) -> BinaryIO:
    """Open a log for appending after its first `num_lines`; later lines of a killed run are removed and rewritten."""
    log = file.open("r+b" if file.exists() else "w+b")
    end = sum(map(len, islice(log, num_lines)))
    log.seek(end)
    log.truncate()
    return log


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


def _require_same_run(
    folder: Path, existing: Experiment, requested: Experiment, diverged_at: int | None
) -> None:
    """Raise `ConfigError` if two runs differ in more than when to stop; for the decay see `_require_same_decay`."""
    before, now = existing.training, requested.training
    neutral = with_training(
        existing,
        num_epochs=now.num_epochs,
        lr_decay_epochs=now.lr_decay_epochs if now.lr_decay == before.lr_decay else None,
        until_accuracy=now.until_accuracy,
        max_minutes=now.max_minutes,
    )
    difference = _difference(asdict(neutral), asdict(requested))
    if difference:
        other = f"{folder} holds another run ({difference})"
        if diverged_at is not None:
            raise ConfigError(
                f"{other}, which diverged at step {diverged_at}: without --resume it is replaced"
            )
        raise ConfigError(f"{other}: choose another folder with --out")


def _require_same_decay(folder: Path, existing: Experiment, requested: Experiment) -> None:
    """Raise `ConfigError` if the learning rate of a run would become another one with the requested epochs."""
    before, now = existing.training, requested.training
    if before.num_decay_epochs != now.num_decay_epochs:
        remedy = "choose another folder with --out, and set training.lr_decay_epochs if epochs are to be added later"
        if before.num_decay_epochs is not None and now.num_epochs <= before.num_decay_epochs:
            remedy = f"training.lr_decay_epochs={before.num_decay_epochs} keeps it"
        raise ConfigError(
            f"the learning rate of the run in {folder} falls to 0 over {before.num_decay_epochs} epochs; over "
            f"{now.num_decay_epochs} it would differ at every step: {remedy}"
        )


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The first setting in which two runs differ; empty if none."""
    for section, values in now.items():
        pairs = values.items() if isinstance(values, dict) else [("", values)]
        for key, value in pairs:
            old = before[section][key] if key else before[section]
            if old != value:
                return f"{section}{'.' if key else ''}{key} is {old} in the folder, {value} requested"
    return ""


def _read_metadata(folder: Path) -> dict[str, Any]:
    """The content of `metadata.json`; empty if there is none, or it is damaged."""
    try:
        metadata = json.loads((folder / "metadata.json").read_bytes())
        return metadata if isinstance(metadata, dict) else {}
    except (FileNotFoundError, ValueError):
        return {}


def _read_training(folder: Path, existing: Experiment) -> dict[str, Any] | None:
    """The folder's metadata on the training and the probes, if they are of its experiment and its corpus is whole."""
    metadata = _read_metadata(folder)
    try:
        known = {**metadata["training"], "probes": metadata.get("probes", {})}
        if type(known["step"]) is not int or not {"stopped", "num_steps"} <= known.keys():
            return None
        written = build(Experiment, metadata["config"], "metadata.json")
        if replace(written, about=existing.about) != existing:
            return None
        for name, digest in metadata.get("sha256", {}).items():
            with (folder / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                    return None
        return known
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
