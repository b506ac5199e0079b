"""What a task of Slurm computes on a node: groups of jobs, one after the other.

There is a task for each group, and none has a group of its own: a task takes the next one that no other has taken, and
while it is young another one. So long jobs have a task each, and many short ones share the start of a process; the
tasks that are left over are cancelled. The files of a group, in `slurm/` of the store:

    GROUP.jobs.json       its jobs
    GROUP.task.json       the task that has taken it
    GROUP.progress.json   what it is doing
    GROUP.end.json        its events, when it has ended

The name of a group begins with its pool: tasks that were submitted with the same options and resources. Whatever is
slow to import is imported when a group was taken.
"""

import json
import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ecsuite.files.atomic_files import SECONDS_UNTIL_ABANDONED, write_atomically

if TYPE_CHECKING:
    from ecsuite.jobs.computing import Event

SECONDS_BEFORE_LIMIT = 90.0
"""How long before its time ends a task stops, to be queued again."""
SECONDS_OF_PROGRESS = 5.0
"""How often a task says what it is doing."""
JOBS, TASK, PROGRESS, END = ".jobs.json", ".task.json", ".progress.json", ".end.json"
"""Endings of the files of a group."""


class Work:
    """What a task computes; called by submitit on a node."""

    def __call__(self, folder: str, pool: str, seconds: float, limit: float) -> None:
        """Compute groups of a pool.

        Args:
            folder: The store.
            pool: Beginning of the names of groups.
            seconds: How long the task takes further groups.
            limit: Seconds after which Slurm ends the task.
        """
        # Slurm sends its signal before the limit to steps of a job alone, and there is none: it saves their start.
        left = max(limit - SECONDS_BEFORE_LIMIT, limit / 2)
        timer = threading.Timer(left, os.kill, (os.getpid(), signal.SIGUSR2))
        timer.daemon = True
        timer.start()
        try:
            self.work(folder, pool, seconds)
        finally:
            timer.cancel()

    def work(self, folder: str, pool: str, seconds: float) -> None:
        """Compute groups of a pool, as long as the task takes further ones."""
        began, own = time.monotonic(), own_number()
        # Those that it had taken before it was preempted, or its time ended.
        for name in groups_in(Path(folder) / "slurm", pool):
            if taken_by(Path(folder) / "slurm", name) == own:
                self.compute(Path(folder), name)
        for name in _free_groups(Path(folder) / "slurm", pool):
            if take(Path(folder) / "slurm", name, own):
                self.compute(Path(folder), name)
            if time.monotonic() - began > seconds:
                return

    def compute(self, folder: Path, name: str) -> None:
        """Compute a group that was taken, unless it has ended."""
        from ecsuite.jobs.computing import compute_and_report
        from ecsuite.jobs.job import SentJob
        from ecsuite.jobs.store import Store

        files, last, events = folder / "slurm", 0.0, list[dict[str, Any]]()
        if (files / f"{name}{END}").exists():
            return

        def report(event: "Event") -> None:
            nonlocal last
            if event.kind not in ("progress", "alive", "started"):
                events.append(asdict(event))
            elif event.kind != "progress" or time.monotonic() - last > SECONDS_OF_PROGRESS:
                last = time.monotonic()
                told = {"event": asdict(event), "at": time.time()}
                write_atomically(files / f"{name}{PROGRESS}", json.dumps(told).encode())

        jobs = [SentJob(**each) for each in json.loads((files / f"{name}{JOBS}").read_bytes())["jobs"]]
        compute_and_report(0, jobs, Store(folder), report, lambda: False)
        write_atomically(files / f"{name}{END}", json.dumps(events).encode())

    def checkpoint(self, *arguments: Any) -> Any:
        """Called by submitit shortly before the time of the task ends: the task is queued again, as it was."""
        return import_module("submitit.helpers").DelayedSubmission(self, *arguments)


def own_number() -> str:
    """The number of this task in Slurm, such as `34_0`."""
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    return f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}" if array else os.environ["SLURM_JOB_ID"]


def groups_in(files: Path, pool: str) -> list[str]:
    """The groups of a pool, in the order in which they were submitted."""
    return sorted(file.name.removesuffix(JOBS) for file in files.glob(f"{pool}-*{JOBS}"))


def take(files: Path, name: str, task: str) -> bool:
    """Take a group for a task; whether nobody else has it."""
    written = files / f".{name}.{secrets.randbelow(10**12)}.tmp"
    written.write_text(json.dumps({"task": task}))
    try:
        # Unlike the exclusive creation of a file, this is atomic, with its content, in all network file systems.
        os.link(written, files / f"{name}{TASK}")
    except FileExistsError:
        return False
    finally:
        written.unlink()
    if (files / f"{name}{JOBS}").exists():
        return True
    (files / f"{name}{TASK}").unlink(missing_ok=True)  # it had ended, and its files were removed
    return False


def taken_by(files: Path, name: str) -> str | None:
    """The task that has taken a group; None if none has."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(json.loads((files / f"{name}{TASK}").read_bytes())["task"])
    return None


def _free_groups(files: Path, pool: str) -> Iterator[str]:
    """Groups that nobody had taken when they were listed, until there are none."""
    while free := [name for name in groups_in(files, pool) if not (files / f"{name}{TASK}").exists()]:
        yield from free


def remove_ended(folder: Path) -> None:
    """Remove the files of groups that ended long ago without a command that took their results.

    Args:
        folder: The store; it need not exist. The results are there.
    """
    for file in (folder / "slurm").glob(f"*{END}"):
        with suppress(FileNotFoundError):
            if time.time() - file.stat().st_mtime > SECONDS_UNTIL_ABANDONED:
                remove(folder / "slurm", file.name.removesuffix(END))


def remove(files: Path, name: str) -> None:
    """Remove the files of a group."""
    # The list of jobs first: a group without it cannot be taken.
    for ending in (JOBS, PROGRESS, END, TASK):
        (files / f"{name}{ending}").unlink(missing_ok=True)
