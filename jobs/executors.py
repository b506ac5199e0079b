"""Executors on this machine. They compute one group of jobs after the other in each of their places.

`here` computes in this process, `local:4` in four processes of this machine. Jobs are sent to processes as the import
path of a function and JSON; results are written to the store by the process that computed them, each at once.
"""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ecsuite.jobs.computing import Event, Group, compute_and_report
from ecsuite.jobs.gpus import VISIBLE
from ecsuite.jobs.job import Resources, SentJob
from ecsuite.jobs.store import Store

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
SECONDS_TO_STOP = 30.0
"""How long processes that are asked to stop may write checkpoints."""
SECONDS_TO_END = 5.0
"""How long a process may take between closing its connection and its end."""


class Here:
    """Computes in this process; `report` is told of events, `should_stop` says whether jobs are asked to stop."""

    num_slots = 1

    def __init__(
        self, store: Store, report: Callable[[Event], None], should_stop: Callable[[], object]
    ) -> None:
        self.store, self.report = store, report
        self.should_stop = should_stop
        self.next: tuple[int, Group] | None = None

    def submit(self, number: int, group: Group, resources: Resources) -> None:
        """Take a group; the next `poll` computes it."""
        self.next = (number, group)

    def poll(self, seconds: float) -> None:
        """Compute a whole group and report its events; without one, wait."""
        if self.next is None:
            time.sleep(seconds)
            return
        (number, group), self.next = self.next, None

        def report(event: Event) -> None:
            if event.kind != "alive":  # reported by another thread, and nobody here could end the job
                self.report(event)

        compute_and_report(number, group, self.store, report, lambda: bool(self.should_stop()))

    def cancel(self, number: int, reason: str) -> None:
        """Do nothing: while a job computes here, nobody looks for others."""

    def stop(self) -> None:
        """Do nothing: `should_stop` is asked by the job."""

    def close(self) -> None:
        """Do nothing: there are no processes."""


class Local:
    """Computes in processes of this machine; each is started when there is a group for it.

    Args:
        num_workers: Most processes.
        store: Where they keep results.
        report: Told of events.
        gpus: The GPUs of this machine; each process is given one of them, and sees no other one.
    """

    def __init__(
        self, num_workers: int, store: Store, report: Callable[[Event], None], gpus: Sequence[str] = ()
    ) -> None:
        self.num_slots, self.store, self.report = num_workers, store, report
        self.gpus: Sequence[str | None] = gpus or (None,)
        self.idle: list[_Worker] = []
        self.busy: dict[Connection, tuple[_Worker, int]] = {}

    def submit(self, number: int, group: Group, resources: Resources) -> None:
        """Start a group, whose events have this number; at most `num_slots` may be unfinished."""
        worker = self._free_worker()
        self.busy[worker.connection] = (worker, number)
        worker.send([asdict(job) for job in group])

    def poll(self, seconds: float) -> None:
        """Wait at most this long for events, and report them."""
        if not self.busy:
            time.sleep(seconds)
        for ready in connection.wait(list(self.busy), seconds):
            assert isinstance(ready, Connection)
            worker, number = self.busy[ready]
            try:
                event = Event(**json.loads(ready.recv_bytes()) | {"group": number})
            except (EOFError, OSError):
                del self.busy[ready]
                ended = worker.how_it_ended()
                worker.close()
                self.report(Event(kind="died", group=number, text=f"its process ended{ended}"))
                continue
            if event.kind in ("ended", "failed", "stopped"):
                del self.busy[ready]
                self.idle.append(worker)
            self.report(event)

    def cancel(self, number: int, reason: str) -> None:
        """End the process that computes a group."""
        for ready, (worker, each) in list(self.busy.items()):
            if each == number:
                del self.busy[ready]
                worker.close()
                self.report(Event(kind="died", group=number, text=reason))

    def stop(self) -> None:
        """Ask all groups to stop."""
        for worker, _ in self.busy.values():
            worker.send("stop")

    def close(self) -> None:
        """End all processes."""
        for worker in [*self.idle, *(worker for worker, _ in self.busy.values())]:
            worker.close()

    def _free_worker(self) -> "_Worker":
        """A process on a GPU with the fewest groups: an idle one, or a new one while there may be more."""
        groups = Counter(worker.gpu for worker, _ in self.busy.values())
        gpu = min(self.gpus, key=lambda name: groups[name])
        idle = next((worker for worker in self.idle if worker.gpu == gpu), None)
        if idle is None and len(self.idle) + len(self.busy) < self.num_slots:
            return _Worker(self.store.folder, gpu)
        idle = idle or min(self.idle, key=lambda worker: groups[worker.gpu])
        self.idle.remove(idle)
        return idle


class _Worker:
    """A process that computes groups; of the GPUs it sees the named one only."""

    def __init__(self, folder: Path, gpu: str | None = None) -> None:
        self.gpu = gpu
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, str(folder)), daemon=True)
        with environment(WORKER_ENVIRONMENT | ({} if gpu is None else {VISIBLE: gpu})):
            self.process.start()
        theirs.close()  # so that the end of the process closes the connection

    def send(self, message: Any) -> None:
        """Send JSON values; if the process has ended, the next receiving notices."""
        with suppress(OSError):
            self.connection.send_bytes(json.dumps(message).encode())

    def how_it_ended(self) -> str:
        """How the process ended that closed its connection, for people."""
        self.process.join(SECONDS_TO_END)
        code = self.process.exitcode
        if code is None or code >= 0:
            return "" if code is None else f" with code {code}"
        return ": it was killed (out of memory?)" if code == -signal.SIGKILL else f" with signal {-code}"

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(connection: Connection, folder: str) -> None:
    """Compute groups until the other end is closed."""
    depend_on_parent()
    one_at_a_time = threading.Lock()

    def report(event: Event) -> None:
        with one_at_a_time:
            connection.send_bytes(json.dumps(asdict(event)).encode())

    is_stopped = False

    def should_stop() -> bool:
        nonlocal is_stopped
        if not is_stopped and connection.poll():
            is_stopped = json.loads(connection.recv_bytes()) == "stop"
        return is_stopped

    while True:
        try:
            message = json.loads(connection.recv_bytes())
        except (EOFError, OSError):
            return
        if message != "stop":
            group = [SentJob(**each) for each in message]
            compute_and_report(0, group, Store(Path(folder)), report, should_stop)


def depend_on_parent() -> None:
    """Leave signals to the process that started this one, and end when it ends, for whatever reason."""
    # Ctrl-C, and a scheduler's request, reach all processes.
    for name in ("SIGINT", "SIGTERM", "SIGUSR1"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """Terminate this process when the one that started it has ended, for any reason."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables of the processes that are started meanwhile."""
    before = {name: os.environ[name] for name in variables if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]
        os.environ.update(before)


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
