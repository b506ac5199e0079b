"""Stored results: a job that was computed once is read again, by this process and by others.

A store is a folder:

    results/NAME-KEY.json           the key, the value, and a checksum of both
    results/NAME-KEY.safetensors    arrays, if the result has any; their checksum is in the JSON
    inputs/                         corpora, by their hash
    groups/                         jobs that are being computed, see `ecsuite.jobs.groups`
    scratch/KEY/                    checkpoints of a job that is not finished

Files are verified when they are read: a file that is damaged, edited, or of another job counts as absent, with a note.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ecsuite.corpus import Corpus
from ecsuite.files.atomic_files import write_atomically
from ecsuite.files.format_numbers import with_format, without_format
from ecsuite.jobs.job import Job, JobFunction, Outcome, Result, SentJob, corpus_digest, hash_of
from ecsuite.runtime.errors import DamagedError, FormatError, shown
from ecsuite.runtime.memory import require_memory
from ecsuite.runtime.ragged import Ragged

UNREADABLE = (OSError, ValueError, KeyError, TypeError, RecursionError)
"""Errors of reading a damaged file."""


class Store:
    """Results in a folder, made when the first is stored; `note` receives a message about each damaged file."""

    def __init__(self, folder: Path, note: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self._note, self._noted = note, set[str]()

    def note(self, text: str) -> None:
        """Send a message, unless it was sent before."""
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)

    def read(self, job: Job | SentJob, *, needs_arrays: bool = False) -> Result | None:
        """The stored result of a job, with verified arrays if needed; None without a valid one.

        Raises:
            ConfigError: If the arrays need more memory than is allowed.
            FormatError: If it is a result of a newer version of ecsuite.
        """
        file = self.file(job)
        if not file.is_file():
            return None
        try:
            entry = without_format("kept result", json.loads(file.read_bytes()), file)
            if entry.pop("checksum") != hash_of(entry):
                raise ValueError("its checksum differs")
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
        """Store the return value of a job's function: JSON values, or an `Outcome`.

        Args:
            job: The job.
            value: The value; None if it failed.
            seconds: Computing time.
            failure: Reason of a failure that would recur.
        """
        file = self.file(job)
        file.parent.mkdir(parents=True, exist_ok=True)
        sha256 = None
        if isinstance(value, Outcome):
            sha256 = hashlib.sha256(value.arrays).hexdigest()
            write_atomically(file.with_suffix(".safetensors"), value.arrays)
            value = value.value
        # Converted to JSON and back, so that lists and tuples have the same checksum.
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
        """Remove scratch folders of processes that were killed after they stored a result.

        Args:
            jobs: Jobs whose results are stored.
            at_work: Digests of jobs that some process computes nevertheless.
        """
        with suppress(FileNotFoundError):
            left = set(os.listdir(self.folder / "scratch")).difference(at_work)
            for job in jobs if left else ():
                if job.digest in left:
                    shutil.rmtree(self.scratch(job), ignore_errors=True)

    def remove_if_empty(self, made: Iterable[Path]) -> None:
        """Remove folders that were made for a computation that was rejected before the first result.

        Args:
            made: The folder of the store, and its parents that were made with it, the innermost first.
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
        """Encode a job as JSON values; its corpora are written to files of the store."""

        def encode(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return [encode(each) for each in value]
            if isinstance(value, Mapping):
                return {str(name): encode(each) for name, each in value.items()}
            if isinstance(value, Job):
                return {"$result": value.name}
            if isinstance(value, Corpus):
                digest = corpus_digest(value)
                file = self._corpus_file(digest)
                if not file.is_file():
                    # Jobs read the messages of a corpus and the names of its symbols: only these are sent.
                    arrays: dict[str, NDArray[Any]] = {
                        "offsets": np.ascontiguousarray(value.messages.offsets, dtype=np.int64),
                        "values": np.ascontiguousarray(value.messages.values, dtype=np.int32),
                    }
                    file.parent.mkdir(parents=True, exist_ok=True)
                    write_atomically(file, save(arrays, {"symbol_names": json.dumps(value.symbol_names)}))
                return {"$corpus": digest}
            return value

        inputs: dict[str, Any] = msgspec.to_builtins(encode(job.inputs), enc_hook=_as_text)
        return SentJob(
            function=job.function.path, key=job.key, digest=job.digest, name=job.name, inputs=inputs
        )

    def receive(self, job: SentJob, function: JobFunction) -> dict[str, Any]:
        """Decode the inputs of a job by the annotations of its function, with the results of jobs that it reads.

        Raises:
            ConfigError: If a corpus needs more memory than is allowed.
            DamagedError: If a corpus was damaged since it was sent.
        """
        hints = get_type_hints(function.function, include_extras=True)

        def decode(value: Any) -> Any:
            if isinstance(value, list):
                return [decode(each) for each in value]
            if not isinstance(value, Mapping):
                return value
            if len(value) == 1 and (kind := next(iter(value))).startswith("$"):
                return self._sent_file(kind, value[kind])
            return {name: decode(each) for name, each in value.items()}

        inputs = {}
        for name, value in job.inputs.items():
            decoded = decode(value)
            inputs[name] = (
                decoded if decoded != value else msgspec.convert(value, hints[name], dec_hook=_from_text)
            )
        return inputs

    def _sent_file(self, kind: str, name: str) -> Result | Corpus:
        """Read a result or a corpus of the store that a job reads."""
        if os.path.basename(name) != name:
            raise DamagedError(f"{name:.100}: not the name of a file of the store")
        if kind == "$result":  # verified when the job was started
            file = self.folder / "results" / f"{name}.json"
            entry = json.loads(file.read_bytes())
            arrays = None if entry["arrays"] is None else file.with_suffix(".safetensors")
            return Result(value=entry["value"], arrays=arrays, seconds=entry["seconds"])
        file = self._corpus_file(name)
        if file.is_file():
            require_memory(file.stat().st_size, file)
        with suppress(SafetensorError, *UNREADABLE):
            with safe_open(file, framework="np") as opened:
                names = json.loads(opened.metadata()["symbol_names"])
                messages = Ragged(opened.get_tensor("values"), opened.get_tensor("offsets"))
            corpus = Corpus(messages=messages, symbol_names=None if names is None else tuple(names))
            if corpus_digest(corpus) == name:
                return corpus
        file.unlink(missing_ok=True)
        raise DamagedError(f"{file}: damaged; it is written again when the command is run again")

    def _corpus_file(self, digest: str) -> Path:
        return self.folder / "inputs" / f"{digest[:24]}.safetensors"


def _as_text(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to a job")


def _from_text(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise TypeError(f"{kind.__name__} cannot be read from JSON")
