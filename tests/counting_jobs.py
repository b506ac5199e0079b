"""Job functions of the tests; they write a line to a file each time that they compute something."""

import os
import resource
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save

from ecsuite.corpus import Corpus
from ecsuite.jobs.job import Location, Outcome, Resources, Result, Stopped, job_function
from ecsuite.runtime.errors import ConfigError, DivergedError

LOG = "ECSUITE_TEST_LOG"


def log(text):
    with open(os.environ[LOG], "a") as file:
        file.write(f"{text}\n")


@job_function(version=1, work=lambda number, **_: number, label=lambda number, **_: f"square of {number}")
def square(*, number: int, context) -> dict:
    log(f"square {number}")
    context.report_progress("half", 0.5)
    return {"square": number**2, "pair": (number, None)}


@job_function(version=1)
def total(*, parts: list[Result], context) -> int:
    log("total")
    return sum(part.value["square"] for part in parts)


@job_function(version=1)
def fill(*, size: int, context) -> Outcome:
    log(f"fill {size}")
    return Outcome(value={"size": size}, arrays=save({"ones": np.ones(size)}))


@job_function(version=1)
def add_up(*, source: Result, times: int, context) -> float:
    log(f"add up {times}")
    return float(load_file(source.arrays)["ones"].sum()) * times


@job_function(version=1)
def count_symbols(*, corpus: Corpus, context) -> int:
    log("count")
    return len(corpus.messages.values)


@job_function(version=1)
def misbehave(*, how: str, mark: Location | None = None, context) -> str:
    log(f"misbehave {how}")
    if mark is not None and mark.path.exists():
        return "done"
    if mark is not None:
        mark.path.write_text("")
    if how in ("die", "stop"):
        os.kill(os.getpid(), signal.SIGKILL if how == "die" else signal.SIGSTOP)
    if how == "hang":
        threading.Event().wait()
    errors = {
        "diverge": DivergedError("the loss is nan at step 3"), "garble": RuntimeError("a half \udcff of é"),
        "refuse": ConfigError("data.txt: expected text, found none"),
    }  # fmt: skip
    if how == "wait":
        while not context.should_stop():
            time.sleep(0.01)
        context.scratch.mkdir(parents=True, exist_ok=True)
        (context.scratch / "checkpoint").write_text("half")
        raise Stopped
    raise errors.get(how, OSError("no space left"))


@job_function(version=1, work=lambda number, **_: number)
def cube(*, number: int, base: Result | None = None, context) -> int:
    return next(value for _, value in cubes([{"number": number}], context))


@cube.run_many(lambda jobs, *_: [jobs[start : start + 3] for start in range(0, len(jobs), 3)])
def cubes(inputs, context):
    log(f"cubes {' '.join(str(each['number']) for each in inputs)}")
    for index in reversed(range(len(inputs))):
        number = inputs[index]["number"]
        if number == 13:
            raise DivergedError("13 is unlucky")
        yield index, number**3


@dataclass(frozen=True, kw_only=True)
class Named:
    """An input whose key is not all of it."""

    name: str
    path: str

    def job_key(self) -> str:
        return self.name


@job_function(version=1)
def named_length(*, named: Named, context) -> int:
    log(f"named {named.name}")
    return len(named.name)


@job_function(version=1, resources=lambda **_: Resources(num_gpus=1, num_threads=2))
def seen_gpu(*, number: int, together: int, context) -> str:
    log(f"gpu {number}")
    while Path(os.environ[LOG]).read_text().count("gpu") < together:
        time.sleep(0.01)
    return os.environ["CUDA_VISIBLE_DEVICES"]


@job_function(version=1)
def run_beside(*, number: int, context) -> int:
    log(f"run beside {number}")
    time.sleep(0.3)
    return number


@job_function(version=1)
def allocate(*, gigabytes: int, context) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, resource.RLIM_INFINITY))
    try:
        return len(bytearray(gigabytes * 2**30))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@job_function(version=1)
def write(*, file: Location, number: int, context) -> int:
    with file.path.open("w") as opened:
        opened.write("x")
    return number
