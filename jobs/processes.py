"""Workers as processes of this machine: `ecsuite work`, which ends with the process that started it."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import connection

from ecsuite.files.locks import process_name
from ecsuite.jobs.groups import GroupFolder
from ecsuite.jobs.job import Resources
from ecsuite.jobs.launchers import VISIBLE, Launcher, Lost, Standing
from ecsuite.runtime.errors import ConfigError

WORKER_ENVIRONMENT = {
    # One thread per process: small matrix products gain nothing from more, and lose much on shared cores.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # The allocator reuses memory instead of returning it to the system and requesting it again in every update.
    "MALLOC_MMAP_THRESHOLD_": str(2**32),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**26),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""Environment variables of worker processes."""
REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""Signals that ask to stop; they reach all processes, and the command handles them."""


class Local(Launcher):
    """Start processes of this machine, one per group.

    Args:
        folder: The groups.
        num_workers: Maximum number of processes.
        gpus: The GPUs of this machine; each process sees one of them.
    """

    def __init__(self, folder: GroupFolder, num_workers: int, gpus: Sequence[str] = ()) -> None:
        super().__init__(folder)
        self.num_slots, self.gpus = num_workers, gpus[:num_workers]
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.ended: dict[str, str] = {}  # how processes ended, by name
        self.num_started = 0
        self.num_groups = dict.fromkeys(range(len(self.gpus)), 0)  # that need a GPU, by its number

    def pool(self, resources: Resources) -> str:
        """All workers of this command, or those on the GPU with the fewest groups."""
        command = self.folder.command
        if not (resources.num_gpus and self.gpus):
            return command
        gpu = min(self.num_groups, key=lambda number: self.num_groups[number])
        self.num_groups[gpu] += 1
        return f"{command}-{gpu}"

    def start(self, groups: Collection[Standing]) -> None:
        """Start a process for each group, up to the maximum number."""
        for gpu in self.num_groups:
            self.num_groups[gpu] = sum(group.pool == f"{self.folder.command}-{gpu}" for group in groups)
        while len(self.workers) < min(len(groups), self.num_slots):
            pools, variables = [self.folder.command], dict(WORKER_ENVIRONMENT)
            if self.gpus:
                number = self.num_started % len(self.gpus)
                pools.append(f"{self.folder.command}-{number}")
                variables[VISIBLE] = self.gpus[number]
            self.num_started += 1
            words = [sys.executable, "-m", "ecsuite", "work", str(self.folder.store.folder), "--attached"]
            words += [word for pool in pools for word in ("--pool", pool)]
            variables["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
            signal.pthread_sigmask(
                signal.SIG_BLOCK, REQUESTS
            )  # until the process ignores them, see `begin_attached`
            try:
                process = subprocess.Popen(words, stdin=subprocess.PIPE, env=os.environ | variables)
            finally:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, REQUESTS)
            self.workers[process_name(process.pid)] = process

    def lost(self, groups: Collection[Standing]) -> Iterator[Lost]:
        """The groups whose processes have ended."""
        for name, worker in list(self.workers.items()):
            if worker.poll() is not None:
                _end(self.workers.pop(name))
                self.ended[name] = _how_it_ended(worker.returncode)
                if worker.returncode > 0 and not any(group.worker == name for group in groups):
                    raise ConfigError(f"a worker ended{self.ended[name]} without a job; its output is above")
        for group in list(groups):
            if group.worker in self.ended:
                yield Lost(group=group, kind="died", text=f"its process ended{self.ended[group.worker]}")

    def end(self, worker: str) -> None:
        """End the process of a worker."""
        process = self.workers.pop(worker, None)
        if process is not None:
            _end(process)

    def close(self) -> None:
        """End all processes."""
        for worker in self.workers.values():
            _end(worker)


def begin_attached() -> None:
    """End this worker with its parent, a pipe to which is its standard input, and leave signals to the parent."""
    ignore_signals()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, REQUESTS)
    end_with(sys.stdin.buffer.read)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    assert process.stdin is not None
    process.stdin.close()


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f" with code {code}"
    return ": it was killed (out of memory?)" if code == -signal.SIGKILL else f" with signal {-code}"


def end_with(is_over: Callable[[], object]) -> None:
    """End this process as soon as a function, which waits in another thread, returns."""

    def wait() -> None:
        is_over()
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def ignore_signals() -> None:
    """Leave requests to stop to the parent process."""
    for number in REQUESTS:
        signal.signal(number, signal.SIG_IGN)


def depend_on_parent() -> None:
    """Leave signals to the parent process of `multiprocessing`, and end with it."""
    ignore_signals()
    parent = multiprocessing.parent_process()
    assert parent is not None
    end_with(lambda: connection.wait([parent.sentinel]))


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables of the processes that are started meanwhile."""
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)
