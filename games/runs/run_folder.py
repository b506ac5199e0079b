"""Run folders: the names of their files, their checksums, and the run that they hold.

A run folder holds `config.yaml` (every setting, so that it reproduces the run), `log.jsonl` (one line per evaluation),
the newest checkpoints, and at the end of the run the corpus: `corpus.jsonl`, `meanings.jsonl` and `metadata.json`.
A run that diverged writes no corpus. It has a last line in the log and, if the folder has no corpus of fewer steps, a
`metadata.json`, both with `stopped: diverged`; another run may then replace it.

Each checkpoint stores the checksum of the log lines before it. This module does not import torch, and it imports the
parts of a game only in methods that need them.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
from safetensors import SafetensorError, safe_open

from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.checksums import CHECKSUM, changed, checksum_of, require_unchanged, sealed, sealed_text
from ecsuite.files.format_numbers import FORMATS
from ecsuite.files.format_numbers import KEY as FORMAT
from ecsuite.files.locks import Lock
from ecsuite.formats.directory import BESIDE, CORPUS, MEANINGS, METADATA, ROUNDS_KEY, with_siblings
from ecsuite.games.runs.result import (
    EXTRA,
    EXTRA_CHANCE,
    METRICS,
    REMEDY,
    StopReason,
    is_accuracy_reached,
    is_patience_over,
    measures_of,
)
from ecsuite.jobs.signals import StopRequest, end_as_requested
from ecsuite.parts.config import RUN_CONFIG, read_yaml
from ecsuite.parts.own_code import UntrustedError, keep_copies
from ecsuite.parts.registry import KIND
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError

if TYPE_CHECKING:
    from ecsuite.games.config.sections import Experiment
    from ecsuite.games.runs.identity import RunContext

CONFIG = RUN_CONFIG
"""File of a run folder: all settings."""
LOG = "log.jsonl"
"""File of a run folder: its evaluations."""
SCORES = "scores.json"
"""File of a run folder or a corpus: its scores."""
SWEEP = "sweep.json"
"""File of the folder of a sweep: its runs."""
RESULTS = (SCORES, SWEEP)
"""Files with their own checksum that belong neither to a run nor to a corpus."""
CHECKPOINT, BEST = "checkpoint-", "best-"
"""Prefixes of the file names of checkpoints and best states, before the step."""
WEIGHTS = ".safetensors"
"""Suffix of the names of checkpoints and best states."""
CLOCK = "examples_per_second"
"""Key of the log that is excluded from the checksum, as it differs between equal runs."""
LOG_CHECKSUM, NUM_LINES = "log_sha256", "log_lines"
"""Keys of the log's checksum and number of lines in checkpoints."""
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""Exceptions raised by reading damaged JSON."""
TMP_FILES = re.compile(
    r"\.(config\.yaml|(checkpoint|best)-\d+\.safetensors|log\.csv|[a-z_]+\.jsonl|interactions\.parquet|metadata\.json)(\.\d+)+\.tmp"
)
"""Names of temporary files that a killed run may leave behind."""

SECONDS_BETWEEN_TRIES = 0.2
"""Polling interval while waiting for the lock of a run folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderState:
    """State of a run folder that a run may use."""

    finished: Mapping[str, Any] | None = None
    """The training section of the metadata, with the extra evaluations; None if training is unfinished."""
    diverged_at: int | None = None
    """The step at which the run in the folder diverged; None if it did not."""
    is_replaced: bool = False
    """Whether the folder holds another, diverged run whose files will be replaced."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder that holds or will hold a run: its files, their checksums, and the run in it.

    Properties of a corpus, its metadata and its scores are valid for the folder of any corpus.
    """

    path: Path
    """The folder, which need not exist."""

    @property
    def config(self) -> Path:
        """All settings of the run."""
        return self.path / CONFIG

    @property
    def log(self) -> Path:
        """Evaluations, one per line."""
        return self.path / LOG

    @property
    def metadata(self) -> Path:
        """Provenance, versions and checksums of the corpus, and how the training ended."""
        return self.path / METADATA

    @property
    def corpus(self) -> Path:
        """Messages of the corpus."""
        return self.path / CORPUS

    @property
    def meanings(self) -> Path:
        """Meanings of the messages."""
        return self.path / MEANINGS

    @property
    def scores(self) -> Path:
        """Scores of the corpus."""
        return self.path / SCORES

    @property
    def rounds(self) -> Path:
        """All rounds of a play of rounds."""
        return self.path / BESIDE[ROUNDS_KEY]

    @property
    def is_run(self) -> bool:
        """Whether the folder holds a run, finished or not."""
        return self.config.is_file()

    @property
    def is_run_or_corpus(self) -> bool:
        """Whether the folder holds a run or a corpus."""
        return self.is_run or self.metadata.is_file()

    @property
    def checkpoints(self) -> list[Path]:
        """The checkpoints, newest first."""
        return sorted(self.path.glob(f"{CHECKPOINT}*{WEIGHTS}"), reverse=True)

    @property
    def best_states(self) -> list[Path]:
        """The files of best states, newest first."""
        return sorted(self.path.glob(f"{BEST}*{WEIGHTS}"), reverse=True)

    def checkpoint(self, step: int) -> Path:
        """The checkpoint after a number of steps."""
        return self.path / f"{CHECKPOINT}{step:09d}{WEIGHTS}"

    def best_state(self, step: int) -> Path:
        """The file of the best state after a number of steps."""
        return self.path / f"{BEST}{step:09d}{WEIGHTS}"

    @property
    def newest_step(self) -> int:
        """Step of the newest checkpoint, which may be damaged; 0 if there is none."""
        steps = [file.stem.removeprefix(CHECKPOINT) for file in self.checkpoints]
        return max((int(step) for step in steps if step.isdecimal()), default=0)

    @property
    def ending(self) -> Mapping[str, Any]:
        """Training section of the metadata; empty if the run has not ended, or the metadata are damaged."""
        ending = self._read_metadata().get("training")
        return ending if isinstance(ending, dict) else {}

    @property
    def best_step(self) -> int | None:
        """Step of the best state if the corpus is from it; None if it is from the last state.

        Raises:
            DamagedError: If the metadata do not match their checksum.
        """
        try:
            metadata = json.loads(self.metadata.read_bytes())
            require_unchanged(metadata, self.metadata)
            step = metadata["training"]["best_step"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return step if isinstance(step, int) else None

    def experiment(
        self, *, trust_code: bool = False, note: Callable[[str], None] = lambda _: None
    ) -> "Experiment":
        """Read the config of the run.

        Args:
            trust_code: Whether to import foreign parts named in the config.
            note: Called with a line about user code that changed since the start of the run.

        Raises:
            ConfigError: If a setting is not valid.
            UntrustedError: If the config names foreign parts that the user has neither named nor trusted.
        """
        from ecsuite.games.config.experiment import load_experiment

        return load_experiment(str(self.config), note=note, trust_code=trust_code, is_of_run=True)

    @contextmanager
    def lock(
        self,
        note: Callable[[str], None],
        should_stop: Callable[[], StopRequest | None] = lambda: None,
    ) -> Iterator[None]:
        """Lock the folder against other processes; the kernel releases the lock when the process ends.

        The lock file lies next to the folder and is removed at the end. If another process holds it, wait, and report
        which one.

        Args:
            note: Called with messages about the process that holds the lock, and about file systems without locks.
            should_stop: Polled while waiting.

        Raises:
            ConfigError: If this process itself trains in the folder.
        """
        folder = self.path
        made = [each for each in (folder.parent, *folder.parent.parents) if not each.exists()]
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock, holder = Lock(folder.parent / f".{folder.name}.lock", note), ""
        while not lock.acquire():
            if lock.is_of_this_process:
                raise ConfigError(
                    f"{folder}: this process is training in it: wait for its end, or choose another folder with --out"
                )
            if holder != (holder := lock.holder):
                note(f"{folder}: {holder}, is training in it: waiting for its end")
            if (request := should_stop()) is not None:
                end_as_requested(request)
            time.sleep(SECONDS_BETWEEN_TRIES)
        try:
            yield
        finally:
            lock.release(removes=True)
            for each in made:
                with suppress(OSError):  # not empty: the run has begun
                    each.rmdir()

    def check(
        self, requested: "RunContext", *, steps_per_epoch: int, resume: bool, steps_before: int = 0
    ) -> FolderState:
        """Check whether the folder can be used for a run or already holds it. Changes no file.

        Args:
            requested: The requested run; its stopping criteria may differ from those of the run in the folder.
            steps_per_epoch: Steps per epoch of the requested run.
            resume: Whether to continue an unfinished run in the folder.
            steps_before: Upper bound of the steps of the teaching phase, before the first epoch.

        Raises:
            ConfigError: If the folder holds another run, or one with more steps, or an unfinished one and `resume` is
                False.
            DamagedError: If the config in the folder can't be read.
            FormatError: If a newer version wrote the config.
        """
        from ecsuite.games.runs.identity import require_same_run, require_same_schedule

        folder = self.path
        if folder.exists() and not folder.is_dir():
            raise ConfigError(f"{folder} is a file: choose another folder with --out")
        if not self.config.exists():
            if folder.is_dir() and not all(TMP_FILES.fullmatch(file.name) for file in folder.iterdir()):
                raise ConfigError(
                    f"{folder} is not empty and not a run folder: choose another folder with --out"
                )
            return FolderState()
        existing = self._read_context()
        if not existing.data:  # written by a version that identified data files by path only
            requested = replace(requested, data={})
        num_steps_done = self.newest_step
        training = self._read_training(existing)
        if training is not None and training["step"] < num_steps_done:
            training = None  # outdated: the run continued afterwards and was killed
        diverged_at = training["step"] if training and training["stopped"] == "diverged" else None
        if diverged_at is not None and not resume:
            if existing.identity() != requested.identity():
                return FolderState(diverged_at=diverged_at, is_replaced=True)
            raise ConfigError(
                f"{folder} holds this run, which diverged at step {diverged_at}: {REMEDY}, which replaces it; --resume "
                "tries again from its last checkpoint"
            )
        require_same_run(folder, existing, requested, diverged_at)
        if training is not None and diverged_at is None:
            num_steps_done = training["step"]
        experiment = requested.experiment
        num_epochs = experiment.training.num_epochs
        num_steps = steps_before + steps_per_epoch * num_epochs
        if num_steps_done > num_steps:
            raise ConfigError(
                f"the run in {folder} has {num_steps_done} steps ({num_steps_done / steps_per_epoch:.3g} epochs) "
                f"already; --epochs {num_epochs} means {num_steps}: choose another folder with --out"
            )
        require_same_schedule(folder, existing, requested)
        if diverged_at is not None:
            return FolderState(diverged_at=diverged_at)
        if training is not None and training["stopped"] != "interrupt":
            more = steps_per_epoch * (num_epochs - existing.experiment.training.num_epochs)
            is_done = num_steps_done == training["num_steps"] + more or is_accuracy_reached(
                experiment, training
            )
            is_done = is_done or is_patience_over(experiment, training)
            if is_done or (existing.identity() == requested.identity() and not resume):
                return FolderState(finished=training)
        if not resume and self.checkpoints:
            raise ConfigError(
                f"{folder} holds this run, unfinished: add --resume to continue it, or choose another folder with --out"
            )
        return FolderState()

    def write(self, context: "RunContext", *, is_replaced: bool) -> None:
        """Create the folder, write the config, and remove leftover files of killed, diverged and replaced runs."""
        self.path.mkdir(parents=True, exist_ok=True)
        for file in self.path.iterdir():
            if TMP_FILES.fullmatch(file.name):
                file.unlink()
        if is_replaced:
            for file in [*self.checkpoints, *self.best_states]:
                file.unlink()
        text = f"{FORMAT}: {FORMATS['config']}\n{as_yaml(context.to_tree())}"
        write_atomically(self.config, sealed_text(text.encode()))
        keep_copies(self.path, context.experiment.code)
        # Last, because these metadata permit replacing the run.
        if self.ending.get("stopped") == "diverged":
            self.metadata.unlink()

    def write_divergence(self, log: "Log", entry: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
        """Write the last line of the log, and the metadata unless the folder has a corpus of an earlier step."""
        log.write(entry)
        log.file.flush()
        if not self.corpus.exists():
            write_atomically(self.metadata, json.dumps(sealed(metadata), indent=2).encode() + b"\n")

    def open_log(
        self, step: int, state: Mapping[str, Any], note: Callable[[str], None], name: str = LOG
    ) -> "Log":
        """Open a log for appending after the lines that were written before the checkpoint of `step`.

        Later lines are from a killed run and are removed, as they will be written again. Missing or damaged lines
        cannot be restored; they are reported to `note`.

        Args:
            step: Steps at the checkpoint.
            state: `Log.state` in the checkpoint; empty: there are no earlier lines, and the checksum is unknown.
            note: Called with each message for the user.
            name: Name of the file, whose lines have a `step`.

        Raises:
            DamagedError: If the lines are complete, but do not match the checksum.
        """
        file, num_lines, checksum = self.path / name, state.get(NUM_LINES, 0), state.get(LOG_CHECKSUM)
        lines = file.read_bytes().splitlines(keepends=True) if file.exists() else []
        kept = [line for line in lines if 0 < _step_of(line) <= step][:num_lines]
        if len(kept) < num_lines:
            note(f"{file}: {num_lines - len(kept)} of {num_lines} lines are missing or damaged: left out")
        elif checksum is not None and _checksum(kept) != checksum:
            raise changed(file)
        if kept != lines:
            write_atomically(file, kept)
        return Log(file, kept)

    def check_log(self) -> None:
        """Compare the log with the checksum in the newest checkpoint; later lines are not checked.

        Raises:
            DamagedError: If lines are missing or changed.
        """
        for checkpoint in self.checkpoints[:1]:
            try:
                with safe_open(checkpoint, framework="numpy") as opened:  # does not check the tensors
                    values = dict(json.loads(opened.metadata()["ecsuite"].partition(" ")[2]))
            except (SafetensorError, *UNREADABLE):
                return  # reported by the reader of the checkpoint
            num_lines = values.get(NUM_LINES)
            if LOG_CHECKSUM not in values or not num_lines:
                return
            try:
                found = _checksum(self.log.read_bytes().splitlines(keepends=True)[:num_lines])
            except UNREADABLE:
                found = ""
            if found != values[LOG_CHECKSUM]:
                raise changed(self.log)

    def accept_edits(self) -> list[str]:
        """Accept edited files of a run, a corpus or a sweep by updating their checksums.

        Returns:
            The names of the accepted files.

        Raises:
            ConfigError: If the folder has no file with a checksum.
            CorpusError: If the corpus is edited so that it can't be read.
            DamagedError: If a file is not JSON, or a file of the corpus is missing.
        """
        folder = self.path
        if not any((folder / name).is_file() for name in (CONFIG, METADATA, *RESULTS)):
            raise ConfigError(
                f"{folder}: expected a run folder, a corpus (with {METADATA}) or the folder of a sweep"
            )
        taken = []
        if self.is_run and (content := self.config.read_bytes()) != sealed_text(content):
            write_atomically(self.config, sealed_text(content))
            taken.append(CONFIG)
        taken += self._accept_corpus()
        taken += [name for name in RESULTS if _write(folder / name, _read(folder / name))]
        try:
            self.check_log()
        except DamagedError:
            self._accept_log()
            taken.append(LOG)
        return taken

    def _accept_corpus(self) -> list[str]:
        """Accept edited files of a corpus; return their names."""
        metadata = _read(self.metadata)
        if metadata is None:
            return []
        before = metadata.get("sha256", {})
        try:
            hashes = {name: hashlib.sha256((self.path / name).read_bytes()).hexdigest() for name in before}
        except (OSError, TypeError) as error:
            raise DamagedError(f"{self.metadata}: a file of the corpus can't be read: {error}") from None
        edited = [name for name in hashes if hashes[name] != before[name]]
        accepted = metadata | {"sha256": hashes} if hashes else metadata
        if edited or not _is_sealed(metadata):
            from ecsuite.formats.corpora import Reading, corpus_of
            from ecsuite.formats.reading import read_table

            try:
                corpus = corpus_of(read_table(self.corpus, {}), Reading())
                with_siblings(corpus, self.path, accepted)
            except CorpusError as error:
                raise CorpusError(f"{self.path}: nothing was accepted: {error}") from None
        is_edited = _write(self.metadata, accepted)
        return [*edited, *([METADATA] if is_edited and not edited else [])]

    def _accept_log(self) -> None:
        """Write the checksum of an edited log into the newest checkpoint.

        Raises:
            DamagedError: If the log or the checkpoint can't be read.
        """
        from ecsuite.files.tensor_files import read_tensors, write_tensors  # imports torch

        for checkpoint in self.checkpoints[:1]:
            tensors, values = read_tensors(checkpoint)
            try:
                lines = self.log.read_bytes().splitlines(keepends=True)[: values[NUM_LINES]]
                values |= {NUM_LINES: len(lines), LOG_CHECKSUM: _checksum(lines)}
                write_tensors(checkpoint, tensors, values)
            except UNREADABLE as error:
                raise DamagedError(f"{self.log}: not a log of evaluations ({error}): delete it") from None

    def _read_context(self) -> "RunContext":
        """Read the run of the config; `ConfigError` if it was begun under rules that no longer hold."""
        from ecsuite.games.config import experiment as settings
        from ecsuite.games.config.sources import OBJECTS
        from ecsuite.games.runs.identity import RunContext
        from ecsuite.games.worlds.world import make_world  # imports torch

        folder, config = self.path, self.config
        try:
            existing = RunContext.of(self.experiment())
        except UntrustedError:
            raise ConfigError(
                f"{folder} holds a run with other code: choose another folder with --out"
            ) from None
        except ConfigError as error:
            raise DamagedError(f"damaged run folder: {error}") from None
        written = read_yaml(str(config), "run", {})
        settings.require_same_rules(folder, written)
        world = written.get("world", {})
        if (
            world.get(KIND) == OBJECTS
            and settings.CANDIDATES not in world
            and make_world(existing.experiment).extra_evaluations()
        ):
            if not settings.holds_out(world):  # the table does
                raise ConfigError(f"{folder}: {settings.EARLIER_CANDIDATES}")
        return existing

    def _read_metadata(self) -> dict[str, Any]:
        """Content of the metadata; empty if they are missing or damaged."""
        try:
            metadata = dict(json.loads(self.metadata.read_bytes()))
            require_unchanged(metadata, self.metadata)
            return metadata
        except (DamagedError, *UNREADABLE):
            return {}

    def _read_training(self, existing: "RunContext") -> dict[str, Any] | None:
        """Training section and extra evaluations in the metadata; None unless they and the corpus are of this run."""
        from ecsuite.games.config.experiment import from_tree, with_rules_of

        metadata = self._read_metadata()
        try:
            known = msgspec.convert(metadata["training"], dict[str, int | float | str])
            stopped = msgspec.convert(known["stopped"], StopReason)
            measured = () if stopped == "diverged" else metadata["chance"]
            figures = (known["num_steps"], *(known[name] for name in measured), *measures_of(known).values())
            if any(isinstance(figure, str) for figure in figures):
                return None
            if type(known["step"]) is not int:
                return None
            claimed = from_tree(with_rules_of(metadata["config"]), METADATA)
            if type(existing).of(claimed).identity() != existing.identity():
                return None
            for name, digest in metadata.get("sha256", {}).items():
                with (self.path / name).open("rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                        return None
            scores = msgspec.convert(metadata.get(METRICS, {}), dict[str, float | None])
            return {
                **known,
                METRICS: scores,
                EXTRA: msgspec.convert(metadata.get(EXTRA, {}), dict[str, dict[str, float]]),
                EXTRA_CHANCE: msgspec.convert(metadata.get(EXTRA_CHANCE, {}), dict[str, dict[str, float]]),
            }
        except UNREADABLE:
            return None


def _read(file: Path) -> dict[str, Any] | None:
    """Read a JSON object; None if the file does not exist."""
    if not file.is_file():
        return None
    try:
        return dict(json.loads(file.read_bytes()))
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(f"{file}: not JSON ({error}): restore it, or delete it") from None


def _is_sealed(data: dict[str, Any]) -> bool:
    """Whether the checksum in a JSON object matches its content."""
    return bool(data.get(CHECKSUM) == checksum_of(data))


def _write(file: Path, data: dict[str, Any] | None) -> bool:
    """Write a JSON object with its checksum unless it already has one; return whether it was written."""
    if data is None or _is_sealed(data):
        return False
    write_atomically(file, json.dumps(sealed(data), indent=2, ensure_ascii=False).encode() + b"\n")
    return True


class Log:
    """A log that is open for appending.

    Args:
        file: The file.
        lines: Present lines of the file.
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
        return {NUM_LINES: self.num_lines, LOG_CHECKSUM: self._digest.hexdigest()}

    def _count(self, entry: Mapping[str, Any]) -> None:
        self._digest.update(_without_clock(entry))
        self.num_lines += 1


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
