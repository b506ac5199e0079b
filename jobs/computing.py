"""Computes a group of jobs and says what happens: the part that all executors share.

Whoever computes sends `Event`s: to the same process, through a pipe, a file, or a cluster. While a job computes without
a word, a thread reports from time to time that it is alive, as long as its process uses the processor: a process
that is stopped, or that waits for something that never comes, is silent.
"""

import errno
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

from ecsuite.jobs.job import Context, JobFunction, SentJob, Stopped, canonical, import_function
from ecsuite.jobs.store import Store
from ecsuite.parts.own_code import error_in_part
from ecsuite.runtime.errors import ConfigError, CorpusError, DamagedError, DivergedError, FormatError

USERS_ERRORS = {error.__name__: error for error in (ConfigError, CorpusError, DamagedError, FormatError)}
"""Errors of inputs, which end the whole work: no other try would help."""
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
"""Errors of the system that every other job would meet, too."""
SECONDS_BETWEEN_SIGNS = 15.0
"""How often a job that computes reports that it is alive."""
LEAST_ACTIVITY = 0.01
"""Share of the time that a living process uses the processor; what runs beside a job uses less."""
SECONDS_BETWEEN_REPORTS = 0.2
"""How often a job reports progress; some would after every update."""
Group = Sequence[SentJob]
"""Jobs of one function that are computed together."""


Kind = Literal["started", "alive", "progress", "kept", "ended", "failed", "died", "lost", "stopped", "queued"]
"""kept: one of its results; ended: all of it; died: its process ended without a word; lost: its machine did; stopped:
it is not computed any more; queued: it waits to be taken again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What happened to a group."""

    kind: Kind
    group: int
    """The number that the group was submitted with."""
    text: str = ""
    """started: the worker; progress: what it is doing; kept: the digest of the job; failed, died, lost: the message."""
    share: float = 0.0
    """progress: the share that is done, 0 to 1."""
    error: str = ""
    """failed: the name of the exception's class."""


def compute(group: Group, store: Store, context: Context) -> Iterator[SentJob]:
    """Compute a group, and keep each result in the store that holds those which the jobs read.

    Yields:
        Each job when its result is kept.

    Raises:
        ConfigError: If the function has another version on this machine than where the jobs were planned.
    """
    began = time.monotonic()
    function = import_function(group[0].function)
    _require_version(function, group[0])
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
    except SystemExit as error:  # of a user's own part; it would end a worker without a word
        raise error_in_part(error) or error from None


def compute_and_report(
    number: int, group: Group, store: Store, report: Callable[[Event], None], should_stop: Callable[[], bool]
) -> None:
    """Compute a group, and report everything that happens to it; `report` is called by several threads."""
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
            for job in compute(group, store, context):
                report(Event(kind="kept", group=number, text=job.digest))
    except Stopped:
        report(Event(kind="stopped", group=number))
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            kind = ConfigError.__name__
            text = (
                f"no room is left on the disk of {store.folder} ({error.strerror}); finished jobs are kept, and the "
                "same command goes on when there is room"
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
    """Call `report` in another thread every so many seconds in which this process used the processor."""

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
    """Run `watch` in another thread meanwhile; it ends when its event is set."""
    is_over = threading.Event()
    thread = threading.Thread(target=watch, args=(is_over,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _require_version(function: JobFunction, job: SentJob) -> None:
    if canonical(function.version) != job.key["version"]:
        raise ConfigError(
            f"{job.function}: another version of ecsuite is installed where the job is computed than where it was "
            "planned; expected the same on all machines"
        )
