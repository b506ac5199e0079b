"""Slurm: groups of jobs as tasks of job arrays, through submitit (extra `slurm`).

The nodes share the folder of kept results. A task is sent an import path and JSON, as a local process is; it writes
its results into the store, and what happened into `slurm/` there, which this process reads. So tasks go on when this
process ends, and the next one takes them up instead of submitting them again:

    slurm/TOKEN.task.json       the jobs of a task, and its number in Slurm
    slurm/TOKEN.progress.json   what it is doing
    slurm/TOKEN.end.json        its events, when it has ended
    slurm/logs/                 submitit's files, with the output of each task

A task that is preempted and requeued, or whose time ends, goes on from the checkpoints of its jobs.
"""

import getpass
import json
import logging
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ecsuite.atomic_files import write_atomically
from ecsuite.config import ConfigError, missing_extra
from ecsuite.jobs.computing import Event, Group, compute_and_report
from ecsuite.jobs.executors import WORKER_ENVIRONMENT
from ecsuite.jobs.job import Resources, SentJob
from ecsuite.jobs.store import Store

MAX_TASKS = 500
"""Most tasks at the same time in Slurm; arrays of more than 1,000 are refused by its default."""
SECONDS_BETWEEN_CHECKS = 10.0
"""How often Slurm is asked which tasks it has."""
SECONDS_OF_PROGRESS = 5.0
"""How often a task says what it is doing."""
NUM_MISSES = 2
"""After how many checks a task without a result, and that Slurm does not know, has died: shared files may be late."""
DEFAULTS = {"time": "60"}
"""Options of sbatch unless others are given: minutes of a task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A group in Slurm."""

    number: int
    """The number that the group was submitted with."""
    token: str
    """The name of its files."""
    slurm_id: str
    """Its number in Slurm, such as `34_0`."""


class Work:
    """What a task computes; called by submitit on a node."""

    def __call__(self, folder: str, token: str, group: list[dict[str, Any]]) -> None:
        """Compute a group.

        Args:
            folder: The store.
            token: The name of the task's files.
            group: The jobs, as JSON values.
        """
        files, last = Path(folder) / "slurm", 0.0
        if not (files / f"{token}.task.json").exists():
            return  # queued again by Slurm after it had ended, and its result was taken
        events: list[dict[str, Any]] = []

        def report(event: Event) -> None:
            nonlocal last
            if event.kind != "progress":
                events.append(asdict(event))
            elif time.monotonic() - last > SECONDS_OF_PROGRESS:
                last = time.monotonic()
                _write(files / f"{token}.progress.json", asdict(event))

        jobs = [SentJob(**each) for each in group]
        compute_and_report(0, jobs, Store(Path(folder)), report, lambda: False)
        _write(files / f"{token}.end.json", events)

    def checkpoint(self, folder: str, token: str, group: list[dict[str, Any]]) -> Any:
        """Called by submitit shortly before the time of the task ends: the task is queued again, as it was."""
        return import_module("submitit.helpers").DelayedSubmission(self, folder, token, group)


class Slurm:
    """Computes in tasks of Slurm; see `Local` for the methods."""

    num_slots = MAX_TASKS

    def __init__(self, store: Store, report: Callable[[Event], None], options: Mapping[str, str]) -> None:
        self.store, self.report = store, report
        self.files = store.folder.resolve() / "slurm"
        self.executor = _executor(self.files / "logs", options)
        self.files.mkdir(parents=True, exist_ok=True)
        self.pending: list[tuple[int, Group]] = []
        self.tasks: dict[str, Task] = {}
        self.misses: dict[str, int] = {}
        self.last_check = time.monotonic()
        self.former = self._former_tasks()

    def submit(self, number: int, group: Group, resources: Resources) -> None:
        """Take a group; the next `poll` submits it, unless a task of an earlier command computes it."""
        token = self.former.pop(_name_of(group), None)
        if token is not None:
            self.tasks[token] = Task(number=number, token=token, slurm_id=self._slurm_id(token))
        else:
            self.pending.append((number, group))

    def poll(self, seconds: float) -> None:
        """Submit what is pending as one array, wait, and report what happened."""
        if self.pending:
            self._submit_all()
        time.sleep(seconds)
        ended = {file.name.removesuffix(".end.json") for file in self.files.glob("*.end.json")}
        for token in [token for token in self.tasks if token in ended]:
            self._end(token, json.loads((self.files / f"{token}.end.json").read_bytes()))
        if time.monotonic() - self.last_check > SECONDS_BETWEEN_CHECKS and self.tasks:
            self.last_check = time.monotonic()
            self._check()

    def cancel(self, number: int, reason: str) -> None:
        """Cancel the task that computes a group."""

    def stop(self) -> None:
        """Leave the tasks to Slurm, where they go on, and say so."""
        ids = sorted({task.slurm_id.partition("_")[0] for task in self.tasks.values()})
        if ids:
            self.store.note(
                f"{len(self.tasks)} tasks go on in Slurm; the same command takes their results; to cancel them: "
                f"scancel {' '.join(ids)}"
            )
        for number in [
            *(task.number for task in self.tasks.values()),
            *(number for number, _ in self.pending),
        ]:
            self.report(Event(kind="stopped", group=number))
        self.tasks.clear()
        self.pending.clear()

    def close(self) -> None:
        """Remove what is left of tasks whose results others took; those that run belong to Slurm."""
        for token in self.former.values():
            if (self.files / f"{token}.end.json").exists():
                self._remove(token)

    def _submit_all(self) -> None:
        pending, self.pending = self.pending, []
        tokens = [secrets.token_hex(8) for _ in pending]
        groups = [[asdict(job) for job in group] for _, group in pending]
        folder = str(self.store.folder.resolve())
        for token, (_, group) in zip(tokens, pending, strict=True):
            _write(self.files / f"{token}.task.json", {"group": _name_of(group), "slurm_id": ""})
        try:
            with self.executor.batch():
                jobs = [
                    self.executor.submit(Work(), folder, *each) for each in zip(tokens, groups, strict=True)
                ]
            ids = [str(job.job_id) for job in jobs]
        except Exception as error:  # of submitit, whose classes differ between its versions
            for token in tokens:
                self._remove(token)
            said = " ".join(str(error).split())
            raise ConfigError(f"--on slurm: sbatch refused the jobs: {said:.300}") from None
        for token, slurm_id, (number, group) in zip(tokens, ids, pending, strict=True):
            _write(self.files / f"{token}.task.json", {"group": _name_of(group), "slurm_id": slurm_id})
            self.tasks[token] = Task(number=number, token=token, slurm_id=slurm_id)

    def _end(self, token: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Report the events of a task that has ended, and remove its files."""
        task = self.tasks.pop(token)
        for event in events:
            self.report(Event(**{**event, "group": task.number}))
        self._remove(token)

    def _check(self) -> None:
        """Report progress, and tasks that Slurm does not know any more and that gave no result."""
        queued = _queued()
        for token, task in list(self.tasks.items()):
            with suppress(OSError, ValueError, TypeError):  # written while it is read, on a shared disk
                progress = json.loads((self.files / f"{token}.progress.json").read_bytes())
                self.report(Event(**{**progress, "group": task.number}))
            is_known = queued is None or task.slurm_id in queued
            self.misses[token] = 0 if is_known else self.misses.get(token, 0) + 1
            if self.misses[token] >= NUM_MISSES and not (self.files / f"{token}.end.json").exists():
                log = self.files / "logs" / f"{task.slurm_id}_0_log.err"
                died = {
                    "kind": "died",
                    "text": f"its task {task.slurm_id} in Slurm ended without a result ({log})",
                }
                self._end(token, [died])

    def _former_tasks(self) -> dict[str, str]:
        """The tokens of tasks of earlier commands, by their groups; those that Slurm does not know are removed."""
        queued = _queued()
        found = {}
        for file in self.files.glob("*.task.json"):
            token = file.name.removesuffix(".task.json")
            try:
                entry = json.loads(file.read_bytes())
                group, slurm_id = str(entry["group"]), str(entry["slurm_id"])
            except (OSError, ValueError, KeyError, TypeError):
                self._remove(token)
                continue
            if queued is None or slurm_id in queued or (self.files / f"{token}.end.json").exists():
                found[group] = token
            else:
                self._remove(token)
        return found

    def _slurm_id(self, token: str) -> str:
        return str(json.loads((self.files / f"{token}.task.json").read_bytes())["slurm_id"])

    def _remove(self, token: str) -> None:
        for kind in ("task", "progress", "end"):
            (self.files / f"{token}.{kind}.json").unlink(missing_ok=True)


def slurm_options(text: str | None) -> dict[str, str]:
    """Options of sbatch, from `partition=low,gres=gpu:1,time=2:00:00`.

    Raises:
        ConfigError: If a piece has no `=`, or the time is not one.
    """
    options = DEFAULTS | options_of(f"--slurm {text}", text or "")
    minutes_of(options["time"])
    return options


def options_of(place: str, text: str) -> dict[str, str]:
    """Options from `partition=low,gres=gpu:1`; `ConfigError` that begins with the place if a piece has no `=`."""
    options = {}
    for piece in text.split(","):
        key, equals, value = piece.strip().partition("=")
        if not equals and piece.strip():
            raise ConfigError(f"{place}: expected KEY=VALUE, such as partition=low, got {piece.strip()}")
        if equals:
            options[key.strip().lstrip("-").replace("-", "_")] = value.strip()
    return options


def minutes_of(text: str) -> int:
    """Minutes from Slurm's `90`, `1:30:00` or `1-12:00:00`.

    Raises:
        ConfigError: If it is none of these.
    """
    days, dash, clock = text.rpartition("-")
    pieces = clock.split(":")
    if not all(piece.isdecimal() for piece in ([days] if dash else []) + pieces) or len(pieces) > 3:
        raise ConfigError(f"--slurm time={text}: expected minutes (90), 1:30:00 or 1-12:00:00")
    numbers = [int(piece) for piece in pieces]
    if dash:
        hours, minutes = (*numbers, 0, 0)[:2]
    else:
        hours, minutes = (numbers[0], numbers[1]) if len(numbers) == 3 else (0, numbers[0])
    return max(1, int(days or 0) * 24 * 60 + hours * 60 + minutes)


def _executor(folder: Path, options: Mapping[str, str]) -> Any:
    if shutil.which("sbatch") is None:
        raise ConfigError(
            "--on slurm: there is no sbatch here; run the command on a login node of the cluster"
        )
    try:
        submitit: Any = import_module("submitit")
    except ImportError:
        raise missing_extra("--on slurm", "slurm") from None
    logging.getLogger("submitit").setLevel(logging.ERROR)
    folder.mkdir(parents=True, exist_ok=True)
    executor = submitit.SlurmExecutor(folder=folder, max_num_timeout=1000)
    known = {"time": minutes_of(options["time"]), "job_name": "ecsuite", "use_srun": False}
    more = {key: value for key, value in options.items() if key != "time"}
    setup = [f"export {name}={value}" for name, value in WORKER_ENVIRONMENT.items()]
    executor.update_parameters(**known, setup=setup, additional_parameters=more)
    return executor


def _queued() -> set[str] | None:
    """The tasks of this user that wait or run in Slurm; None if it does not answer."""
    command = ["squeue", "--noheader", "--array", "--format=%i", f"--user={getpass.getuser()}"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(said.stdout.split())


def _name_of(group: Group) -> str:
    return " ".join(sorted(job.digest for job in group))


def _write(file: Path, content: Any) -> None:
    write_atomically(file, json.dumps(content).encode())
