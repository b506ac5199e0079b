"""Groups of jobs in a folder of the store, the queue from which workers take jobs.

    groups/POOL.COMMAND.NUMBER.json      the jobs of a group, queued by a command; only workers of the pool take it
    groups/POOL.COMMAND.NUMBER.lock      locked by the worker that computes it
    groups/POOL.COMMAND.NUMBER.events    made when it is taken: the events of its worker, one per line as JSON
    groups/COMMAND.command               locked by the command while it runs
    groups/lock                          locked while a command reads the groups of others and queues its own

No job is in two groups, so the lock of a group suffices to separate workers. It is a lock of the kernel, and ends with
the worker; the command then decides whether the group is queued again. Removing a group cancels it, and asks its worker
to stop. A group continues without its command if its pool has its own workers.
"""

import json
import os
import re
import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from ecsuite.files.locks import Lock
from ecsuite.jobs.job import SentJob
from ecsuite.jobs.store import UNREADABLE, Store
from ecsuite.runtime.errors import ConfigError, DamagedError, shown

JOBS, LOCK, EVENTS, COMMAND = ".json", ".lock", ".events", ".command"
"""Endings of the files of a group, and of the file of a command."""
UNFINISHED = ".tmp"
"""Ending of the jobs of a group while it is written."""
NAME = re.compile(r"[\w-]+\.\w+\.\d+")
"""Pattern of the name of a group; a pool whose name begins with a command's name ends with the command."""
ENDS = ("ended", "failed")
"""Kinds of the last event of a group that is finished."""
Group = Sequence[SentJob]
"""Jobs of one function that are computed together."""


Kind = Literal["started", "alive", "progress", "kept", "ended", "failed", "died", "lost", "stopped", "queued"]
"""kept: a result was stored; ended: the whole group; died: its process ended without an event; lost: its machine was
lost; stopped: it is no longer computed; queued: it waits to be taken again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Event of a group."""

    kind: Kind
    group: int
    """Number of the group."""
    text: str = ""
    """started: the worker; progress: the activity; kept: the digest of the job; failed, died, lost: the message."""
    share: float = 0.0
    """progress: the completed share, 0 to 1."""
    error: str = ""
    """failed: the name of the exception's class."""


def require_locks(on: str, store: Path) -> None:
    """Raise `ConfigError` for a store on a file system without locks, which other machines need."""
    told: list[str] = []
    GroupFolder(Store(store, told.append)).prepare()
    if told:
        raise ConfigError(
            f"{on}: the file system of {store} has no locks, which keep workers on several machines apart; choose "
            "another folder (--cache, --out)"
        )


class GroupFolder:
    """The groups of a store."""

    def __init__(self, store: Store) -> None:
        self.store, self.folder = store, store.folder.resolve() / "groups"
        self.command = secrets.token_hex(4)
        self._life: Lock | None = None
        self._digests: dict[str, tuple[str, ...]] = {}  # by name, of groups of other commands

    def file(self, name: str, ending: str) -> Path:
        """A file of a group, or of a command."""
        return self.folder / f"{name}{ending}"

    def prepare(self) -> None:
        """Make the folder; a note reports a file system without locks."""
        with self._alone():
            pass

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self.store.folder.mkdir(parents=True, exist_ok=True)  # errors name it as it was given
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = Lock(self.folder / "lock", self.store.note)
        lock.acquire(waits=True)
        try:
            yield
        finally:
            lock.release()

    # What commands do.

    @contextmanager
    def putting(self, wanted: Collection[str] = ()) -> Iterator[dict[str, str]]:
        """Prevent other commands from queueing groups meanwhile.

        Args:
            wanted: Digests of jobs; groups with any of them are removed if they have neither a command nor a worker.

        Yields:
            The process that computes each job now, by digest, for the groups of other commands.

        Raises:
            OSError: If the folder cannot be written.
        """
        with self._alone():
            if self._life is None:
                self._life = Lock(self.file(self.command, COMMAND), self.store.note)
                self._life.acquire()
            yield self._of_others(set(wanted))

    def put(self, pool: str, number: int, group: Group) -> str:
        """Queue a group; returns its name. Its jobs must not be in groups of others, see `putting`."""
        name = f"{pool}.{self.command}.{number:06}"
        content = {"jobs": [asdict(job) for job in group]}
        # Written atomically, without a flush to disk: after a power cut, the group is obsolete.
        written = self.folder / f".{name}{UNFINISHED}"
        written.write_text(json.dumps(content))
        os.replace(written, self.file(name, JOBS))
        return name

    def events(self, name: str, start: int) -> tuple[list[Event], int] | None:
        """Events of a group after an offset in its file, and the next offset; None if no worker has taken it."""
        try:
            with self.file(name, EVENTS).open("rb") as file:
                file.seek(start)
                new = file.read()
        except FileNotFoundError:
            return None
        lines = new[: new.rfind(b"\n") + 1]
        events = []
        for line in lines.splitlines():
            with suppress(*UNREADABLE):  # a worker without further events counts as lost
                event = Event(**json.loads(line))
                if event.kind in get_args(Kind):
                    events.append(event)
        return events, start + len(lines)

    def is_held(self, name: str) -> bool:
        """Whether a worker computes a group."""
        if not self.file(name, LOCK).exists():
            return False
        lock = Lock(self.file(name, LOCK))
        if not lock.acquire():
            return True
        lock.release()
        return False

    def has_free(self, pool: str) -> bool:
        """Whether there is a free group of a pool, of any command."""
        return any(not self.file(name, EVENTS).exists() for name in self._names([pool]))

    def withdraw(self, name: str) -> None:
        """Cancel a group: no worker takes it any more, and its worker is asked to stop."""
        self.file(name, JOBS).unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Remove a group."""
        for ending in (JOBS, EVENTS, LOCK):  # without its jobs it can't be taken
            self.file(name, ending).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the lock of this command; its remaining groups are left to their pools."""
        if self._life is not None:
            self._life.release(removes=True)
            self._life = None

    def at_work(self) -> set[str]:
        """Digests of the jobs of all groups of other commands; removes obsolete groups."""
        if not self._names():
            return set()
        with self._alone():
            return set(self._of_others(set()))

    def _of_others(self, wanted: set[str]) -> dict[str, str]:
        """See `putting`; also removes obsolete groups."""
        names = [name for name in self._names() if _owner(name) != self.command]
        self._digests = {name: self._digests[name] for name in names if name in self._digests}
        holders = {owner: self._holder(owner) for owner in {_owner(name) for name in names}}
        found: dict[str, str] = {}
        for name in names:
            holder, digests = holders[_owner(name)], self._digests_of(name)
            if holder is None:
                if self._is_spent(name, wanted.intersection(digests)):
                    self.remove(name)
                    continue
                holder = "a worker of an earlier command"
            found |= dict.fromkeys(digests, holder)
        # Files of removed groups, and of commands without groups, left by killed processes.
        files = set(os.listdir(self.folder))
        for file in files:
            name, ending = os.path.splitext(file)
            if ending in (LOCK, EVENTS) and f"{name}{JOBS}" not in files and not self.is_held(name):
                self.remove(name)
            elif ending == COMMAND and name != self.command:
                self._holder(name)
            elif ending == UNFINISHED and self._holder(_owner(name[1:])) is None:
                (self.folder / file).unlink(missing_ok=True)
        return found

    def _is_spent(self, name: str, wanted: set[str]) -> bool:
        """Whether a group of an ended command blocks a wanted job, or has no worker that could take it."""
        if self.is_held(name):
            return False
        events, _ = self.events(name, 0) or ((), 0)
        has_ended = any(event.kind in ENDS for event in events)
        return bool(has_ended or wanted or _pool(name).startswith(_owner(name)))

    def _holder(self, owner: str) -> str | None:
        """The process of a command; None if it has ended."""
        lock = Lock(self.file(owner, COMMAND))
        holder = lock.holder
        if not lock.acquire():
            return holder
        lock.release(removes=True)
        return None

    def _names(self, pools: Collection[str] | None = None) -> list[str]:
        """Queued groups of pools, in the order in which they were queued."""
        try:
            files = os.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        names = [file.removesuffix(JOBS) for file in files if file.endswith(JOBS)]
        return sorted(
            name for name in names if NAME.fullmatch(name) and (pools is None or _pool(name) in pools)
        )

    def _digests_of(self, name: str) -> tuple[str, ...]:
        if name not in self._digests:
            with suppress(*UNREADABLE):
                jobs = json.loads(self.file(name, JOBS).read_bytes())["jobs"]
                self._digests[name] = tuple(str(job["digest"]) for job in jobs)
        return self._digests.get(name, ())

    # What workers do.

    def take(self, pools: Collection[str], worker: str, *, again: bool = False) -> "TakenGroup | None":
        """Take a free group; None if there is none.

        Args:
            pools: Pools of the group.
            worker: Name of the worker, which is reported to the command.
            again: Whether to take only groups that this worker had taken before it was ended.
        """
        for name in self._names(pools):
            is_taken = self.file(name, EVENTS).exists()
            if is_taken != again or (again and not self._was_taken_by(name, worker)):
                continue
            lock = Lock(self.file(name, LOCK), self.store.note)
            if not lock.acquire():
                continue
            taken = TakenGroup(self, name, lock)
            if taken.begin(worker, again=again):
                return taken
        return None

    def _was_taken_by(self, name: str, worker: str) -> bool:
        events, _ = self.events(name, 0) or ((), 0)
        has_ended = any(event.kind in ENDS for event in events)
        return not has_ended and any((event.kind, event.text) == ("started", worker) for event in events)


class TakenGroup:
    """A group taken by a worker."""

    def __init__(self, folder: GroupFolder, name: str, lock: Lock) -> None:
        self.folder, self.name, self._lock = folder, name, lock
        self.jobs: list[SentJob] = []
        self.last = ""
        """Kind of the last event."""

    @property
    def is_wanted(self) -> bool:
        """Whether the command has not cancelled it."""
        return self.folder.file(self.name, JOBS).exists()

    def begin(self, worker: str, *, again: bool) -> bool:
        """Mark it as taken and read its jobs; without jobs to compute, release it and return False."""
        events, file = self.folder.file(self.name, EVENTS), self.folder.file(self.name, JOBS)
        try:
            # Also where locks have no effect, only one process makes the file.
            events.open("rb" if again else "xb").close()
        except (FileExistsError, FileNotFoundError):
            self._lock.release()
            return False
        self.tell(Event(kind="started", group=0, text=worker))
        try:
            self.jobs = [SentJob.read(each) for each in json.loads(file.read_bytes())["jobs"]]
        except FileNotFoundError:
            self.last = "stopped"
        except UNREADABLE as error:
            text = f"{file}: not a valid group of jobs ({shown(str(error))})"
            self.tell(Event(kind="failed", group=0, text=text, error=DamagedError.__name__))
        if not self.jobs:
            self.release()
        return bool(self.jobs)

    def tell(self, event: Event) -> None:
        """Append an event for the command."""
        self.last = event.kind
        # If the group was removed, no command reads its events.
        with suppress(FileNotFoundError), self.folder.file(self.name, EVENTS).open("r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(json.dumps(asdict(event)).encode() + b"\n")

    def release(self) -> None:
        """Release it; if it was stopped, other workers may take it."""
        if self.last == "stopped":
            self.folder.file(self.name, EVENTS).unlink(missing_ok=True)
        self._lock.release(removes=not self.is_wanted)


def _pool(name: str) -> str:
    return name.partition(".")[0]


def _owner(name: str) -> str:
    return name.split(".")[1]
