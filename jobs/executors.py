"""Executors: where jobs are computed. They compute one group of jobs after the other in each of their places.

`here` computes in this process, `local:4` in four processes of this machine. Jobs are sent to processes as the import
path of a function and JSON; results are written to the store by the process that computed them, each at once.
"""

import json
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing import connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, Protocol

from ecsuite.config import ConfigError, DamagedError, DivergedError
from ecsuite.corpus import CorpusError
from ecsuite.file_formats import FormatError
from ecsuite.jobs.job import Context, SentJob, Stopped, import_function
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
USERS_ERRORS = {error.__name__: error for error in (ConfigError, CorpusError, DamagedError, FormatError)}
"""Errors of inputs, which end the whole work: no other try would help."""
SECONDS_TO_STOP = 30.0
"""How long processes that are asked to stop may write checkpoints."""
Group = Sequence[SentJob]
"""Jobs of one function that are computed together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What happened to a group."""

    kind: Literal["progress", "kept", "ended", "failed", "died", "stopped"]
    """kept: one of its results; ended: all of it; died: its process ended without a word."""
    group: int
    """The number that the group was submitted with."""
    text: str = ""
    """progress: what it is doing; kept: the digest of the job; failed: the message."""
    share: float = 0.0
    """progress: the share that is done, 0 to 1."""
    error: str = ""
    """failed: the name of the exception's class."""


def compute(group: Group, store: Store, context: Context) -> Iterator[SentJob]:
    """Compute a group, and keep each result in the store that holds those which the jobs read.

    Yields:
        Each job when its result is kept.
    """
    began = time.monotonic()
    function = import_function(group[0].function)
    inputs = [store.receive(job, function) for job in group]

    def keep(job: SentJob, value: Any, failure: str | None = None) -> SentJob:
        store.write(job, value, seconds=time.monotonic() - began, failure=failure)
        return job

    try:
        if function.many is None:
            (job,) = group
            yield keep(job, function.function(**inputs[0], context=context))
        else:
            for index, value in function.many(inputs, context):
                yield keep(group[index], value)
    except DivergedError as error:
        if len(group) > 1:
            raise  # not known which one: each is computed alone
        yield keep(group[0], None, str(error))  # every other try would end in the same way


class Here:
    """Computes in this process; `report` is told of events, `should_stop` says whether jobs are asked to stop."""

    num_slots = 1

    def __init__(
        self, store: Store, report: Callable[[Event], None], should_stop: Callable[[], object]
    ) -> None:
        self.store, self.report = store, report
        self.should_stop = should_stop
        self.next: tuple[int, Group] | None = None

    def submit(self, number: int, group: Group) -> None:
        """Take a group; the next `poll` computes it."""
        self.next = (number, group)

    def poll(self, seconds: float) -> None:
        """Compute a whole group and report its events; without one, wait."""
        if self.next is None:
            time.sleep(seconds)
            return
        (number, group), self.next = self.next, None
        compute_and_report(number, group, self.store, self.report, lambda: bool(self.should_stop()))

    def stop(self) -> None:
        """Do nothing: `should_stop` is asked by the job."""

    def close(self) -> None:
        """Do nothing: there are no processes."""


class Local:
    """Computes in at most `num_workers` processes of this machine; each is started when there is a group for it."""

    def __init__(self, num_workers: int, store: Store, report: Callable[[Event], None]) -> None:
        self.num_slots, self.store, self.report = num_workers, store, report
        self.idle: list[_Worker] = []
        self.busy: dict[Connection, tuple[_Worker, int]] = {}

    def submit(self, number: int, group: Group) -> None:
        """Start a group, whose events have this number; at most `num_slots` may be unfinished."""
        worker = self.idle.pop() if self.idle else _Worker(self.store.folder)
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
                worker.close()
                self.report(Event(kind="died", group=number))
                continue
            if event.kind in ("ended", "failed", "stopped"):
                del self.busy[ready]
                self.idle.append(worker)
            self.report(event)

    def stop(self) -> None:
        """Ask all groups to stop."""
        for worker, _ in self.busy.values():
            worker.send("stop")

    def close(self) -> None:
        """End all processes."""
        for worker in [*self.idle, *(worker for worker, _ in self.busy.values())]:
            worker.close()


class Executor(Protocol):
    """A place where jobs are computed; events are reported by `poll`."""

    @property
    def num_slots(self) -> int:
        """Most groups at the same time."""

    def submit(self, number: int, group: Group) -> None:
        """Take a group, whose events have this number."""

    def poll(self, seconds: float) -> None:
        """Compute, or wait at most about this long, and report events."""

    def stop(self) -> None:
        """Ask all groups to stop, or leave them to an engine."""

    def close(self) -> None:
        """End what is left here."""


Engine = Callable[[Store, Callable[[Event], None]], Executor]
"""Makes an executor outside of this machine from the store and from what is told of events."""


class _Worker:
    """A process that computes groups."""

    def __init__(self, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, str(folder)), daemon=True)
        with _worker_environment():
            self.process.start()
        theirs.close()  # so that the end of the process closes the connection

    def send(self, message: Any) -> None:
        """Send JSON values; if the process has ended, the next receiving notices."""
        with suppress(OSError):
            self.connection.send_bytes(json.dumps(message).encode())

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _serve(connection: Connection, folder: str) -> None:
    """Compute groups until the other end is closed."""
    # Ctrl-C, and a scheduler's request, reach all processes: the one that started this one asks it to stop.
    for name in ("SIGINT", "SIGTERM", "SIGUSR1"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()

    def report(event: Event) -> None:
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


def compute_and_report(
    number: int, group: Group, store: Store, report: Callable[[Event], None], should_stop: Callable[[], bool]
) -> None:
    """Compute a group, and report everything that happens to it."""
    last, scratch = 0.0, store.scratch(group[0])

    def report_progress(label: str, share: float) -> None:
        nonlocal last
        if share >= 1 or time.monotonic() - last > 0.2:  # some jobs report after every update
            last = time.monotonic()
            report(Event(kind="progress", group=number, text=label, share=share))

    context = Context(scratch=scratch, report_progress=report_progress, should_stop=should_stop)
    try:
        for job in compute(group, store, context):
            report(Event(kind="kept", group=number, text=job.digest))
    except Stopped:
        report(Event(kind="stopped", group=number))
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        if kind not in USERS_ERRORS:
            scratch.mkdir(parents=True, exist_ok=True)
            (scratch / "error.txt").write_text(traceback.format_exc())
            text = f"{kind}: {text.partition(chr(10))[0]} ({scratch / 'error.txt'})"
        report(Event(kind="failed", group=number, text=text, error=kind))
    else:
        report(Event(kind="ended", group=number))


def _exit_with_parent() -> None:
    """Terminate this process when the one that started it has ended, for any reason."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def _worker_environment() -> Iterator[None]:
    before = {name: os.environ[name] for name in WORKER_ENVIRONMENT if name in os.environ}
    os.environ.update(WORKER_ENVIRONMENT)
    try:
        yield
    finally:
        for name in WORKER_ENVIRONMENT:
            del os.environ[name]
        os.environ.update(before)


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
