"""Kept results: a job that was computed once is read again, by this process and by every other one.

A store is a folder:

    results/NAME-KEY.json           the key, the value, and a checksum of all of it
    results/NAME-KEY.safetensors    arrays, if the result has any; their checksum is in the JSON
    inputs/                         corpora, by their hash
    groups/                         jobs that are being computed, see `ecsuite.jobs.groups`
    scratch/KEY/                    checkpoints of a job that is not finished

What is read back is not believed: a file that is damaged, edited, or of another job counts as absent, with a note.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from ecsuite.corpus import Corpus
from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.format_numbers import with_format, without_format
from ecsuite.jobs.job import Job, JobFunction, Outcome, Result, SentJob, hash_of
from ecsuite.jobs.wire import corpus_digest, corpus_to_bytes, from_wire, read_corpus_file, to_wire
from ecsuite.runtime.errors import DamagedError, FormatError, shown
from ecsuite.runtime.memory import require_memory

UNREADABLE = (OSError, ValueError, KeyError, TypeError, RecursionError)
"""What reading a damaged file may raise."""


class Store:
    """Results in a folder, made when something is kept; `note` is told of damaged files, once of each."""

    def __init__(self, folder: Path, note: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self._note, self._noted = note, set[str]()

    def note(self, text: str) -> None:
        """Say something once."""
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)

    def read(self, job: Job | SentJob, *, needs_arrays: bool = False) -> Result | None:
        """The kept result of a job, with verified arrays if needed; None if there is none that can be trusted.

        Raises:
            ConfigError: If its arrays need more memory than is allowed.
            FormatError: If it is a result of a newer version of ecsuite.
        """
        file = self.file(job)
        if not file.is_file():
            return None
        try:
            entry = without_format("kept result", json.loads(file.read_bytes()), file)
            if entry.pop("checksum") != hash_of(entry):
                raise ValueError("its checksum is another")
            if entry["key"] != job.key:
                raise ValueError("it is the result of another job")
        except FormatError:
            raise  # a newer version can read it, so it is not replaced
        except UNREADABLE as error:
            self.note(f"{file}: not a valid result ({shown(str(error))}), computed again")
            return None
        arrays = None
        if needs_arrays and entry["arrays"] is not None:
            arrays = file.with_suffix(".safetensors")
            if not arrays.is_file():
                return None
            require_memory(arrays.stat().st_size, arrays)
            with arrays.open("rb") as opened:
                if hashlib.file_digest(opened, "sha256").hexdigest() != entry["arrays"]:
                    self.note(f"{arrays}: damaged, computed again")
                    return None
        return Result(value=entry["value"], arrays=arrays, seconds=entry["seconds"], failure=entry["failure"])

    def write(self, job: Job | SentJob, value: Any, *, seconds: float, failure: str | None = None) -> None:
        """Keep what the function of a job returned: JSON values, or an `Outcome`.

        Args:
            job: The job.
            value: The value; None if it failed.
            seconds: Time that the computation took.
            failure: Why it failed, if it would fail in the same way again.
        """
        file = self.file(job)
        file.parent.mkdir(parents=True, exist_ok=True)
        sha256 = None
        if isinstance(value, Outcome):
            sha256 = hashlib.sha256(value.arrays).hexdigest()
            write_atomically(file.with_suffix(".safetensors"), value.arrays)
            value = value.value
        # As read again, so that a checksum of lists and tuples is the same.
        value = json.loads(json.dumps(value, allow_nan=False))
        entry = {
            "key": job.key,
            "value": value,
            "arrays": sha256,
            "failure": failure,
            "seconds": round(seconds, 3),
        }
        entry["checksum"] = hash_of(entry)
        write_atomically(file, (json.dumps(with_format("kept result", entry), indent=1) + "\n").encode())
        shutil.rmtree(self.scratch(job), ignore_errors=True)

    def remove_leftovers(self, jobs: Iterable[Job], at_work: Collection[str]) -> None:
        """Remove what a process left that was killed after it kept a result.

        Args:
            jobs: Whose results are kept.
            at_work: Digests of jobs that somebody computes all the same.
        """
        with suppress(FileNotFoundError):
            left = set(os.listdir(self.folder / "scratch")).difference(at_work)
            for job in jobs if left else ():
                if job.digest in left:
                    shutil.rmtree(self.scratch(job), ignore_errors=True)

    def remove_if_empty(self, made: Iterable[Path]) -> None:
        """Remove folders that were made for work that was refused before anything was kept.

        Args:
            made: The folder of the store, and those above it that were made with it, the innermost first.
        """
        groups = self.folder / "groups"
        with suppress(OSError):  # they are in use, or something is in them
            if os.listdir(self.folder) == [groups.name] and os.listdir(groups) in ([], ["lock"]):
                (groups / "lock").unlink(missing_ok=True)
                groups.rmdir()
            for folder in made:
                folder.rmdir()

    def file(self, job: Job | SentJob) -> Path:
        """The file of a result."""
        return self.folder / "results" / f"{job.name}.json"

    def scratch(self, job: Job | SentJob) -> Path:
        """The scratch folder of a job; it need not exist."""
        return self.folder / "scratch" / job.digest

    def send(self, job: Job) -> SentJob:
        """A job as JSON values; its corpora are written to files of the store."""

        def encode(value: Any) -> Any:
            if isinstance(value, Job):
                return {"$result": value.name}
            if isinstance(value, Corpus):
                digest = corpus_digest(value)
                file = self._corpus_file(digest)
                if not file.is_file():
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_atomically(file, corpus_to_bytes(value))
                return {"$corpus": digest}
            return value

        return SentJob(
            function=job.function.path,
            key=job.key,
            digest=job.digest,
            name=job.name,
            inputs=to_wire(job.inputs, encode),
        )

    def receive(self, job: SentJob, function: JobFunction) -> dict[str, Any]:
        """The inputs of a job that was sent, with the results of other jobs in their place.

        Raises:
            ConfigError: If a corpus needs more memory than is allowed.
            DamagedError: If a corpus was damaged since it was sent.
        """

        def decode(kind: str, name: str) -> Result | Corpus:
            if os.path.basename(name) != name:
                raise DamagedError(f"{name:.100}: not the name of a file of the store")
            if kind == "result":
                return self._verified_before(name)
            file = self._corpus_file(name)
            if file.is_file():
                require_memory(file.stat().st_size, file)
            with suppress(SafetensorError, *UNREADABLE):
                corpus = read_corpus_file(file)
                if corpus_digest(corpus) == name:
                    return corpus
            file.unlink(missing_ok=True)
            raise DamagedError(f"{file}: damaged; it is written again when the command is run again")

        return from_wire(job.inputs, function.function, decode)

    def _verified_before(self, name: str) -> Result:
        """A result that was verified when the job that reads it was started."""
        file = self.folder / "results" / f"{name}.json"
        entry = json.loads(file.read_bytes())
        arrays = None if entry["arrays"] is None else file.with_suffix(".safetensors")
        return Result(value=entry["value"], arrays=arrays, seconds=entry["seconds"])

    def _corpus_file(self, digest: str) -> Path:
        return self.folder / "inputs" / f"{digest[:24]}.safetensors"
