"""Runs independent jobs in local processes and caches their results, so that no job is computed twice."""

import hashlib
import json
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ecsuite.corpus import write_atomically
from ecsuite.file_formats import with_format, without_format

ProgressCallback = Callable[[str, float], None]
"""Called by a job from time to time: a label of its current state, and the fraction done, 0 to 1."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A pure function and its inputs."""

    function: Callable[..., Any]
    """Importable; takes `inputs` and `report_progress` by keyword, and returns JSON-serialisable data."""
    inputs: Mapping[str, Any]
    """Keyword arguments of the function; can be pickled."""
    key: Mapping[str, Any]
    """Everything that can change the result, as JSON; equal keys have equal results."""
    work: float = 1.0
    """Expected cost, in any unit that is the same for all jobs."""

    @property
    def digest(self) -> str:
        """Name of the result's file."""
        return hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()[:20]


class JobRunner:
    """Runs jobs.

    Args:
        num_workers: Number of processes; with 1 the jobs run in the current process.
        folder: Folder of cached results; None: no cache.
        progress: Called as `progress(label, done, total)`.
    """

    def __init__(
        self, *, num_workers: int, folder: Path | None, progress: Callable[[str, float, float], None]
    ) -> None:
        self.num_workers, self.folder, self.progress = num_workers, folder, progress
        self.num_kept = 0
        """Results that were read from the cache and not computed."""
        self._pool: ProcessPoolExecutor | None = None
        self._progress_queue: Any = None

    def __enter__(self) -> Self:
        """Return the runner; workers start with the first job that needs them."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Shut down the workers; after an error without waiting for them."""
        if self._pool is None:
            return
        if error is not None:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(cancel_futures=True)

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """Return the results of jobs, in their order. The most expensive jobs start first."""
        results: dict[int, Any] = {}
        for index, job in enumerate(jobs):
            cached = self._read(job)
            if cached is not None:
                results[index] = cached
        self.num_kept += len(results)
        order = sorted((i for i in range(len(jobs)) if i not in results), key=lambda i: -jobs[i].work)
        if order:
            run = self._run_here if self.num_workers == 1 else self._run_in_pool
            for index, result in run(jobs, order):
                self._write(jobs[index], result)
                # As read from the cache, so that a resumed run gets the same as an uninterrupted one.
                results[index] = json.loads(json.dumps(result))
        return [results[index] for index in range(len(jobs))]

    def _run_here(self, jobs: Sequence[Job], order: list[int]) -> Iterator[tuple[int, Any]]:
        total, done = sum(jobs[index].work for index in order), 0.0
        for index in order:
            job, before = jobs[index], done

            def report_progress(label: str, share: float, job: Job = job, before: float = before) -> None:
                self.progress(label, before + share * job.work, total)

            yield index, job.function(**job.inputs, report_progress=report_progress)
            done += job.work

    def _run_in_pool(self, jobs: Sequence[Job], order: list[int]) -> Iterator[tuple[int, Any]]:
        pool = self._start()
        total, done = sum(jobs[index].work for index in order), 0.0
        running: dict[Future[Any], int] = {}
        latest: dict[int, tuple[str, float]] = {}
        for index in order:
            running[pool.submit(_run_job, jobs[index].function, dict(jobs[index].inputs), index)] = index
        while running:
            finished, _ = wait(running, timeout=0.3, return_when=FIRST_COMPLETED)
            while True:
                try:
                    index, label, share = self._progress_queue.get_nowait()
                except queue.Empty:
                    break
                latest[index] = (label, share)
            # Successful jobs come first, so that their results are cached if another job failed.
            for future in sorted(finished, key=lambda future: future.exception() is not None):
                index = running.pop(future)
                latest.pop(index, None)
                done += jobs[index].work
                yield index, future.result()
            active = {index: each for index, each in latest.items() if index in running.values()}
            partial = sum(share * jobs[index].work for index, (_, share) in active.items())
            self.progress("  ".join(label for label, _ in active.values()), done + partial, total)

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._progress_queue = context.Queue()
            with _environment(WORKER_ENVIRONMENT):
                self._pool = ProcessPoolExecutor(
                    self.num_workers,
                    mp_context=context,
                    initializer=_init_worker,
                    initargs=(self._progress_queue,),
                )
                # The first submissions spawn the processes: all are spawned while the environment is set.
                wait([self._pool.submit(_do_nothing) for _ in range(self.num_workers)])
        return self._pool

    def _path(self, job: Job) -> Path | None:
        return None if self.folder is None else self.folder / f"{job.digest}.json"

    def _read(self, job: Job) -> Any:
        path = self._path(job)
        if path is None or not path.is_file():
            return None
        try:
            entry = json.loads(path.read_text())
        except ValueError:
            return None  # another program's file, or damaged: the job is computed again
        if not isinstance(entry, dict):
            return None
        entry = without_format("kept result", entry, path)
        return entry.get("result") if entry.get("key") == json.loads(json.dumps(job.key)) else None

    def _write(self, job: Job, result: Any) -> None:
        path = self._path(job)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(
                with_format("kept result", {"key": job.key, "result": result}), indent=1, allow_nan=False
            )
            write_atomically(path, (text + "\n").encode())


_worker_queue: Any = None


def _init_worker(progress_queue: Any) -> None:
    """Initialise a worker process."""
    global _worker_queue
    _worker_queue = progress_queue
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(1)


def _exit_with_parent() -> None:
    """Terminate this worker when the parent process has ended, for any reason: nothing would read the result."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _do_nothing() -> None:
    """Do nothing; a worker that has run this has started."""


def _run_job(function: Callable[..., Any], inputs: dict[str, Any], index: int) -> Any:
    return function(**inputs, report_progress=lambda label, share: _worker_queue.put((index, label, share)))


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
