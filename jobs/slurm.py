"""Workers as tasks of Slurm's job arrays, through submitit (extra `slurm`).

The nodes share the folder of the store. There is one task per group, but groups are not assigned to tasks: a
task takes further groups in the first part of its time, so that long jobs have a task each, and many short ones share
the start of a process; superfluous tasks are cancelled. Tasks continue when the command ends. A task that is preempted,
or whose time ends, is queued again and resumes from the checkpoints of its jobs.
"""

import getpass
import io
import logging
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from ecsuite.jobs.groups import GroupFolder, require_locks
from ecsuite.jobs.job import Resources, hash_of
from ecsuite.jobs.launchers import MOST_GROUPS, Launcher, Lost, Standing, options_of
from ecsuite.jobs.processes import WORKER_ENVIRONMENT
from ecsuite.jobs.worker import WorkerOptions, work
from ecsuite.runtime.errors import ConfigError, missing_extra

DEFAULTS = {"time": "60"}
"""Default options of sbatch; `time` is in minutes."""
SHARE_FOR_MORE = 0.1
"""Share of its time in which a task takes further groups; the rest suffices for nearly all."""
SECONDS_BEFORE_LIMIT = 90.0
"""Seconds before the end of its time at which a task stops, to be queued again."""
SECONDS_BETWEEN_CHECKS = 10.0
"""Seconds between two queries of the tasks in Slurm."""
NUM_MISSES = 2
"""Number of checks after which a task without a result, unknown to Slurm, has died: shared files may be late."""


class Slurm(Launcher):
    """Starts tasks of Slurm; see `Launcher` for the methods."""

    ends_with_command = False
    num_slots = MOST_GROUPS  # Slurm by default rejects arrays of more than 1,000 tasks

    def __init__(self, folder: GroupFolder, options: Mapping[str, str]) -> None:
        super().__init__(folder)
        self.options = options
        self.store = folder.store.folder.resolve()
        self.logs = self.store / "slurm"
        self.pools: dict[str, Resources] = {}
        self.num_lacking: Counter[str] = Counter()  # by pool, groups that no task was submitted for
        self.misses: Counter[str] = Counter()
        self.last_check = time.monotonic()

    def pool(self, resources: Resources) -> str:
        """Pool of the tasks of this store with equal options and resources, of all commands."""
        pool = hash_of([str(self.store), dict(self.options), asdict(resources)])[:8]
        self.num_lacking[pool] += 1
        if pool not in self.pools:
            self.pools[pool] = resources
            # They wait for groups of an earlier command, which this command queues again.
            self.num_lacking[pool] -= len(_waiting(pool))
        return pool

    def start(self, groups: Collection[Standing]) -> None:
        """Submit a task for each group without a waiting task."""
        for pool, number in self.num_lacking.items():
            if number > 0:
                self._submit(pool, number)
                self.num_lacking[pool] = 0

    def _submit(self, pool: str, number: int) -> None:
        try:
            executor = _executor(self.logs, self.options, self.pools[pool], f"ecsuite-{pool}")
            limit = 60.0 * minutes_of(self.options["time"])
            # submitit prints the output of sbatch, which is also in the error.
            with redirect_stderr(io.StringIO()), executor.batch():
                for _ in range(number):
                    executor.submit(Work(), str(self.store), pool, limit)
        except Exception as error:  # submitit's classes of errors differ between versions
            said = "; ".join(line.removeprefix("sbatch: error: ") for line in str(error).splitlines())
            raise ConfigError(f"--on slurm: sbatch refused the jobs: {said:.200}") from None

    def lost(self, groups: Collection[Standing]) -> Iterator[Lost]:
        """The groups whose tasks Slurm no longer knows or has queued again."""
        if time.monotonic() - self.last_check < SECONDS_BETWEEN_CHECKS or not groups:
            return
        self.last_check = time.monotonic()
        queue = _queue()
        if queue is None:
            return  # Slurm does not answer; tasks may still run
        for group in groups:
            if group.worker:
                is_known = group.worker in queue
            else:
                is_known = any(of == group.pool for _, of in queue.values())
            self.misses[group.name] = 0 if is_known else self.misses[group.name] + 1
            if group.worker and is_known and queue[group.worker][0] == "PENDING":
                yield Lost(group=group, kind="queued")
            elif self.misses[group.name] >= NUM_MISSES:
                yield Lost(group=group, kind="died", text=self._how_it_ended(group.worker))

    def _how_it_ended(self, task: str) -> str:
        if not task:
            return f"Slurm has no task for it; were all cancelled? See {self.logs}"
        said = _run("scontrol", "show", "job", "-o", task) or ""
        found = re.search(r"JobState=(\w+)", said)
        state = f" ({found[1].lower().replace('_', ' ')})" if found else ""
        return (
            f"its task {task} in Slurm ended without a result{state}; see {self.logs / f'{task}_0_log.err'}"
        )

    def end(self, worker: str) -> None:
        """Cancel a task."""
        _cancel([worker] if worker else [])

    def cancel(self, groups: Collection[Standing]) -> str:
        """Cancel the tasks that wait in Slurm, if no command has groups left for them."""
        busy = {group.worker for group in groups}  # a waiting task that has taken a group will resume it
        for pool in self.pools:
            if not self.folder.has_free(pool):
                _cancel([task for task in _waiting(pool) if task not in busy], "--state=PENDING")
        return f"scancel {' '.join(sorted(busy))}" if busy else ""


class Work:
    """Function of a task; called by submitit on a node."""

    def __call__(self, folder: str, pool: str, limit: float) -> None:
        """Compute groups of a pool.

        Args:
            folder: The store.
            pool: The pool.
            limit: Seconds after which Slurm ends the task.
        """
        options = WorkerOptions(
            pools=(pool,),
            name=own_number(),
            seconds_idle=0.0,
            seconds_for_more=SHARE_FOR_MORE * limit,
            # Slurm sends its signal before the limit to steps of a job alone, and there is none: it saves their start.
            seconds=max(limit - SECONDS_BEFORE_LIMIT, limit / 2),
            takes_again=True,
        )
        if work(Path(folder), options) == "time":
            os.kill(os.getpid(), signal.SIGUSR2)  # submitit has Slurm queue the task again

    def checkpoint(self, *arguments: Any) -> Any:
        """Queue the task again, unchanged; called by submitit shortly before the end of its time."""
        return import_module("submitit.helpers").DelayedSubmission(self, *arguments)


def own_number() -> str:
    """The number of this task in Slurm, such as `34_0`."""
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    return f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}" if array else os.environ["SLURM_JOB_ID"]


def require_slurm(folder: Path) -> None:
    """Raise `ConfigError` if Slurm can't be used."""
    if shutil.which("sbatch") is None:
        raise ConfigError(
            "--on slurm: there is no sbatch here; run the command on a login node of the cluster"
        )
    try:
        import_module("submitit")
    except ImportError:
        raise missing_extra("--on slurm", "slurm") from None
    logging.getLogger("submitit").setLevel(logging.ERROR)
    require_locks("--on slurm", folder)


def slurm_options(text: str | None, others: Mapping[str, str] = {}) -> dict[str, str]:
    """Options of sbatch, from `partition=low,gres=gpu:1,time=2:00:00`, and the options of `--on slurm,…`.

    Raises:
        ConfigError: If a piece has no `=`, or the time is not valid.
    """
    options = {**DEFAULTS, **options_of(f"--slurm {text}", text or ""), **others}
    minutes_of(options["time"])
    return options


def minutes_of(text: str) -> int:
    """Minutes from Slurm's `90`, `1:30:00` or `1-12:00:00`.

    Raises:
        ConfigError: If it has another form.
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


def _executor(folder: Path, options: Mapping[str, str], resources: Resources, name: str) -> Any:
    """Executor of submitit with the options; the resources of jobs are the defaults."""
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
    """State and pool of each task of this user in Slurm; None if Slurm does not answer."""
    said = _run("squeue", "--noheader", "--array", "--format=%i|%T|%j", f"--user={getpass.getuser()}")
    if said is None:
        return None
    rows = [line.split("|", 2) for line in said.splitlines()]
    return {row[0]: (row[1], row[2].removeprefix("ecsuite-")) for row in rows if len(row) == 3}


def _waiting(pool: str) -> list[str]:
    """The tasks of a pool that wait in Slurm."""
    return [task for task, (state, of) in (_queue() or {}).items() if (state, of) == ("PENDING", pool)]


def _cancel(tasks: Sequence[str], *options: str) -> None:
    for start in range(0, len(tasks), 100):
        _run("scancel", *options, *tasks[start : start + 100])


def _run(*command: str) -> str | None:
    """Output of a Slurm command; None if it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
