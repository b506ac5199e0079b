"""Files of a run folder: their names, and the log, a line of JSON per evaluation.

Each checkpoint stores the checksum of the log lines before it. This module does not import torch.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from safetensors import SafetensorError, safe_open

from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.checksums import changed
from ecsuite.formats.directory import BESIDE
from ecsuite.parts.config import RUN_CONFIG, dotted_values
from ecsuite.runtime.errors import DamagedError

CONFIG = RUN_CONFIG
"""File of a run folder: all settings."""
LOG = "log.jsonl"
"""File of a run folder: its evaluations."""
METADATA = "metadata.json"
"""File of a run folder or a corpus: provenance, versions, checksums."""
CORPUS = "corpus.jsonl"
"""File of a run folder or a corpus: the messages."""
SCORES = "scores.json"
"""File of a run folder or a corpus: its scores."""
SWEEP = "sweep.json"
"""File of the folder of a sweep: its runs."""
ROUNDS_KEY = "rounds"
"""Key of the checksum of all rounds in the metadata of a play of rounds."""
ROUNDS = BESIDE[ROUNDS_KEY]
"""Name of the file of rounds in the run folder."""
CLOCK = "examples_per_second"
"""Key of the log that is not in the checksum, as it differs between equal runs."""
CHECKSUM, NUM_LINES = "log_sha256", "log_lines"
"""Keys of the log's checksum and number of lines in checkpoints."""
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Exceptions raised by reading damaged JSON."""


def checkpoints(folder: Path) -> list[Path]:
    """The checkpoints of a run folder, newest first."""
    return sorted(folder.glob("checkpoint-*.safetensors"), reverse=True)


def newest_step(folder: Path) -> int:
    """Step of the newest checkpoint, which may be damaged; 0 if there is none."""
    steps = [file.stem.removeprefix("checkpoint-") for file in checkpoints(folder)]
    return max((int(step) for step in steps if step.isdecimal()), default=0)


class Log:
    """A log that is open for appending.

    Args:
        file: The file.
        lines: Its present lines.
    """

    def __init__(self, file: Path, lines: Iterable[bytes]) -> None:
        self.file: BinaryIO = file.open("ab")
        self.num_lines, self._digest = 0, hashlib.sha256()
        for line in lines:
            self._count(json.loads(line))

    def write(self, entry: Mapping[str, Any]) -> None:
        """Append an evaluation."""
        self.file.write(json.dumps(entry).encode() + b"\n")
        self._count(entry)

    @property
    def state(self) -> dict[str, Any]:
        """Number of lines and checksum, for a checkpoint."""
        return {NUM_LINES: self.num_lines, CHECKSUM: self._digest.hexdigest()}

    def _count(self, entry: Mapping[str, Any]) -> None:
        self._digest.update(_without_clock(entry))
        self.num_lines += 1


def open_log(
    file: Path, step: int, num_lines: int, note: Callable[[str], None], checksum: str | None = None
) -> Log:
    """Open a log for appending after the `num_lines` lines that were written before the checkpoint of `step`.

    Later lines are from a killed run and are removed, as they will be written again. Missing or damaged lines cannot be
    restored; they are reported to `note`.

    Args:
        file: The log.
        step: Steps at the checkpoint.
        num_lines: Lines at the checkpoint.
        note: Called with each message for the user.
        checksum: Checksum of these lines; None: unknown.

    Raises:
        DamagedError: If the lines are complete, but do not match the checksum.
    """
    lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
    kept = [line for line in lines if 0 < _step_of(line) <= step][:num_lines]
    if len(kept) < num_lines:
        note(
            f"{file}: {num_lines - len(kept)} of {num_lines} evaluations are missing or damaged and left out"
        )
    elif checksum is not None and _checksum(kept) != checksum:
        raise changed(file)
    if kept != lines:
        write_atomically(file, kept)
    return Log(file, kept)


def require_unchanged_log(folder: Path) -> None:
    """Compare the log of a run folder with the checksum in its newest checkpoint; later lines are not checked.

    Raises:
        DamagedError: If lines are missing or changed.
    """
    for checkpoint in checkpoints(folder)[:1]:
        try:
            with safe_open(checkpoint, framework="numpy") as opened:  # without a check of the tensors
                values = dict(json.loads(opened.metadata()["ecsuite"].partition(" ")[2]))
        except (SafetensorError, *UNREADABLE):
            return  # reported where the checkpoint is read
        file, num_lines = folder / LOG, values.get(NUM_LINES)
        if CHECKSUM not in values or not num_lines:
            return
        try:
            found = _checksum(file.read_bytes().splitlines(keepends=True)[:num_lines])
        except UNREADABLE:
            found = ""
        if found != values[CHECKSUM]:
            raise changed(file)


def accept_log(folder: Path) -> None:
    """Write the checksum of a log that was edited into the newest checkpoint.

    Raises:
        DamagedError: If the log or the checkpoint can't be read.
    """
    from ecsuite.files.tensor_files import read_tensors, write_tensors  # imports torch

    for checkpoint in checkpoints(folder)[:1]:
        tensors, values = read_tensors(checkpoint)
        try:
            lines = (folder / LOG).read_bytes().splitlines(keepends=True)[: values[NUM_LINES]]
            write_tensors(checkpoint, tensors, values | {NUM_LINES: len(lines), CHECKSUM: _checksum(lines)})
        except UNREADABLE as error:
            raise DamagedError(f"{folder / LOG}: not a log of evaluations ({error}): delete it") from None


def flat_figures(entry: Mapping[str, Any]) -> dict[str, float]:
    """Figures of a log entry without the step; those of sections are named `section.name`."""
    values = dotted_values(entry).items()
    return {name: value for name, value in values if isinstance(value, int | float) and name != "step"}


def _checksum(lines: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(_without_clock(json.loads(line)))
    return digest.hexdigest()


def _without_clock(entry: Mapping[str, Any]) -> bytes:
    rest = {key: value for key, value in entry.items() if key != CLOCK}
    return json.dumps(rest, sort_keys=True).encode() + b"\n"


def _step_of(line: bytes) -> int:
    """The step of a line of the log; 0 if the line is damaged."""
    try:
        step = json.loads(line)["step"] if line.endswith(b"\n") else 0
        return step if type(step) is int else 0
    except UNREADABLE:
        return 0
