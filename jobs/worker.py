"""What a worker does, wherever it runs: it takes groups of jobs from the folder of a store, one after the other."""

import os
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ecsuite.files.locks import process_name
from ecsuite.jobs.computing import Event, beside, compute_and_report
from ecsuite.jobs.groups import GroupFolder, TakenGroup
from ecsuite.jobs.store import Store

ANY, GPU = "any", "gpu"
"""The pools of workers that users start: groups that every one can compute, and those that need a GPU."""
SECONDS_TO_STOP = 30.0
"""How long a job that is asked to stop may write its checkpoint."""
LEAST_WAIT, MOST_WAIT = 0.002, 1.0
"""Seconds between two looks for groups: at first, and when there were none for long."""
MOST_WAIT_HERE = 0.03
"""The same on the machine of the command, whose folder is asked often at little cost."""
SHARE_OF_LOOKING = 0.02
"""Most of its time that a worker which waits looks for groups."""
SHARE_OF_WAITING = 0.01
"""How the time between two looks grows with the time since the last group."""
SECONDS_BETWEEN_LOOKS = 0.5
"""How often a job that asks whether to stop looks whether its group is wanted."""
LEAST_REPORT, MOST_REPORT = 0.2, 2.0
"""Seconds between two reports of progress: at first, and of a group that is computed for long."""
SHARE_OF_REPORTS = 0.02
"""How the time between two reports grows with the age of a group."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerOptions:
    """What a worker takes, and for how long."""

    pools: Collection[str] = (ANY,)
    """Pools of which it takes groups."""
    name: str = ""
    """By which commands know it; empty: its process and machine."""
    seconds_idle: float = 600.0
    """How long it waits for a group before it ends."""
    most_wait: float = MOST_WAIT
    """Most seconds between two looks for groups."""
    seconds_for_more: float = float("inf")
    """After how long it takes no further group."""
    seconds: float = float("inf")
    """After how long it asks its job to stop, and ends."""
    takes_again: bool = False
    """Whether it goes on first with groups that a worker of this name had taken when it was ended."""


def users_pools() -> tuple[str, ...]:
    """The pools of a worker that a user started on this machine."""
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
        options: Which, and for how long.
        should_stop: Whether the worker is asked to end; its job writes a checkpoint then.
        note: Told of what users should know.

    Returns:
        Why it ended: it was asked to, its time was over, or there was nothing to do for long.
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
            compute(taken, store, lambda: bool(should_stop()) or is_over())
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


def compute(taken: TakenGroup, store: Store, should_stop: Callable[[], bool]) -> None:
    """Compute a group that was taken, and give it back."""
    began = last_report = last_look = time.monotonic()
    is_wanted = True

    def report(event: Event) -> None:
        nonlocal last_report
        now = time.monotonic()
        if event.kind == "progress" and event.share < 1:
            if now - last_report < min(MOST_REPORT, max(LEAST_REPORT, SHARE_OF_REPORTS * (now - began))):
                return
            last_report = now
        if event.kind != "started":  # told when it was taken
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
    """End this process if the group is wanted no more and its job does not stop: it hangs."""

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
