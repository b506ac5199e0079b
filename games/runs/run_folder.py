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
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import torch

from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.checksums import CHECKSUM, checksum_of, require_unchanged, sealed, sealed_text
from ecsuite.files.format_numbers import FORMATS
from ecsuite.files.format_numbers import KEY as FORMAT
from ecsuite.files.locks import Lock
from ecsuite.formats.corpora import Reading, corpus_of
from ecsuite.formats.directory import with_siblings
from ecsuite.formats.reading import read_table
from ecsuite.games.config.experiment import (
    CANDIDATES,
    EARLIER_CANDIDATES,
    OBJECTS,
    from_tree,
    holds_out,
    load_experiment,
    require_same_rules,
    with_rules_of,
)
from ecsuite.games.config.sections import Experiment
from ecsuite.games.runs.identity import (
    RunContext,
    require_same_run,
    require_same_schedule,
)
from ecsuite.games.runs.run_files import (
    CONFIG,
    CORPUS,
    LOG,
    METADATA,
    SCORES,
    SWEEP,
    UNREADABLE,
    Log,
    accept_log,
    checkpoints,
    newest_step,
    require_unchanged_log,
)
from ecsuite.games.tasks.directions import held_out_of, measure_title
from ecsuite.games.worlds.world import make_world
from ecsuite.jobs.signals import StopRequest, end_as_requested
from ecsuite.parts.config import read_yaml
from ecsuite.parts.own_code import UntrustedError, keep_copies
from ecsuite.parts.registry import KIND
from ecsuite.parts.strict_yaml import as_yaml
from ecsuite.runtime.devices import hardware
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError
from ecsuite.runtime.provenance import own_commit
from ecsuite.version import __version__

TMP_FILES = re.compile(
    r"\.(config\.yaml|(checkpoint|best)-\d+\.safetensors|log\.csv|[a-z_]+\.jsonl|interactions\.parquet|metadata\.json)(\.\d+)+\.tmp"
)
"""Names of temporary files that a killed run may leave behind."""

EXTRA, EXTRA_CHANCE = "extra_evaluations", "extra_chance"
"""Keys of the extra evaluations and of their chance levels in the metadata and in `--json`."""
METRICS = "metrics"
"""Key of the language metrics in the metadata and in the log."""
SINCE_BEST = "evaluations_since_best"
"""Key of the number of evaluations since the best one in the metadata."""
NO_MEASURES = ("stopped", "step", "num_steps", "epoch", "best_step", SINCE_BEST, EXTRA, EXTRA_CHANCE, METRICS)
"""Keys of the training section of the metadata that are no evaluation measures."""
StopReason = Literal["epochs", "accuracy", "patience", "minutes", "limit", "diverged"] | StopRequest
"""Why a run ended: all epochs done, accuracy reached, no longer improving, time limit, another limit, figures
that are not finite, or a request to stop."""
SECONDS_BETWEEN_TRIES = 0.2
"""Polling interval while waiting for the lock of a run folder."""
REMEDY = "try a smaller optimizer.lr, or training.precision=fp32"
"""Advice in messages about divergence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderState:
    """State of a run folder that a run may use."""

    finished: Mapping[str, Any] | None = None
    """The training section of the metadata, with the extra evaluations; None if training is unfinished."""
    diverged_at: int | None = None
    """The step at which the run in the folder diverged; None if it did not."""
    is_replaced: bool = False
    """Whether the folder holds another, diverged run whose files will be replaced."""


@contextmanager
def only_process(
    folder: Path,
    note: Callable[[str], None],
    should_stop: Callable[[], StopRequest | None] = lambda: None,
) -> Iterator[None]:
    """Lock a run folder against other processes; the kernel releases the lock when the process ends.

    The lock file lies next to the folder, which need not exist, and is removed at the end. If another process holds it,
    wait, and report which one.

    Args:
        folder: The run folder.
        note: Called with messages about the process that holds the lock, and about file systems without locks.
        should_stop: Polled while waiting.

    Raises:
        ConfigError: If this process itself trains in the folder.
    """
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


def check_run_folder(
    folder: Path, requested: RunContext, *, steps_per_epoch: int, resume: bool, steps_before: int = 0
) -> FolderState:
    """Check whether the folder, which need not exist, can be used for this run or already holds it. Changes no file.

    Args:
        folder: The run folder.
        requested: The requested run; its stopping criteria may differ from those of the run in the folder.
        steps_per_epoch: Steps of an epoch of this run.
        resume: Whether to continue an unfinished run in the folder.
        steps_before: Upper bound of the steps of the teaching phase, before the first epoch.

    Raises:
        ConfigError: If the folder holds another run, or one with more steps, or an unfinished one and `resume` is
            False.
        DamagedError: If its config can't be read.
        FormatError: If a newer version wrote it.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file: choose another folder with --out")
    config = folder / CONFIG
    if not config.exists():
        if folder.is_dir() and not all(TMP_FILES.fullmatch(file.name) for file in folder.iterdir()):
            raise ConfigError(f"{folder} is not empty and not a run folder: choose another folder with --out")
        return FolderState()
    try:
        existing = RunContext.of(load_experiment(str(config), is_of_run=True))
    except UntrustedError:
        raise ConfigError(
            f"{folder} holds another run, of other code: choose another folder with --out"
        ) from None
    except ConfigError as error:
        raise DamagedError(f"damaged run folder: {error}") from None
    written = read_yaml(str(config), "run", {})
    require_same_rules(folder, written)
    world = written.get("world", {})
    if (
        world.get(KIND) == OBJECTS
        and CANDIDATES not in world
        and make_world(existing.experiment).extra_evaluations()
    ):
        if not holds_out(world):  # the table does
            raise ConfigError(f"{folder}: {EARLIER_CANDIDATES}")
    if not existing.data:  # written by a version that identified data files by path only
        requested = replace(requested, data={})
    num_steps_done = newest_step(folder)
    training = _read_training(folder, existing)
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
            f"the run in {folder} has {num_steps_done} steps ({num_steps_done / steps_per_epoch:.3g} epochs) already; "
            f"--epochs {num_epochs} means {num_steps}"
        )
    require_same_schedule(folder, existing, requested)
    if diverged_at is not None:
        return FolderState(diverged_at=diverged_at)
    if training is not None and training["stopped"] != "interrupt":
        more = steps_per_epoch * (num_epochs - existing.experiment.training.num_epochs)
        is_done = num_steps_done == training["num_steps"] + more or is_accuracy_reached(experiment, training)
        is_done = is_done or is_patience_over(experiment, training)
        if is_done or (existing.identity() == requested.identity() and not resume):
            return FolderState(finished=training)
    if not resume and checkpoints(folder):
        raise ConfigError(
            f"{folder} holds this run, unfinished: add --resume to continue it, or choose another folder with --out"
        )
    return FolderState()


def measures_of(training: Mapping[str, Any]) -> dict[str, Any]:
    """Evaluation measures in the training section of the metadata, by name."""
    return {name: value for name, value in training.items() if name not in NO_MEASURES}


def is_accuracy_reached(experiment: Experiment, valid: Mapping[str, Any]) -> bool:
    """Whether an evaluation (empty: none) reaches `training.until_accuracy`."""
    until_accuracy = experiment.training.until_accuracy
    return until_accuracy is not None and valid.get("accuracy", -1) >= until_accuracy


def is_patience_over(experiment: Experiment, training: Mapping[str, Any]) -> bool:
    """Whether a finished run has at least `training.patience` evaluations since its best one."""
    patience = experiment.training.patience
    return patience is not None and training.get(SINCE_BEST, 0) >= patience


def prepare_run_folder(folder: Path, context: RunContext, *, is_replaced: bool) -> None:
    """Create the folder, write `config.yaml`, and remove leftover files of killed, diverged and replaced runs."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        if TMP_FILES.fullmatch(file.name):
            file.unlink()
    if is_replaced:
        for file in [*checkpoints(folder), *folder.glob("best-*.safetensors")]:
            file.unlink()
    text = f"{FORMAT}: {FORMATS['config']}\n{as_yaml(context.to_tree())}"
    write_atomically(folder / CONFIG, sealed_text(text.encode()))
    keep_copies(folder, context.experiment.code)
    # Last, because these metadata permit replacing the run.
    if ending_of(folder).get("stopped") == "diverged":
        (folder / METADATA).unlink()


def write_divergence(folder: Path, log: Log, entry: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Write the last line of the log, and the metadata unless the folder has a corpus of an earlier step."""
    log.write(entry)
    log.file.flush()
    if not (folder / CORPUS).exists():
        write_atomically(folder / METADATA, json.dumps(sealed(metadata), indent=2).encode() + b"\n")


def versions(device: torch.device) -> dict[str, Any]:
    """Versions and hardware that two runs must share to be bit-identical; the commit is None if it is not known."""
    return {
        "ecsuite": __version__,
        "commit": own_commit(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "device": device.type,
        "hardware": hardware(device),
        "num_threads": torch.get_num_threads(),
    }


def ending_of(folder: Path) -> Mapping[str, Any]:
    """Training section of the metadata; empty if the run has not ended, or they are damaged."""
    ending = _read_metadata(folder).get("training")
    return ending if isinstance(ending, dict) else {}


def _read_metadata(folder: Path) -> dict[str, Any]:
    """The content of `metadata.json`; empty if there is none, or it is damaged."""
    try:
        metadata = dict(json.loads((folder / METADATA).read_bytes()))
        require_unchanged(metadata, folder / METADATA)
        return metadata
    except (DamagedError, *UNREADABLE):
        return {}


def _read_training(folder: Path, existing: RunContext) -> dict[str, Any] | None:
    """Training section and extra evaluations in the metadata; None unless they and the corpus are of this run."""
    metadata = _read_metadata(folder)
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
        if RunContext.of(claimed).identity() != existing.identity():
            return None
        for name, digest in metadata.get("sha256", {}).items():
            with (folder / name).open("rb") as file:
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


RESULTS = (SCORES, SWEEP)
"""Other files that contain their own checksum."""


def accept_edits(folder: Path) -> list[str]:
    """Accept edited files of a run folder, a corpus or a sweep by updating their checksums.

    Returns:
        The names of the accepted files.

    Raises:
        ConfigError: If the folder has no file with a checksum.
        CorpusError: If the corpus is edited so that it can't be read.
        DamagedError: If a file is not JSON, or a file of the corpus is not there.
    """
    if not any((folder / name).is_file() for name in (CONFIG, METADATA, *RESULTS)):
        raise ConfigError(
            f"{folder}: expected a run folder, a corpus (with {METADATA}) or the folder of a sweep"
        )
    taken, config = [], folder / CONFIG
    if config.is_file() and (content := config.read_bytes()) != sealed_text(content):
        write_atomically(config, sealed_text(content))
        taken.append(CONFIG)
    taken += _accept_corpus(folder)
    taken += [name for name in RESULTS if _write(folder / name, _read(folder / name))]
    try:
        require_unchanged_log(folder)
    except DamagedError:
        accept_log(folder)
        taken.append(LOG)
    return taken


def _accept_corpus(folder: Path) -> list[str]:
    """Accept edited files of a corpus; return their names."""
    metadata = _read(folder / METADATA)
    if metadata is None:
        return []
    before = metadata.get("sha256", {})
    try:
        hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in before}
    except (OSError, TypeError) as error:
        raise DamagedError(f"{folder / METADATA}: a file of the corpus can't be read: {error}") from None
    edited = [name for name in hashes if hashes[name] != before[name]]
    accepted = metadata | {"sha256": hashes} if hashes else metadata
    if edited or not _is_sealed(metadata):
        try:
            corpus = corpus_of(read_table(folder / CORPUS, {}), Reading())
            with_siblings(corpus, folder, accepted)
        except CorpusError as error:
            raise CorpusError(f"{folder}: nothing was accepted: {error}") from None
    is_edited = _write(folder / METADATA, accepted)
    return [*edited, *([METADATA] if is_edited and not edited else [])]


def _read(file: Path) -> dict[str, Any] | None:
    """Read a JSON object; None if there is no such file."""
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
    """Write a JSON object with its checksum unless it has it already; return whether it was written."""
    if data is None or _is_sealed(data):
        return False
    write_atomically(file, json.dumps(sealed(data), indent=2, ensure_ascii=False).encode() + b"\n")
    return True


UNITS = {"loss": "nats", "length": "mean message length incl. EOS"}
"""Units of figures, by name."""
WITHOUT_EOS = {**UNITS, "length": "mean message length"}
"""Units in plays of rounds, which have neither loss nor EOS."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """Outcome of a run."""

    stopped: StopReason
    step: int
    """Steps done; of a run that diverged, the step that failed."""
    num_steps: int
    """Steps of all epochs."""
    measures: dict[str, float]
    """The last evaluation: loss (nats), accuracy, length (symbols incl. EOS), and the task's own metrics; that of the
    best state where it is kept; empty if the run diverged before the first one."""
    chance: dict[str, float]
    """Chance level of each metric."""
    extra_evaluations: dict[str, dict[str, float]]
    """Further evaluations of the final agents by name, such as `unseen concept`; empty where there are none."""
    extra_chance: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Chance levels of the extra evaluations, by evaluation and measure."""
    was_done: bool = False
    """Whether the folder already held this finished run."""
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    """Language metrics (`evaluation.metrics`) of the same agents as the measures; None: undefined."""
    best_step: int | None = None
    """Step of the agents that measures and corpus describe, with `training.keep_best`; else None."""

    def to_json(self) -> dict[str, Any]:
        """Outcome, JSON-ready, without unused optional fields."""
        tree = asdict(self)
        tree[EXTRA] = tree.pop("extra_evaluations")
        unused = [name for name in ("metrics", "best_step", "extra_chance") if tree[name] in ({}, None)]
        return {name: value for name, value in tree.items() if name not in unused}

    def summary(self) -> str:
        """Outcome in a few lines of text."""
        how = {
            "epochs": "all epochs done",
            "accuracy": "accuracy reached",
            "patience": "no longer improving",
            "minutes": "time limit reached",
            "limit": "limit reached; --resume goes on with another one",
            "interrupt": "interrupted",
            "preempted": "stopped by a signal",
            "diverged": f"diverged; {REMEDY}",
        }[self.stopped]
        already = "already finished: " if self.was_done else ""
        lines = [f"{already}{how}, step {self.step:,} of {self.num_steps:,}"]
        if self.best_step is not None:
            lines.append(f"measures and corpus of the best state, after step {self.best_step:,}")
        about, figures = held_out_of(self.extra_evaluations), {}
        for name, value in self.measures.items():
            if name in self.chance:
                figures[measure_title(name, about)] = share_text(value, self.chance[name])
            else:
                units = UNITS if "loss" in self.measures else WITHOUT_EOS
                figures[measure_title(name, "")] = f"{value:8.3f}  {units.get(name, '')}".rstrip()
        for name, extra in self.extra_evaluations.items():
            level = self.extra_chance.get(name, {}).get("accuracy")
            figures[measure_title("accuracy", name)] = share_text(extra["accuracy"], level)
        for name, score in self.metrics.items():
            figures[name] = "not defined" if score is None else f"{score:8.3f}"
        width = max(20, *(len(name) + 1 for name in figures)) if figures else 0
        return "\n".join([*lines, *(f"  {name:{width}}{figure}" for name, figure in figures.items())])


def share_text(value: float, chance: float | None) -> str:
    """Percentage, with its chance level if known."""
    return f"{value:8.1%}" if chance is None else f"{value:8.1%}  chance level {chance:.2g}"
