"""Workers: they take groups of jobs from the folder of a store, compute them, and report events.

While a job computes without a report, a thread reports from time to time that it is alive, as long as its process uses
the processor: a process that is suspended or deadlocked is silent.
"""

import errno
import os
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ecsuite.files.locks import process_name
from ecsuite.jobs.groups import Event, Group, GroupFolder, TakenGroup
from ecsuite.jobs.job import Context, SentJob, Stopped, canonical, import_function
from ecsuite.jobs.store import Store
from ecsuite.parts.own_code import error_in_part
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError, DivergedError, FormatError

ANY, GPU = "any", "gpu"
"""The pools of workers that users start: groups for any machine, and groups that need a GPU."""
SECONDS_TO_STOP = 30.0
"""Seconds that a job that is asked to stop may take for its checkpoint."""
LEAST_WAIT, MOST_WAIT = 0.002, 1.0
"""Minimum and maximum seconds between two polls for groups."""
MOST_WAIT_HERE = 0.03
"""Maximum seconds between two polls on the machine of the command, where they cost little."""
SHARE_OF_LOOKING = 0.02
"""Maximum share of its time that a waiting worker polls for groups."""
SHARE_OF_WAITING = 0.01
"""Growth of the time between two polls with the time since the last group."""
SECONDS_BETWEEN_LOOKS = 0.5
"""Seconds between checks whether the group of a job was cancelled."""
LEAST_REPORT, MOST_REPORT = 0.2, 2.0
"""Minimum and maximum seconds between two reports of progress."""
SHARE_OF_REPORTS = 0.02
"""Growth of the time between two reports with the age of a group."""
USERS_ERRORS = {error.__name__: error for error in (ConfigError, CorpusError, DamagedError, FormatError)}
"""Errors of inputs, which end the whole computation: a retry cannot succeed."""
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
"""Errors of the system that would affect all other jobs, too."""
SECONDS_BETWEEN_SIGNS = 15.0
"""Seconds between reports that a job is alive."""
LEAST_ACTIVITY = 0.01
"""Share of processor time above which a process counts as alive; the other threads of a worker use less."""
SECONDS_BETWEEN_REPORTS = 0.2
"""Minimum seconds between progress reports of a job; some jobs report after every update."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerOptions:
    """Options of a worker."""

    pools: Collection[str] = (ANY,)
    """Pools of its groups."""
    name: str = ""
    """Name in events; empty: its process and machine."""
    seconds_idle: float = 600.0
    """Seconds without a group after which it ends."""
    most_wait: float = MOST_WAIT
    """Maximum seconds between two polls for groups."""
    seconds_for_more: float = float("inf")
    """Seconds after which it takes no further group."""
    seconds: float = float("inf")
    """Seconds after which it asks its job to stop, and ends."""
    takes_again: bool = False
    """Whether it first resumes the groups that a worker of this name had taken when it was ended."""


def users_pools() -> tuple[str, ...]:
    """Pools of a worker that a user started on this machine."""
    from ecsuite.runtime.devices import choose_device  # imports torch

    return (ANY,) if choose_device("auto").type == "cpu" else (ANY, GPU)


def work(
    folder: Path,
    options: WorkerOptions,
    should_stop: Callable[[], object] = lambda: None,
    note: Callable[[str], None] = lambda _: None,
) -> Literal["asked", "time", "idle"]:
    """Take groups and compute them.

    Args:
        folder: The store; it need not exist yet.
        options: Pools and time limits.
        should_stop: Whether the worker is asked to end; its job writes a checkpoint then.
        note: Receives messages for users.

    Returns:
        Reason of the end: a request, its time limit, or no group for long.
    """
    store = Store(folder, note)
    groups, name = GroupFolder(store), options.name or process_name(os.getpid())
    groups.prepare()
    began = last = time.monotonic()
    again = options.takes_again

    def is_over() -> bool:
        return time.monotonic() - began > options.seconds

    while not should_stop():
        looked = time.monotonic()
        taken = groups.take(options.pools, name, again=again)
        if taken is not None:
            _compute_taken(taken, store, lambda: bool(should_stop()) or is_over())
            last = time.monotonic()
        elif again:
            again = False
            continue
        elif looked - last >= options.seconds_idle:
            return "idle"
        else:
            cost = (time.monotonic() - looked) / SHARE_OF_LOOKING
            wait = max(LEAST_WAIT, SHARE_OF_WAITING * (looked - last))
            time.sleep(min(options.most_wait, max(cost, wait)))
        if is_over():
            return "time"
        if time.monotonic() - began > options.seconds_for_more:
            return "idle"
    return "asked"


def _compute_taken(taken: TakenGroup, store: Store, should_stop: Callable[[], bool]) -> None:
    """Compute a group, and release it."""
    began = last_report = last_look = time.monotonic()
    is_wanted = True

    def report(event: Event) -> None:
        nonlocal last_report
        now = time.monotonic()
        if event.kind == "progress" and event.share < 1:
            if now - last_report < min(MOST_REPORT, max(LEAST_REPORT, SHARE_OF_REPORTS * (now - began))):
                return
            last_report = now
        if event.kind != "started":  # reported when it was taken
            taken.tell(event)

    def is_asked() -> bool:
        nonlocal is_wanted, last_look
        if is_wanted and time.monotonic() - last_look > SECONDS_BETWEEN_LOOKS:
            last_look, is_wanted = time.monotonic(), taken.is_wanted
        return not is_wanted or should_stop()

    with _ended_if_deaf(taken):
        compute_and_report(0, taken.jobs, store, report, is_asked)
    taken.release()


@contextmanager
def _ended_if_deaf(taken: TakenGroup) -> Iterator[None]:
    """End this process if the group was cancelled and its job does not stop, since it hangs."""

    def watch(is_over: threading.Event) -> None:
        since: float | None = None
        while not is_over.wait(SECONDS_TO_STOP / 10):
            if taken.is_wanted:
                since = None
            elif since is None:
                since = time.monotonic()
            elif time.monotonic() - since > SECONDS_TO_STOP:
                os._exit(1)

    with beside(watch):
        yield


def compute_jobs(group: Group, store: Store, context: Context) -> Iterator[SentJob]:
    """Compute a group, and store each result in the store with the results that the jobs read.

    Yields:
        Each job when its result is stored.

    Raises:
        ConfigError: If the function has another version here than on the machine that planned the jobs.
    """
    began = time.monotonic()
    function = import_function(group[0].function)
    if canonical(function.version) != group[0].key["version"]:
        raise ConfigError(
            f"{group[0].function}: another version of ecsuite is installed where the job is computed than where it was "
            "planned; expected the same on all machines"
        )
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
            raise  # the failed job is unknown: each job is computed alone
        yield keep(group[0], None, str(error))  # a retry would fail in the same way
    except SystemExit as error:  # raised by a user's own part; it would end a worker without a message
        raise error_in_part(error) or error from None


def compute_and_report(
    number: int, group: Group, store: Store, report: Callable[[Event], None], should_stop: Callable[[], bool]
) -> None:
    """Compute a group, and report its events; `report` is called by several threads."""
    last, scratch = 0.0, store.scratch(group[0])

    def report_progress(label: str, share: float) -> None:
        nonlocal last
        if share >= 1 or time.monotonic() - last > SECONDS_BETWEEN_REPORTS:
            last = time.monotonic()
            report(Event(kind="progress", group=number, text=label, share=share))

    context = Context(scratch=scratch, report_progress=report_progress, should_stop=should_stop)
    report(Event(kind="started", group=number))
    try:
        with signs_of_life(lambda: report(Event(kind="alive", group=number))):
            for job in compute_jobs(group, store, context):
                report(Event(kind="kept", group=number, text=job.digest))
    except Stopped:
        report(Event(kind="stopped", group=number))
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            kind = ConfigError.__name__
            text = (
                f"the disk of {store.folder} is full ({error.strerror}); finished jobs are stored, and the same "
                "command continues when there is space"
            )
        elif kind not in USERS_ERRORS:
            place = ""
            with suppress(OSError):
                scratch.mkdir(parents=True, exist_ok=True)
                told = traceback.format_exc().encode("utf-8", "backslashreplace")
                (scratch / "error.txt").write_bytes(told)
                place = f" ({scratch / 'error.txt'})"
            text = f"{kind}: {text.partition(chr(10))[0]}{place}"
        report(Event(kind="failed", group=number, text=text, error=kind))
    else:
        report(Event(kind="ended", group=number))


@contextmanager
def signs_of_life(report: Callable[[], None], seconds: float = SECONDS_BETWEEN_SIGNS) -> Iterator[None]:
    """Call `report` periodically in another thread, if this process used the processor since the last call."""

    def watch(is_over: threading.Event) -> None:
        before = time.process_time()
        while not is_over.wait(seconds):
            now = time.process_time()
            if now - before > LEAST_ACTIVITY * seconds:
                report()
            before = now

    with beside(watch):
        yield


@contextmanager
def beside(watch: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `watch` in another thread during the context; it ends when its event is set."""
    is_over = threading.Event()
    thread = threading.Thread(target=watch, args=(is_over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
