"""What a task of Ray computes on a node, and how results travel where a node does not see the folder of kept results.

A task is a generator: it yields events as they happen, and, if the node has no part in the folder, the files of each
result beside the event that tells of it. Nothing here imports Ray.
"""

import json
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_type_hints

from ecsuite.jobs.computing import Event, compute_and_report
from ecsuite.jobs.job import Location, SentJob, import_function
from ecsuite.jobs.store import Store

Yielded = tuple[dict[str, Any], dict[str, bytes]]
"""An event as JSON values, and the files of a result by their paths in the store."""
NO_FOLDER = "no folder"
"""Text of the event `stopped` of a task that needs the files of its inputs, because its node does not see them."""
SECONDS_BETWEEN_REPORTS = 2.0
"""How often a task tells its progress."""
SECONDS_BETWEEN_LOOKS = 1.0
"""How often a job that asks whether to stop looks for the file that says so."""


def compute_on_node(text: str, names: Sequence[str], *contents: bytes) -> Iterator[Yielded]:
    """Compute a group of jobs.

    Args:
        text: JSON: the folder of the store, the name of a file in it that tells that it is the same, the file whose
            existence asks to stop, and the jobs.
        names: Paths, in the store, of files that the jobs read; none if the node is taken to see the store.
        contents: Their contents.

    Yields:
        What happens, and the files of results if this node does not see the store.
    """
    sent = json.loads(text)
    folder, jobs = Path(sent["folder"]), [SentJob(**each) for each in sent["jobs"]]
    with ExitStack() as stack:
        is_shared = (folder / sent["mark"]).is_file()
        if not is_shared and sent["needs_files"]:
            yield asdict(Event(kind="stopped", group=0, text=NO_FOLDER)), {}
            return
        if not is_shared:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ecsuite-")))
            for name, content in zip(names, contents, strict=True):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
            jobs = [_moved(job, folder / "outputs") for job in jobs]
        store = Store(folder)
        yield from _events(jobs, store, _asks_to_stop(folder / sent["stop"]), sends_files=not is_shared)


def result_files(store: Store, job: SentJob) -> dict[str, bytes]:
    """The files of a kept result, by their paths in the store."""
    file = store.file(job)
    files = [each for each in (file, file.with_suffix(".safetensors")) if each.is_file()]
    return {str(each.relative_to(store.folder)): each.read_bytes() for each in files}


def keep_files(store: Store, job: SentJob, files: Mapping[str, bytes]) -> bool:
    """Verify the files of a result that was computed elsewhere, and keep it; whether it is the result of the job."""
    own = {
        str(store.file(job).with_suffix(ending).relative_to(store.folder))
        for ending in (".json", ".safetensors")
    }
    if not set(files) <= own:
        return False
    store.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store.folder, prefix=".received-") as folder:
        received = Store(Path(folder), store.note)
        for name, content in files.items():
            (received.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (received.folder / name).write_bytes(content)
        if received.read(job, needs_arrays=True) is None:
            return False
        # The result last: whoever sees it finds its arrays.
        for name in sorted(files, key=lambda name: name.endswith(".json")):
            (store.folder / name).parent.mkdir(parents=True, exist_ok=True)
            os.replace(received.folder / name, store.folder / name)
    return True


def input_files(store: Store, jobs: Sequence[SentJob]) -> list[str]:
    """The files of a store that jobs read, by their paths in it."""
    found: dict[str, None] = {}

    def walk(value: Any) -> None:
        if isinstance(value, Mapping):
            for name, each in value.items():
                if name == "$result":
                    found.update(dict.fromkeys((f"results/{each}.json", f"results/{each}.safetensors")))
                elif name == "$corpus":
                    found[f"inputs/{each[:24]}.safetensors"] = None
                else:
                    walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    for job in jobs:
        walk(job.inputs)
    return [name for name in found if (store.folder / name).is_file()]


def _events(
    jobs: Sequence[SentJob], store: Store, should_stop: Callable[[], bool], *, sends_files: bool
) -> Iterator[Yielded]:
    """Compute in another thread, and yield what it tells."""
    told: queue.SimpleQueue[Yielded | None] = queue.SimpleQueue()
    by_digest = {job.digest: job for job in jobs}
    last = 0.0

    def report(event: Event) -> None:
        nonlocal last
        if event.kind == "progress":
            if time.monotonic() - last < SECONDS_BETWEEN_REPORTS:
                return
            last = time.monotonic()
        files = result_files(store, by_digest[event.text]) if sends_files and event.kind == "kept" else {}
        told.put((asdict(event), files))

    def work() -> None:
        try:
            compute_and_report(0, jobs, store, report, should_stop)
        finally:
            told.put(None)

    threading.Thread(target=work, daemon=True).start()
    while (event := told.get()) is not None:
        yield event


def _asks_to_stop(file: Path) -> Callable[[], bool]:
    """Whether a file is there, which is looked for from time to time."""
    last, is_there = 0.0, False

    def should_stop() -> bool:
        nonlocal last, is_there
        if not is_there and time.monotonic() - last > SECONDS_BETWEEN_LOOKS:
            last, is_there = time.monotonic(), file.exists()
        return is_there

    return should_stop


def _moved(job: SentJob, folder: Path) -> SentJob:
    """A job that writes into a folder of this node what it would write beside the store."""
    hints = get_type_hints(import_function(job.function).function)
    inputs = {
        name: {"path": str(folder)} if hints[name] is Location else value
        for name, value in job.inputs.items()
    }
    return SentJob(function=job.function, key=job.key, digest=job.digest, name=job.name, inputs=inputs)
