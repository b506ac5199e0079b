"""The workshop: independent jobs over local processes; results are kept, so that nothing is done twice."""

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
"""Told by a job now and then: what it is at, and the share that is done, 0 to 1."""

WORKER_ENVIRONMENT = {
    # One thread a process: small products gain nothing from more, and lose much where cores are shared.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Memory is used again instead of being given back and asked for anew in every update.
    "MALLOC_MMAP_THRESHOLD_": str(2**32),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
    "MALLOC_TOP_PAD_": str(2**26),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""What workers begin with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A pure function and its inputs."""

    function: Callable[..., Any]
    """Importable; takes `inputs` and `report_progress` by keyword, and gives what JSON can hold."""
    inputs: Mapping[str, Any]
    """What to call it with; can be pickled."""
    key: Mapping[str, Any]
    """Everything that can change the result, as JSON; equal keys have equal results."""
    work: float = 1.0
    """How long it may take, in any unit that is the same for all jobs."""

    @property
    def digest(self) -> str:
        """Names the result's file."""
        return hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()[:20]


class JobRunner:
    """Runs jobs.

    Args:
        num_workers: Processes; with 1 the jobs run in this one.
        folder: Where results are kept; None keeps none.
        progress: Called as `progress(label, done, total)`.
    """

    def __init__(
        self, *, num_workers: int, folder: Path | None, progress: Callable[[str, float, float], None]
    ) -> None:
        self.num_workers, self.folder, self.progress = num_workers, folder, progress
        self.num_kept = 0
        """Results that were found and not computed."""
        self._pool: ProcessPoolExecutor | None = None
        self._news: Any = None

    def __enter__(self) -> Self:
        """Workers start with the first job that needs them."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Send the workers home; after an error without waiting for them."""
        if self._pool is None:
            return
        if error is not None:
            for process in list((self._pool._processes or {}).values()):
                process.terminate()
        self._pool.shutdown(cancel_futures=True)

    def run(self, jobs: Sequence[Job]) -> list[Any]:
        """The results of jobs, in their order. Those that take longest begin first."""
        results: dict[int, Any] = {}
        for index, job in enumerate(jobs):
            found = self._read(job)
            if found is not None:
                results[index] = found
        self.num_kept += len(results)
        order = sorted((i for i in range(len(jobs)) if i not in results), key=lambda i: -jobs[i].work)
        if order:
            run = self._run_here if self.num_workers == 1 else self._run_in_pool
            for index, result in run(jobs, order):
                self._write(jobs[index], result)
                # As it would be read, so that a run that goes on sees what an uninterrupted one sees.
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
        news: dict[int, tuple[str, float]] = {}
        for index in order:
            running[pool.submit(_work, jobs[index].function, dict(jobs[index].inputs), index)] = index
        while running:
            finished, _ = wait(running, timeout=0.3, return_when=FIRST_COMPLETED)
            while True:
                try:
                    index, label, share = self._news.get_nowait()
                except queue.Empty:
                    break
                news[index] = (label, share)
            # Those that went well come first, so that they are kept if another did not.
            for future in sorted(finished, key=lambda future: future.exception() is not None):
                index = running.pop(future)
                news.pop(index, None)
                done += jobs[index].work
                yield index, future.result()
            at_work = {index: each for index, each in news.items() if index in running.values()}
            partly = sum(share * jobs[index].work for index, (_, share) in at_work.items())
            self.progress("  ".join(label for label, _ in at_work.values()), done + partly, total)

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._news = context.Queue()
            with _environment(WORKER_ENVIRONMENT):
                self._pool = ProcessPoolExecutor(
                    self.num_workers, mp_context=context, initializer=_begin, initargs=(self._news,)
                )
                # Processes are spawned by the first submissions: all of them, while the environment holds.
                wait([self._pool.submit(_ready) for _ in range(self.num_workers)])
        return self._pool

    def _path(self, job: Job) -> Path | None:
        return None if self.folder is None else self.folder / f"{job.digest}.json"

    def _read(self, job: Job) -> Any:
        path = self._path(job)
        if path is None or not path.is_file():
            return None
        try:
            kept = json.loads(path.read_text())
        except ValueError:
            return None  # not ours, or damaged: it is computed anew
        if not isinstance(kept, dict):
            return None
        kept = without_format("kept result", kept, path)
        return kept.get("result") if kept.get("key") == json.loads(json.dumps(job.key)) else None

    def _write(self, job: Job, result: Any) -> None:
        path = self._path(job)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(
                with_format("kept result", {"key": job.key, "result": result}), indent=1, allow_nan=False
            )
            write_atomically(path, (text + "\n").encode())


_worker_news: Any = None


def _begin(news: Any) -> None:
    """What a worker does first."""
    global _worker_news
    _worker_news = news
    threading.Thread(target=_follow, daemon=True).start()
    import torch

    torch.set_num_threads(1)


def _follow() -> None:
    """Leave when the process that hands out the jobs is gone, however it went: nobody would take the result."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)


def _ready() -> None:
    """Nothing: a worker that answers is there."""


def _work(function: Callable[..., Any], inputs: dict[str, Any], index: int) -> Any:
    return function(**inputs, report_progress=lambda label, share: _worker_news.put((index, label, share)))


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
