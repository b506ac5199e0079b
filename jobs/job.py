"""Jobs: a pure function and its inputs. The key is a hash of both, and nothing else changes the result.

    @job_function(version=1)
    def count(*, corpus: Corpus, symbol: int, context: Context) -> int:
        return int((corpus.messages.values == symbol).sum())

    Job(count, corpus=corpus, symbol=3)

An input may be another job, also inside a list or a mapping: the function then gets its `Result`. Inputs are numbers,
texts, lists, mappings, dataclasses of these, corpora, and objects with a method `job_key`, which returns the values
that can change a result (a file by its content, never by its path). Other processes get them as JSON and decode them
by the annotations of the function.
"""

import hashlib
import importlib
import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.corpus import Corpus
from ecsuite.runtime.errors import ConfigError, DivergedError

LABEL_LENGTH = 60
"""Maximum length of a job's name in progress lines."""


class Stopped(Exception):
    """A job ended on request; its scratch folder has the checkpoint from which it resumes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """Context of a running job besides its inputs; it cannot change the result."""

    scratch: Path
    """A folder of this job alone, for checkpoints; the job makes it. It is removed when the result is stored."""
    report_progress: Callable[[str, float], None] = lambda label, share: None
    """Called from time to time with the current activity and the completed share, 0 to 1."""
    should_stop: Callable[[], bool] = lambda: False
    """Whether the job is asked to stop: it writes a checkpoint and raises `Stopped`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Location:
    """A path as input, which is not in the key; the content must be identified by another input."""

    path: Path
    """A file or folder."""

    def job_key(self) -> None:
        """None: the path does not change the result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """Return value of a function whose result has a JSON value and arrays."""

    value: Any
    """The value, as JSON values."""
    arrays: bytes
    """The content of a safetensors file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The result of a job, as stored."""

    value: Any
    """Return value of the function, as JSON values; None if the job failed."""
    arrays: Path | None = None
    """A verified safetensors file; None if the result has no arrays, or they were not requested."""
    seconds: float = 0.0
    """Computing time; shared by jobs that ran together. It is no part of the result."""
    failure: str | None = None
    """Reason of the failure; None if the job succeeded."""

    def checked(self) -> Any:
        """The value; `DivergedError` if the job failed."""
        if self.failure is not None:
            raise DivergedError(self.failure)
        return self.value


Grouping = Callable[["Sequence[Job]", int], "Sequence[Sequence[Job]]"]
"""Divide ready jobs of one function into groups, each for one worker; also takes the number of idle workers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resources:
    """Resources that a job needs; engines reserve them."""

    num_threads: int = 1
    """Number of threads."""
    memory: float = 2.0
    """Memory in GiB."""
    num_gpus: float = 0
    """GPUs; less than 1 if several jobs may share one."""


@dataclass(kw_only=True)
class JobFunction:
    """A function that jobs call; made by `job_function`."""

    function: Callable[..., Any]
    """Takes the inputs and `context` by keyword; returns JSON values, or an `Outcome`."""
    version: Any
    """Raised whenever the same inputs would give another result; JSON values."""
    work: Callable[..., float] = lambda **_: 1.0
    """Expected cost from the inputs, in any unit that is the same for all jobs of a study."""
    label: Callable[..., str] | None = None
    """Makes the displayed name from the inputs; None: the function's name."""
    resources: Callable[..., Resources] = lambda **_: Resources()
    """Resources of a job, from the inputs."""
    comes_first: bool = False
    """Whether its jobs are started before those of other functions."""
    many: Callable[[Sequence[Mapping[str, Any]], Context], Iterator[tuple[int, Any]]] | None = None
    """Computes several jobs at once: takes their inputs, yields the index and the result of each finished job."""
    grouping: Grouping | None = None
    """Divides jobs into groups that are computed together; None: each job alone."""

    @property
    def path(self) -> str:
        """Import path of the function, `module:name`."""
        return f"{self.function.__module__}:{self.function.__qualname__}"

    def run_many(self, grouping: Grouping) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Register the function that computes several jobs at once; their results must not depend on the group."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.many, self.grouping = function, grouping
            return function

        return register

    def __call__(self, **inputs: Any) -> Any:
        """Call the function itself."""
        return self.function(**inputs)


def job_function(*, version: Any, **options: Any) -> Callable[[Callable[..., Any]], JobFunction]:
    """Decorate a function that jobs can call; options, such as `work` and `label`, are fields of `JobFunction`."""
    return lambda function: JobFunction(function=function, version=version, **options)


MODULES = "ECSUITE_JOB_MODULES"
"""Environment variable with the modules outside ecsuite from which workers may import job functions."""


def name_modules(jobs: Iterable["Job"]) -> None:
    """Allow workers started from now on to import the functions of jobs; see `MODULES`."""
    names = {job.function.function.__module__ for job in jobs} | {*os.environ.get(MODULES, "").split()}
    os.environ[MODULES] = " ".join(sorted(name for name in names if not name.startswith("ecsuite.")))


def import_function(path: str) -> JobFunction:
    """Import the function of a `JobFunction.path`.

    Raises:
        ConfigError: If its module is outside ecsuite and neither imported before nor in `MODULES`, or if it is no job
            function.
    """
    module, _, name = path.partition(":")
    allowed = {*sys.modules, *os.environ.get(MODULES, "").split()}
    if not module.startswith("ecsuite.") and module not in allowed:
        raise ConfigError(f"{path:.100}: a job of a module outside ecsuite; expected its name in {MODULES}")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        found = None
    if not isinstance(found, JobFunction):
        raise ConfigError(
            f"{path:.100}: there is no such job function; is another version of ecsuite installed?"
        )
    return found


class Job:
    """A function and its inputs; jobs with equal keys are equal.

    Args:
        function: Made by `job_function`.
        inputs: Its arguments, without `context`.
    """

    def __init__(self, function: JobFunction, /, **inputs: Any) -> None:
        self.function, self.inputs = function, inputs

    @cached_property
    def key(self) -> dict[str, Any]:
        """Everything that can change the result, as JSON values."""
        inputs = {name: canonical(value) for name, value in sorted(self.inputs.items())}
        return {"function": self.function.path, "version": canonical(self.function.version), "inputs": inputs}

    @cached_property
    def digest(self) -> str:
        """A hash of the key: the name of the result."""
        return hash_of(self.key)[:24]

    @cached_property
    def after(self) -> tuple["Job", ...]:
        """The jobs among the inputs."""
        return tuple(dict.fromkeys(_jobs_in(list(self.inputs.values()))))

    @cached_property
    def work(self) -> float:
        """Expected cost."""
        return self.function.work(**self.inputs)

    @property
    def resources(self) -> Resources:
        """Resources that it needs."""
        return self.function.resources(**self.inputs)

    @property
    def name(self) -> str:
        """The name of the file of the result, without its suffix."""
        return f"{self.function.function.__name__}-{self.digest}"

    @property
    def label(self) -> str:
        """Displayed name."""
        label = self.function.label
        text = self.function.function.__name__.replace("_", " ") if label is None else label(**self.inputs)
        return text[:LABEL_LENGTH]

    def __hash__(self) -> int:
        """Hash of the key."""
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        """Whether the keys are equal."""
        return isinstance(other, Job) and self.digest == other.digest


@dataclass(frozen=True, kw_only=True, slots=True)
class SentJob:
    """A job as JSON values, for other processes and machines, with the key and names of the `Job`."""

    function: str
    """Import path of the function, `module:name`."""
    key: dict[str, Any]
    digest: str
    name: str
    inputs: dict[str, Any]
    """See `Store.send`."""

    @classmethod
    def read(cls, values: Any) -> "SentJob":
        """Read a job from the JSON values of a file; its names must follow from its key.

        Raises:
            ValueError, KeyError, TypeError: If the values are not a valid job.
        """
        job = cls(**values)
        name = f"{re.split('[:.]', job.function)[-1]}-{job.digest}"
        if job.key["function"] != job.function or hash_of(job.key)[:24] != job.digest or job.name != name:
            raise ValueError(f"{job.name:.60}: its key is that of another job")
        return job


def everything(jobs: Iterable[Job]) -> list[Job]:
    """Jobs and all their dependencies, each once, in topological order."""
    found: dict[Job, None] = {}
    for job in jobs:
        for each in (*everything(job.after), job):
            found[each] = None
    return list(found)


def canonical(value: Any) -> Any:
    """JSON values that identify an input; `TypeError` if it has none, such as a path."""
    if isinstance(value, float) and not math.isfinite(value):
        raise TypeError(f"an input of a job must be finite, got {value}")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Job):
        return {"job": value.digest}
    if isinstance(value, Corpus):
        return {"corpus": corpus_digest(value)}
    if hasattr(value, "job_key"):
        return canonical(value.job_key())
    if is_dataclass(value):
        return {field.name: canonical(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): canonical(each) for name, each in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [canonical(each) for each in value]
    raise TypeError(f"{type(value).__name__} cannot be an input of a job: it has no method `job_key`")


def corpus_digest(corpus: Corpus) -> str:
    """Hash of the messages and symbol names of a corpus."""
    content = hashlib.sha256(corpus.messages.offsets.astype(np.int64).tobytes())
    content.update(corpus.messages.values.astype(np.int32).tobytes())
    content.update(json.dumps(corpus.symbol_names).encode())
    return content.hexdigest()


def hash_of(value: Any) -> str:
    """SHA-256 of JSON values."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _jobs_in(value: Any) -> Iterator[Job]:
    if isinstance(value, Job):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _jobs_in(each)
