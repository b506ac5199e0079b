"""Ray: groups of jobs as tasks of a Ray cluster (extra `ray`).

Ray places a task where there are enough CPUs and GPUs; a task whose node was lost is submitted again. A node that sees
the folder of kept results writes there; the results of another node travel through this process, which verifies them.
Tasks end with this process: it asks them to write checkpoints before.
"""

import json
import os
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

from filelock import FileLock, Timeout

from ecsuite.jobs.computing import Event, Group
from ecsuite.jobs.executors import WORKER_ENVIRONMENT
from ecsuite.jobs.job import Resources
from ecsuite.jobs.ray_tasks import NO_FOLDER, compute_on_node, input_files, keep_files
from ecsuite.jobs.signals import handlers_kept
from ecsuite.jobs.store import Store
from ecsuite.runtime.errors import ConfigError, missing_extra

MAX_TASKS = 500
"""Most tasks that are submitted at the same time."""
TASKS_PER_CPU = 2
"""How many tasks are submitted for each CPU of the cluster, so that none waits for this process."""
SECONDS_TO_CONNECT = 5.0
"""How long a cluster may take to answer."""
SECONDS_UNTIL_TOLD = 30.0
"""After how long it is told that no node has what a task needs; a cluster that grows may add one."""
LOCAL = "local"
"""The address of a cluster that is started on this machine, and ends with the command."""


@dataclass(kw_only=True, slots=True)
class Task:
    """A group in Ray."""

    number: int
    """The number that the group was submitted with."""
    group: Group
    resources: Resources
    events: Any = None
    """Ray's generator of what the task yields."""
    has_files: bool = False
    """Whether it was sent the files of its inputs."""
    has_started: bool = False
    place: tuple[str, int] | None = None
    """The node and the process that compute it, once they told."""
    cancelled: str | None = None
    """Why this process ended it."""
    since: float = field(default_factory=time.monotonic)


@dataclass(frozen=True, kw_only=True, slots=True)
class RayOptions:
    """How tasks are submitted to Ray."""

    address: str | None = None
    """HOST:PORT of the cluster; `local`: one that is started here; None: that of RAY_ADDRESS, or of this machine."""
    cpus: float | None = None
    """CPUs that a task reserves; None: the threads of its jobs."""
    gpus: float | None = None
    """GPUs that a task reserves; None: those of its jobs."""
    memory: float | None = None
    """Memory in GiB that a task reserves; None: none."""


class Ray:
    """Computes in tasks of Ray; see `Executor` for the methods."""

    def __init__(self, store: Store, report: Callable[[Event], None], options: RayOptions) -> None:
        self.ray, self.was_connected = _connect(options.address)
        self.store, self.report, self.options = store, report, options
        self.remote = self.ray.remote(max_retries=0)(compute_on_node)
        self.tasks: dict[Any, Task] = {}
        self.sent_files: dict[
            str, Any
        ] = {}  # references of files that were sent, by their paths in the store
        self.sends_files = self.is_stopped = False
        files = store.folder.resolve() / "ray"
        files.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(files)
        self.mark = FileLock(files / secrets.token_hex(8), thread_local=False)
        self.mark.acquire()
        self.asks_to_stop = files / f"{os.path.basename(self.mark.lock_file)}.stop"

    @property
    def num_slots(self) -> int:
        """Most tasks at the same time."""
        num_cpus = self.ray.cluster_resources().get("CPU", 1)
        return min(MAX_TASKS, max(1, int(TASKS_PER_CPU * num_cpus)))

    def submit(self, number: int, group: Group, resources: Resources) -> None:
        """Submit a group as a task."""
        self._submit(Task(number=number, group=group, resources=resources))

    def poll(self, seconds: float) -> None:
        """Wait at most this long for events, and report them."""
        if not self.tasks:
            time.sleep(seconds)
            return
        # The first call waits for one task, the second one finds all others that have told something by then.
        if self.ray.wait(list(self.tasks), timeout=seconds, fetch_local=False)[0]:
            ready, _ = self.ray.wait(
                list(self.tasks), num_returns=len(self.tasks), timeout=0, fetch_local=False
            )
            for events in ready:
                self._receive(events)
        self._tell_what_waits()

    def cancel(self, number: int, reason: str) -> None:
        """End the task that computes a group."""
        for events, task in self.tasks.items():
            if task.number == number:
                task.cancelled = reason
                self.ray.cancel(events, force=True)

    def stop(self) -> None:
        """Ask tasks that compute to write checkpoints, where these can be kept; the others are ended."""
        self.is_stopped = True
        self.asks_to_stop.touch()
        for events, task in list(self.tasks.items()):
            if not task.has_started or task.has_files:
                self.ray.cancel(events, force=True)

    def close(self) -> None:
        """End all tasks."""
        with suppress(self.ray.exceptions.RayError):
            for events in self.tasks:
                self.ray.cancel(events, force=True)
        self.sent_files.clear()
        if not self.was_connected:
            self.ray.shutdown()
        self.asks_to_stop.unlink(missing_ok=True)
        self.mark.release()
        os.unlink(self.mark.lock_file)

    def _submit(self, task: Task) -> None:
        folder = self.store.folder.resolve()
        names = input_files(self.store, task.group) if self.sends_files else []
        for name in set(names) - set(self.sent_files):
            self.sent_files[name] = self.ray.put((folder / name).read_bytes())
        sent = {
            "folder": str(folder),
            "mark": mark_of(self.mark),
            "stop": f"ray/{self.asks_to_stop.name}",
            "jobs": [asdict(job) for job in task.group],
            "needs_files": not self.sends_files,
        }
        reserved = {
            "num_cpus": self.options.cpus or task.resources.num_threads,
            "num_gpus": task.resources.num_gpus if self.options.gpus is None else self.options.gpus,
        }
        if self.options.memory is not None:
            reserved["memory"] = self.options.memory * 2**30
        contents = [self.sent_files[name] for name in names]
        task.has_files, task.has_started, task.since = self.sends_files, False, time.monotonic()
        remote = self.remote.options(num_returns="streaming", **reserved)
        self.tasks[remote.remote(json.dumps(sent), names, *contents)] = task

    def _receive(self, events: Any) -> None:
        """Report what a task has told by now."""
        task = self.tasks[events]
        while events in self.tasks and self.ray.wait([events], timeout=0, fetch_local=False)[0]:
            try:
                told, files = self.ray.get(next(events))
            except StopIteration:
                self._end(
                    events,
                    Event(kind="died", group=task.number, text="its task in Ray ended without a result"),
                )
            except self.ray.exceptions.RayError as error:
                self._end(events, self._event_of(error, task))
            else:
                self._handle(events, task, Event(**told | {"group": task.number}), files)

    def _handle(self, events: Any, task: Task, event: Event, files: Mapping[str, bytes]) -> None:
        """Report an event of a task."""
        task.has_started = True
        if event.text == NO_FOLDER and not self.is_stopped:
            self.sends_files = True
            del self.tasks[events]
            self._submit(task)
        elif event.kind in ("ended", "failed", "stopped"):
            self._end(events, event)
        elif event.kind == "kept" and files:
            job = next(job for job in task.group if job.digest == event.text)
            if keep_files(self.store, job, files):
                self.report(event)
        else:
            self.report(event)

    def _end(self, events: Any, event: Event) -> None:
        del self.tasks[events]
        self.report(event)

    def _event_of(self, error: Exception, task: Task) -> Event:
        """What an error of Ray says of a task."""
        errors, said = self.ray.exceptions, " ".join(str(error).split())
        if task.cancelled is not None:
            return Event(kind="died", group=task.number, text=task.cancelled)
        if self.is_stopped:
            return Event(kind="stopped", group=task.number)
        if isinstance(error, errors.NodeDiedError | errors.LocalRayletDiedError):
            return Event(kind="lost", group=task.number, text="its node in Ray was lost")
        if isinstance(error, errors.OutOfMemoryError):
            text = "its process was killed: out of memory"
        elif isinstance(error, errors.WorkerCrashedError):
            text = "its process in Ray ended: it was killed (out of memory?)"
        else:
            text = f"Ray: {said:.200}"
        return Event(kind="died", group=task.number, text=text)

    def _tell_what_waits(self) -> None:
        """Say once what no node has that a task waits for."""
        waiting = [task for task in self.tasks.values() if not task.has_started]
        if not waiting or time.monotonic() - waiting[0].since < SECONDS_UNTIL_TOLD:
            return
        resources = waiting[0].resources
        cpus = self.options.cpus or resources.num_threads
        gpus = resources.num_gpus if self.options.gpus is None else self.options.gpus
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        if not any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes):
            self.store.note(f"no node of Ray has {cpus:g} CPUs and {gpus:g} GPUs; waiting for one that has")


def mark_of(lock: FileLock) -> str:
    """The name in the store of a file by which a node knows that it sees the same folder."""
    return f"ray/{os.path.basename(lock.lock_file)}"


def _connect(address: str | None) -> tuple[Any, bool]:
    """Ray, and whether it was connected before.

    Raises:
        ConfigError: If Ray is not installed, or no cluster answers.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise missing_extra("--on ray", "ray") from None
    if ray.is_initialized():
        return ray, True
    if address not in (None, LOCAL):
        _require_answer(str(address))
    # Ray takes SIGTERM for itself, and prints what happens to nodes on standard output.
    printing: Any = import_module("ray._private.worker")
    printing._worker_logs_enabled = False
    try:
        with handlers_kept():
            ray.init(
                address=address or "auto",
                runtime_env={"env_vars": WORKER_ENVIRONMENT},
                log_to_driver=False,
                logging_level="ERROR",
                **({"include_dashboard": False} if address == LOCAL else {}),
            )
    except Exception as error:  # of many classes: no cluster, another version of Python or Ray, no rights
        if address is None and isinstance(error, ConnectionError):
            raise ConfigError(
                "--on ray: no cluster of Ray runs here; name one: --on ray,address=HOST:6379, or start one on this "
                "machine: --on ray,address=local"
            ) from None
        raise ConfigError(f"--on ray: Ray does not start: {' '.join(str(error).split()):.200}") from None
    return ray, False


def _require_answer(address: str) -> None:
    """Check that something listens; Ray itself would try for a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        raise ConfigError(f"--on ray,address={address}: expected HOST:PORT, such as head:6379, or local")
    try:
        socket.create_connection((host, int(port)), SECONDS_TO_CONNECT).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--on ray,address={address}: no cluster of Ray answers there ({error})") from None


def _remove_abandoned(folder: Any) -> None:
    """Remove the files of processes that were killed."""
    for file in folder.iterdir():
        lock = FileLock(file.with_suffix(""), thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            continue
        for each in (file, file.with_suffix("")):
            each.unlink(missing_ok=True)
        lock.release()
