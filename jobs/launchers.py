"""Launchers of workers for the groups of jobs of a command, and the events of these groups.

A command queues groups of jobs in a folder, and reads the events of workers. A `Launcher` starts the workers: processes
of this machine, Slurm, Ray, or the user. `Here` computes the groups itself.
"""

import os
import shlex
import socket
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ecsuite.jobs.groups import ENDS, Event, Group, GroupFolder
from ecsuite.jobs.job import Resources
from ecsuite.jobs.store import Store
from ecsuite.jobs.worker import ANY, GPU, compute_and_report
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    pass

MOST_GROUPS = 500
"""Maximum number of concurrent groups with workers on other machines."""
LEAST_WAIT = 0.002
"""Minimum seconds between two polls for events."""
SHARE_OF_WAITING = 0.1
"""Growth of the time between two polls with the time without events."""
SHARE_OF_LOOKING = 0.05
"""Maximum share of its time that a waiting command polls."""
SECONDS_BETWEEN_CHECKS = 2.0
"""Seconds between two checks of the locks of users' workers."""
NUM_MISSES = 2
"""Number of checks after which a worker without its lock has ended: shared files may be late."""
NUM_MISSES_ELSEWHERE = 20
"""Number of checks after which a silent worker on another machine has ended: some shared folders lack its locks."""
SECONDS_TO_CANCEL = 5.0
"""Seconds in which a second Ctrl-C cancels the groups that no worker has begun."""
SECONDS_SILENT = 1800.0
"""Seconds without progress or use of the processor after which a job counts as hanging."""
VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Environment variable with the devices that CUDA uses; read when a process first uses CUDA."""


@dataclass(kw_only=True, slots=True)
class Standing:
    """A submitted group."""

    number: int
    """Number of the group."""
    name: str
    pool: str
    worker: str = ""
    """Name of its worker; empty: none."""
    place: int = 0
    """Number of bytes of its events that were read."""
    is_withdrawn: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """A group whose worker has ended without an event, or that no worker will take."""

    group: Standing
    kind: Literal["died", "lost", "queued"]
    """See `Event`."""
    text: str = ""


class Launcher:
    """Starter of workers; this base class starts none.

    Args:
        folder: The groups.
    """

    ends_with_command = True
    """Whether workers end with the command; otherwise its remaining groups are still computed."""
    num_slots: int = 1
    """Maximum number of concurrent groups."""

    def __init__(self, folder: GroupFolder) -> None:
        self.folder = folder

    def pool(self, resources: Resources) -> str:
        """Pool of the next group; by default a pool of this command alone."""
        return self.folder.command

    def start(self, groups: Collection[Standing]) -> None:
        """Start the missing workers; called often."""

    def lost(self, groups: Collection[Standing]) -> Iterable[Lost]:
        """Groups whose workers are known to have ended; called often."""
        return ()

    def end(self, worker: str) -> None:
        """End a worker whose group was cancelled because it hangs; it may have ended itself."""

    def cancel(self, groups: Collection[Standing]) -> str:
        """Cancel workers without groups; returns the command that ends the workers of these groups."""
        return ""

    def close(self) -> None:
        """End the remaining workers."""


class Workers:
    """Submits groups to workers and reports their events.

    Args:
        store: Store of the results.
        report: Receives events.
        launcher: Makes the launcher of the workers.
    """

    def __init__(
        self, store: Store, report: Callable[[Event], None], launcher: Callable[[GroupFolder], Launcher]
    ) -> None:
        self.store, self.report = store, report
        self.folder = GroupFolder(store)
        self.launcher = launcher(self.folder)
        self.groups: dict[int, Standing] = {}
        self.is_left = False
        """Whether groups were left to their workers."""

    def submit(self, number: int, group: Group, resources: Resources) -> None:
        """Submit a group, whose events get this number."""
        pool = self.launcher.pool(resources)
        self.groups[number] = Standing(number=number, name=self.folder.put(pool, number, group), pool=pool)

    def poll(self, seconds: float) -> None:
        """Wait at most about this long for events, and report them."""
        if not self.groups:
            time.sleep(seconds)  # other commands may be computing
            return
        self.launcher.start(self.groups.values())
        began = time.monotonic()
        end = began + seconds
        while True:
            looked = time.monotonic()
            if self._read_all() or (now := time.monotonic()) >= end:
                break
            wait = max(LEAST_WAIT, SHARE_OF_WAITING * (now - began), (now - looked) / SHARE_OF_LOOKING)
            time.sleep(min(wait, end - now))
        for lost in list(self.launcher.lost(self.groups.values())):
            if lost.kind == "queued":
                self.report(Event(kind="queued", group=lost.group.number))
            elif not self._read(lost.group) and lost.group.number in self.groups:
                self._end(lost.group, Event(kind=lost.kind, group=lost.group.number, text=lost.text))

    def cancel(self, number: int, reason: str) -> None:
        """End a group that has started, and report that it died for this reason."""
        group = self.groups[number]
        self.folder.withdraw(group.name)
        self.launcher.end(group.worker)
        self._end(group, Event(kind="died", group=number, text=reason))

    def stop(self) -> None:
        """Ask all workers to stop if they end with this command; otherwise leave the groups to them, with a note."""
        if self.launcher.ends_with_command:
            self._withdraw(self.groups.values())
            return
        left = list(self.groups.values())
        if not left:
            return
        self.is_left = True
        try:
            self.store.note(
                f"{len(left)} groups of jobs continue in their workers; run the same command to get their results; "
                "Ctrl-C again now cancels groups that have not begun"
            )
            time.sleep(SECONDS_TO_CANCEL)
        except KeyboardInterrupt:
            self._read_all()
            self._withdraw(group for group in left if not group.worker)
            taken = [group for group in self.groups.values() if group.worker]
            how = self.launcher.cancel(taken)
            self.store.note(
                f"{len(left) - len(taken)} groups cancelled{f'; to end the others: {how}' if how else ''}"
            )
        for group in list(self.groups.values()):
            del self.groups[group.number]
            self.report(Event(kind="stopped", group=group.number))

    def close(self) -> None:
        """End the remaining workers."""
        self.launcher.close()
        for group in self.groups.values():  # after an error that ends the work
            self.folder.remove(group.name)
        if not self.is_left:
            self.launcher.cancel(())
        self.folder.close()

    def _withdraw(self, groups: Iterable[Standing]) -> None:
        for group in list(groups):
            group.is_withdrawn = True
            self.folder.withdraw(group.name)
            self._read(group)

    def _read_all(self) -> bool:
        return any([self._read(group) for group in list(self.groups.values())])

    def _read(self, group: Standing) -> bool:
        """Report new events of a group; returns whether there were any."""
        told = self.folder.events(group.name, group.place)
        if told is None:
            if group.is_withdrawn:
                self._end(group, Event(kind="stopped", group=group.number))
            elif group.worker:
                group.worker, group.place = "", 0
                self.report(Event(kind="queued", group=group.number))
            return group.is_withdrawn
        events, group.place = told
        for event in events:
            if event.kind == "started":
                group.worker = event.text
            own = replace(event, group=group.number)
            if event.kind in ENDS:
                self._end(group, own)
                break
            if event.kind != "stopped":  # its worker releases it, see above
                self.report(own)
        return bool(events)

    def _end(self, group: Standing, event: Event) -> None:
        """Remove a group, and report its last event."""
        del self.groups[group.number]
        self.folder.remove(group.name)
        self.report(event)


class Here(Workers):
    """Compute groups in this process; they are in the folder for other commands to see, and no worker takes them.

    Args:
        store: Store of the results.
        report: Receives events.
        should_stop: Whether jobs are asked to stop.
    """

    def __init__(
        self, store: Store, report: Callable[[Event], None], should_stop: Callable[[], object]
    ) -> None:
        super().__init__(store, report, Launcher)
        self.should_stop = should_stop
        self.jobs: Group = ()

    def submit(self, number: int, group: Group, resources: Resources) -> None:
        """Queue a group; the next `poll` computes it."""
        super().submit(number, group, resources)
        self.jobs = group

    def poll(self, seconds: float) -> None:
        """Compute a whole group and report its events; without one, wait."""
        if not self.groups:
            time.sleep(seconds)
            return
        (group,) = self.groups.values()

        def report(event: Event) -> None:
            own = replace(event, group=group.number)
            if event.kind in (*ENDS, "stopped"):
                self._end(group, own)
            elif event.kind != "alive":  # reported by another thread, and nobody here could end the job
                self.report(own)

        compute_and_report(0, self.jobs, self.store, report, lambda: bool(self.should_stop()))


class Users(Launcher):
    """Workers that users start, with `ecsuite work STORE`, on machines that share the folder."""

    ends_with_command = False
    num_slots = MOST_GROUPS  # it is not known how many workers there are

    def __init__(self, folder: GroupFolder) -> None:
        super().__init__(folder)
        self.last_check = time.monotonic()
        self.misses: Counter[str] = Counter()
        self.places: Counter[str] = Counter()  # what was read of a group at the last look
        folder.store.note(
            f"start workers on machines that share the folder: ecsuite work "
            f"{shlex.quote(str(folder.store.folder))}"
        )

    def pool(self, resources: Resources) -> str:
        """All workers, or those with a GPU."""
        return GPU if resources.num_gpus else ANY

    def lost(self, groups: Collection[Standing]) -> Iterable[Lost]:
        """The groups whose lock was released."""
        if time.monotonic() - self.last_check < SECONDS_BETWEEN_CHECKS:
            return
        self.last_check = time.monotonic()
        for group in (group for group in groups if group.worker):
            was_missed, has_reported = bool(self.misses[group.name]), group.place > self.places[group.name]
            is_held, self.places[group.name] = self.folder.is_held(group.name), group.place
            self.misses[group.name] = 0 if is_held or has_reported else self.misses[group.name] + 1
            if was_missed and has_reported and not is_held:
                self.folder.store.note(
                    f"{self.folder.folder}: this file system has no locks between machines: a killed worker is "
                    "detected only after a long time without reports"
                )
            is_here = group.worker.endswith(f" on {socket.gethostname()}")
            if self.misses[group.name] >= (NUM_MISSES if is_here else NUM_MISSES_ELSEWHERE):
                yield Lost(group=group, kind="lost", text=f"its worker ({group.worker}) has ended")


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


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that this process may use, from `CUDA_VISIBLE_DEVICES`, else all, as `0`, `1`."""
    chosen = os.environ.get(VISIBLE)
    if chosen is not None:
        names = [name.strip() for name in chosen.split(",") if name.strip()]
        # As CUDA reads it: what follows an invalid number is not visible.
        return tuple(names[: names.index("-1")] if "-1" in names else names)
    import torch

    return tuple(str(number) for number in range(torch.cuda.device_count()))


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
