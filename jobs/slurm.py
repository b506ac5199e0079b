"""Slurm: groups of jobs in tasks of job arrays, through submitit (extra `slurm`).

The nodes share the folder of kept results. A task writes its results into the store, and what happened into `slurm/`
there, which this process reads; see `slurm_tasks`. So tasks go on when this process ends, and the next one takes their
groups up instead of submitting them again. A task that is preempted and requeued, or whose time ends, goes on from the
checkpoints of its jobs.
"""

import getpass
import io
import json
import logging
import re
import secrets
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from ecsuite.files.atomic_files import write_atomically
from ecsuite.jobs.computing import Event, Group
from ecsuite.jobs.executors import WORKER_ENVIRONMENT
from ecsuite.jobs.job import Resources, hash_of
from ecsuite.jobs.slurm_options import minutes_of
from ecsuite.jobs.slurm_tasks import END, JOBS, PROGRESS, TASK, Work, groups_in, remove, take, taken_by
from ecsuite.jobs.store import Store
from ecsuite.runtime.errors import ConfigError, missing_extra

MAX_TASKS = 500
"""Most groups at the same time in Slurm; arrays of more than 1,000 tasks are refused by its default."""
SHARE_FOR_MORE = 0.1
"""Share of its time in which a task takes further groups; the rest suffices for nearly every one."""
SECONDS_BETWEEN_CHECKS = 10.0
"""How often Slurm is asked which tasks it has."""
SECONDS_TO_CANCEL = 5.0
"""How long a second Ctrl-C cancels what is queued."""
NUM_MISSES = 2
"""After how many checks a task without a result, and that Slurm does not know, has died: shared files may be late."""


class Slurm:
    """Computes in tasks of Slurm; see `Executor` for the methods."""

    num_slots = MAX_TASKS

    def __init__(self, store: Store, report: Callable[[Event], None], options: Mapping[str, str]) -> None:
        require_slurm()
        self.store, self.report, self.options = store, report, options
        self.files = store.folder.resolve() / "slurm"
        self.pending: list[tuple[int, Group, Resources]] = []
        self.groups: dict[str, int] = {}  # by name, the number that a group was submitted with
        self.pools: dict[str, Resources] = {}
        self.told: dict[str, bytes] = {}  # by name, the last progress that was read
        self.misses: Counter[str] = Counter()
        self.last_check = time.monotonic()
        self.former = self._former_groups()

    def submit(self, number: int, group: Group, resources: Resources) -> None:
        """Take a group; the next `poll` submits it, unless a task of an earlier command computes it."""
        name, pool = self.former.pop(_name_of(group), None), self._pool_of(resources)
        if name is not None and not name.startswith(pool) and take(self.files, name, ""):
            remove(self.files, name)  # it waits in Slurm with other options
            name = None
        if name is None:
            self.pending.append((number, group, resources))
        else:
            self.groups[name] = number

    def poll(self, seconds: float) -> None:
        """Submit what is pending, wait, and report what happened."""
        if self.pending:
            self._submit_all()
        time.sleep(seconds)
        ended = {file.name.removesuffix(END) for file in self.files.glob(f"*{END}")}
        for name in [name for name in self.groups if name in ended]:
            self._end(name, json.loads((self.files / f"{name}{END}").read_bytes()))
        if ended:
            self._cancel_surplus()
        if time.monotonic() - self.last_check > SECONDS_BETWEEN_CHECKS and self.groups:
            self.last_check = time.monotonic()
            self._check()

    def cancel(self, number: int, reason: str) -> None:
        """Cancel the task that computes a group."""
        for name in [name for name, each in self.groups.items() if each == number]:
            _cancel([task] if (task := taken_by(self.files, name)) else [])
            self._end(name, [asdict(Event(kind="died", group=0, text=reason))])

    def stop(self) -> None:
        """Leave the tasks to Slurm, where they go on, and say so; a second Ctrl-C cancels those that wait there."""
        names, numbers = list(self.groups), [number for number, *_ in self.pending]
        numbers += self.groups.values()
        self.groups.clear()
        self.pending.clear()
        try:
            if names:
                self.store.note(
                    f"{len(names)} groups of jobs go on in Slurm; the same command takes their results; Ctrl-C again "
                    "now cancels what has not begun"
                )
                time.sleep(SECONDS_TO_CANCEL)
        except KeyboardInterrupt:
            free = self._withdraw(names)
            tasks = sorted({task for name in names if (task := taken_by(self.files, name))})
            self.store.note(
                f"{len(free)} cancelled"
                + (f"; to end the others: scancel {' '.join(tasks)}" if tasks else "")
            )
        for number in numbers:
            self.report(Event(kind="stopped", group=number))

    def close(self) -> None:
        """Remove what is left of groups whose results others took; what runs belongs to Slurm."""
        for name in self.former.values():
            if (self.files / f"{name}{END}").exists():
                remove(self.files, name)
        self._withdraw(self.groups)  # after an error that ends the work

    def _submit_all(self) -> None:
        pending, self.pending = self.pending, []
        by_resources: defaultdict[Resources, list[tuple[int, Group]]] = defaultdict(list)
        for number, group, resources in pending:
            by_resources[resources].append((number, group))
        for resources, groups in by_resources.items():
            pool = self._pool_of(resources)
            names = [f"{pool}-{time.time_ns()}-{secrets.token_hex(4)}" for _ in groups]
            self.files.mkdir(parents=True, exist_ok=True)
            for name, (number, group) in zip(names, groups, strict=True):
                content = {"group": _name_of(group), "jobs": [asdict(job) for job in group]}
                write_atomically(self.files / f"{name}{JOBS}", json.dumps(content).encode())
                self.groups[name] = number
            self._submit_tasks(pool, len(names))

    def _submit_tasks(self, pool: str, number: int) -> None:
        try:
            executor = _executor(self.files / "logs", self.options, self.pools[pool], f"ecsuite-{pool}")
            limit = 60.0 * minutes_of(self.options["time"])
            arguments = (str(self.files.parent), pool, SHARE_FOR_MORE * limit, limit)
            # submitit prints what sbatch says; it is in the error, too.
            with redirect_stderr(io.StringIO()), executor.batch():
                for _ in range(number):
                    executor.submit(Work(), *arguments)
        except Exception as error:  # of submitit, whose classes differ between its versions
            said = "; ".join(line.removeprefix("sbatch: error: ") for line in str(error).splitlines())
            raise ConfigError(f"--on slurm: sbatch refused the jobs: {said:.200}") from None

    def _pool_of(self, resources: Resources) -> str:
        pool = hash_of([str(self.files), dict(self.options), asdict(resources)])[:8]
        self.pools[pool] = resources
        return pool

    def _end(self, name: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Report the events of a group that has ended, and remove its files."""
        number = self.groups.pop(name)
        remove(self.files, name)
        for event in events:
            self.report(Event(**{**event, "group": number}))

    def _cancel_surplus(self) -> None:
        """Cancel the tasks that wait in Slurm if there is nothing left to take."""
        for pool in [pool for pool in self.pools if not self._has_free_groups(pool)]:
            del self.pools[pool]
            # A task that has taken a group waits to go on with it.
            busy = {
                taken_by(self.files, file.name.removesuffix(TASK))
                for file in self.files.glob(f"{pool}-*{TASK}")
            }
            waiting = [
                task for task, (state, of) in (_queue() or {}).items() if of == pool and state == "PENDING"
            ]
            _cancel([task for task in waiting if task not in busy], "--state=PENDING")

    def _check(self) -> None:
        """Report progress, and groups whose tasks Slurm does not know any more."""
        queue = _queue()
        if queue is None:
            return  # it does not answer; tasks may go on
        for name, number in list(self.groups.items()):
            task = taken_by(self.files, name)
            if task is None:
                is_known = any(of == name.partition("-")[0] for _, of in queue.values())
            else:
                is_known = task in queue
                self._tell_progress(name, number, is_running=is_known and queue[task][0] != "PENDING")
            self.misses[name] = 0 if is_known else self.misses[name] + 1
            if self.misses[name] >= NUM_MISSES and not (self.files / f"{name}{END}").exists():
                self._end(name, [asdict(Event(kind="died", group=0, text=self._how_it_ended(task)))])

    def _tell_progress(self, name: str, number: int, *, is_running: bool) -> None:
        """Report what a task has written since the last look."""
        if not is_running:
            self.report(Event(kind="queued", group=number))
            return
        with suppress(OSError, ValueError, TypeError):  # written while it is read, on a shared disk
            content = (self.files / f"{name}{PROGRESS}").read_bytes()
            if content != self.told.get(name):
                self.told[name] = content
                self.report(Event(**json.loads(content)["event"] | {"group": number}))

    def _how_it_ended(self, task: str | None) -> str:
        logs = self.files / "logs"
        if task is None:
            return f"Slurm has no task for it; were all cancelled? See {logs}"
        said = _run("scontrol", "show", "job", "-o", task) or ""
        found = re.search(r"JobState=(\w+)", said)
        state = f" ({found[1].lower().replace('_', ' ')})" if found else ""
        return f"its task {task} in Slurm ended without a result{state}; see {logs / f'{task}_0_log.err'}"

    def _withdraw(self, names: Collection[str]) -> list[str]:
        """Remove the groups that no task has taken, and cancel the tasks that wait for one; returns them."""
        pools = {name.partition("-")[0] for name in names}
        free = [name for name in names if take(self.files, name, "")]
        for name in free:
            remove(self.files, name)
        for pool in pools:
            self.pools.setdefault(pool, Resources())
        if free:
            self._cancel_surplus()
        return free

    def _has_free_groups(self, pool: str) -> bool:
        """Whether there is a group of any command that no task has taken."""
        return any(not (self.files / f"{name}{TASK}").exists() for name in groups_in(self.files, pool))

    def _former_groups(self) -> dict[str, str]:
        """The groups of earlier commands that have ended, or that Slurm has tasks for; the others are removed."""
        found: dict[str, str] = {}
        files = list(self.files.glob(f"*{JOBS}"))
        queue = _queue() if files else None
        for file in files:
            name = file.name.removesuffix(JOBS)
            task, pool = taken_by(self.files, name), name.partition("-")[0]
            is_known = queue is None or (
                any(of == pool for _, of in queue.values()) if task is None else task in queue
            )
            with suppress(OSError, ValueError, KeyError, TypeError):
                if is_known or (self.files / f"{name}{END}").exists():
                    found[str(json.loads(file.read_bytes())["group"])] = name
                    continue
            remove(self.files, name)
        return found


def require_slurm() -> None:
    """Refuse to go on where Slurm can't be used; `ConfigError`."""
    if shutil.which("sbatch") is None:
        raise ConfigError(
            "--on slurm: there is no sbatch here; run the command on a login node of the cluster"
        )
    try:
        import_module("submitit")
    except ImportError:
        raise missing_extra("--on slurm", "slurm") from None
    logging.getLogger("submitit").setLevel(logging.ERROR)


def _executor(folder: Path, options: Mapping[str, str], resources: Resources, name: str) -> Any:
    """What submits tasks that have these options, and what their jobs need unless the options say it."""
    submitit: Any = import_module("submitit")
    folder.mkdir(parents=True, exist_ok=True)
    executor = submitit.SlurmExecutor(folder=folder, max_num_timeout=1000)
    known = {"time": minutes_of(options["time"]), "job_name": name, "use_srun": False}
    more: dict[str, Any] = {key: value for key, value in options.items() if key != "time"}
    if resources.num_threads > 1:
        more.setdefault("cpus_per_task", resources.num_threads)
    if resources.num_gpus and not any("gpu" in f"{key}={value}" for key, value in more.items()):
        more["gres"] = "gpu:1"
    setup = [f"export {name}={value}" for name, value in WORKER_ENVIRONMENT.items()]
    executor.update_parameters(**known, setup=setup, additional_parameters=more)
    return executor


def _queue() -> dict[str, tuple[str, str]] | None:
    """The state and the pool of each task of this user in Slurm; None if it does not answer."""
    said = _run("squeue", "--noheader", "--array", "--format=%i|%T|%j", f"--user={getpass.getuser()}")
    if said is None:
        return None
    rows = [line.split("|", 2) for line in said.splitlines()]
    return {row[0]: (row[1], row[2].removeprefix("ecsuite-")) for row in rows if len(row) == 3}


def _cancel(tasks: Sequence[str], *options: str) -> None:
    for start in range(0, len(tasks), 100):
        _run("scancel", *options, *tasks[start : start + 100])


def _run(*command: str) -> str | None:
    """What a command of Slurm prints; None if it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None


def _name_of(group: Group) -> str:
    return " ".join(sorted(job.digest for job in group))
