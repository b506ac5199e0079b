"""Workers as tasks of a Ray cluster (extra `ray`), which Ray places on nodes with enough CPUs and GPUs.

The nodes share the folder of the store. Workers end with the command, which first asks jobs to write checkpoints.
"""

import os
import secrets
import socket
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ecsuite.jobs.groups import GroupFolder, require_locks
from ecsuite.jobs.job import MODULES, Resources
from ecsuite.jobs.launchers import MOST_GROUPS, Launcher, Lost, Standing
from ecsuite.jobs.processes import WORKER_ENVIRONMENT
from ecsuite.jobs.signals import handlers_kept
from ecsuite.jobs.worker import WorkerOptions, work
from ecsuite.parts.own_code import TRUSTED
from ecsuite.runtime.errors import ConfigError, missing_extra

SECONDS_TO_CONNECT = 5.0
"""Seconds that a cluster may take to answer."""
SECONDS_TO_SEE = 60.0
"""Seconds that nodes may take to look for the folder."""
SECONDS_BETWEEN_CHECKS = 1.0
"""Seconds between two queries of ended workers."""
SECONDS_IDLE = 2.0
"""Seconds without a group after which a worker ends."""
SECONDS_UNTIL_TOLD = 30.0
"""Seconds until a note that no node has the resources of a group; a growing cluster may add one."""
LOCAL = "local"
"""Address for a cluster that is started on this machine, and ends with the command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RayOptions:
    """How workers are submitted to Ray."""

    address: str | None = None
    """HOST:PORT of the cluster; `local`: a new one on this machine; None: from RAY_ADDRESS, or this machine's."""
    cpus: float | None = None
    """CPUs that a worker reserves; None: the threads of its jobs."""
    gpus: float | None = None
    """GPUs that a worker reserves; None: the GPUs of its jobs."""
    memory: float | None = None
    """Memory in GiB that a worker reserves; None: none."""


class Cluster:
    """A cluster of Ray, to which this process connects at the first use."""

    def __init__(self, options: RayOptions) -> None:
        self.options = options
        self.ray: Any = None
        self.is_ours = False
        """Whether the connection was made here, not by the calling program."""

    def connect(self) -> Any:
        """Connect to the cluster, and return the module `ray`.

        Raises:
            ConfigError: If Ray is not installed, or no cluster answers.
        """
        if self.ray is not None:
            return self.ray
        address = self.options.address
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage statistics
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            ray: Any = import_module("ray")
        except ImportError:
            raise missing_extra("--on ray", "ray") from None
        self.is_ours = not ray.is_initialized()
        if self.is_ours:
            if address not in (None, LOCAL):
                _require_answer(str(address))
            try:
                with handlers_kept():  # Ray takes SIGTERM for itself
                    ray.init(
                        address=address or "auto",
                        log_to_driver=False,
                        logging_level="ERROR",
                        **({"include_dashboard": False} if address == LOCAL else {}),
                    )
            except (
                Exception
            ) as error:  # several causes: no cluster, another version of Python or Ray, no permission
                if address is None and isinstance(error, ConnectionError):
                    raise ConfigError(
                        "--on ray: no cluster of Ray runs here; name one: --on ray,address=HOST:6379, or start one on "
                        "this machine: --on ray,address=local"
                    ) from None
                raise ConfigError(f"--on ray: Ray does not start: {_said(error)}") from None
        with suppress(ImportError, AttributeError):
            # Ray prints on standard output what happens to nodes, and has no public way to be silent.
            import_module("ray._private.worker")._worker_logs_enabled = False  # type: ignore[attr-defined]
        self.ray = ray
        return ray

    def require(self, folder: Path) -> None:
        """Raise `ConfigError` if no cluster answers, or a node does not see the folder of the store."""
        ray, folder = self.connect(), folder.resolve()
        require_locks("--on ray", folder)
        nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        strategies: Any = import_module("ray.util.scheduling_strategies")
        mark = folder / f".ray-{secrets.token_hex(8)}"
        mark.touch()
        try:
            look = ray.remote(num_cpus=0, max_retries=0)(_sees)
            seen = {
                address: look.options(
                    scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(node_id=node, soft=False)
                ).remote(str(mark))
                for node, address in nodes.items()
            }
            blind = [address for address, sees in seen.items() if not ray.get(sees, timeout=SECONDS_TO_SEE)]
        except ray.exceptions.RayError as error:
            raise ConfigError(f"--on ray: a node does not answer: {_said(error)}") from None
        finally:
            mark.unlink()
        if blind:
            self.close()
            raise ConfigError(
                f"--on ray: {folder}: node {', '.join(blind)} does not see this folder; expected one that all nodes "
                "share, at the same path"
            )

    def close(self) -> None:
        """End the connection, unless the calling program made it."""
        if self.is_ours and self.ray is not None:
            self.ray.shutdown()
        self.ray = None


class Ray(Launcher):
    """Starts tasks of Ray; see `Launcher` for the methods."""

    def __init__(self, folder: GroupFolder, cluster: Cluster) -> None:
        super().__init__(folder)
        self.ray, self.cluster, self.options = cluster.connect(), cluster, cluster.options
        passed = {name: os.environ[name] for name in (TRUSTED, MODULES) if name in os.environ}
        self.task = self.ray.remote(max_retries=0, runtime_env={"env_vars": WORKER_ENVIRONMENT | passed})(
            _work
        )
        self.pools: dict[str, Resources] = {}
        self.workers: dict[str, tuple[str, Any]] = {}  # by name, the pool and Ray's reference
        self.num_started, self.last_check = 0, time.monotonic()
        self.waits_since: float | None = None
        self._count_slots()

    def _count_slots(self) -> None:
        """Allow one group per CPU of the cluster, which may grow."""
        self.num_slots = min(MOST_GROUPS, max(1, int(self.ray.cluster_resources().get("CPU", 1))))

    def pool(self, resources: Resources) -> str:
        """Pool of the workers of this command with the required resources."""
        reserved = self._reserved(resources)
        pool = "-".join(
            [self.folder.command, *(f"{value:g}".replace(".", "_") for value in reserved.values())]
        )
        self.pools[pool] = resources
        return pool

    def start(self, groups: Collection[Standing]) -> None:
        """Submit a worker for each group of a pool; workers without a group end soon, and free their resources."""
        needed = Counter(group.pool for group in groups)
        there = Counter(pool for pool, _ in self.workers.values())
        for pool, number in needed.items():
            for _ in range(number - there[pool]):
                self.num_started += 1
                name = f"{pool} {self.num_started}"
                task = self.task.options(**self._reserved(self.pools[pool]))
                self.workers[name] = (pool, task.remote(str(self.folder.store.folder.resolve()), pool, name))

    def lost(self, groups: Collection[Standing]) -> Iterator[Lost]:
        """The groups whose workers have ended."""
        if time.monotonic() - self.last_check < SECONDS_BETWEEN_CHECKS:
            return
        self.last_check = time.monotonic()
        self._count_slots()
        self._tell_what_waits(groups)
        names = {reference: name for name, (_, reference) in self.workers.items()}
        ended = self.ray.wait(list(names), num_returns=len(names), timeout=0)[0] if names else []
        by_worker = {group.worker: group for group in groups}
        for reference in ended:
            name = names[reference]
            del self.workers[name]
            error = self._error_of(reference)
            if name in by_worker:
                yield self._lost(by_worker[name], error)
            elif isinstance(error, self.ray.exceptions.RayTaskError):
                raise ConfigError(f"--on ray: a worker failed: {' '.join(str(error).split())[-200:]}")

    def end(self, worker: str) -> None:
        """End a worker."""
        if worker in self.workers:
            self.ray.cancel(self.workers.pop(worker)[1], force=True)

    def close(self) -> None:
        """End all workers."""
        with suppress(self.ray.exceptions.RayError):
            for name in list(self.workers):
                self.end(name)
        self.cluster.close()

    def _reserved(self, resources: Resources) -> dict[str, float]:
        reserved = {
            "num_cpus": self.options.cpus or resources.num_threads,
            "num_gpus": resources.num_gpus if self.options.gpus is None else self.options.gpus,
        }
        return reserved | ({} if self.options.memory is None else {"memory": self.options.memory * 2**30})

    def _error_of(self, reference: Any) -> Exception | None:
        try:
            self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            return error  # type: ignore[no-any-return]
        return None

    def _lost(self, group: Standing, error: Exception | None) -> Lost:
        """Translate an error of Ray into the loss of a group."""
        errors = self.ray.exceptions
        if isinstance(error, errors.NodeDiedError | errors.LocalRayletDiedError):
            return Lost(group=group, kind="lost", text="its node in Ray was lost")
        if isinstance(error, errors.OutOfMemoryError):
            text = "its process was killed: out of memory"
        elif isinstance(error, errors.WorkerCrashedError):
            text = "its process in Ray ended: it was killed (out of memory?)"
        else:
            text = "its worker in Ray ended without a result" if error is None else f"Ray: {_said(error)}"
        return Lost(group=group, kind="died", text=text)

    def _tell_what_waits(self, groups: Collection[Standing]) -> None:
        """Note once which resources no node has."""
        waiting = [group for group in groups if not group.worker]
        if not waiting or self.waits_since is None:
            self.waits_since = time.monotonic() if waiting else None
        elif time.monotonic() - self.waits_since > SECONDS_UNTIL_TOLD:
            needs = self._reserved(self.pools[waiting[0].pool])
            cpus, gpus = needs["num_cpus"], needs["num_gpus"]
            nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
            if not any(node.get("CPU", 0) >= cpus and node.get("GPU", 0) >= gpus for node in nodes):
                self.folder.store.note(
                    f"no node of Ray has {cpus:g} CPUs and {gpus:g} GPUs; waiting for one that has"
                )


def _work(folder: str, pool: str, name: str) -> None:
    work(Path(folder), WorkerOptions(pools=(pool,), name=name, seconds_idle=SECONDS_IDLE))


def _sees(file: str) -> bool:
    return os.path.exists(file)


def _said(error: Exception) -> str:
    return f"{' '.join(str(error).split()):.200}"


def _require_answer(address: str) -> None:
    """Check that the address accepts connections; Ray itself would try for a minute."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdecimal()):
        raise ConfigError(f"--on ray,address={address}: expected HOST:PORT, such as head:6379, or local")
    try:
        socket.create_connection((host, int(port)), SECONDS_TO_CONNECT).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--on ray,address={address}: no cluster of Ray answers there ({error})") from None
