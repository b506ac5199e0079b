"""What a graph of jobs has and what it lacks, and how long that is likely to take."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ecsuite.jobs.job import Job, Result
from ecsuite.jobs.store import Store
from ecsuite.runtime.time_left import duration_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What a graph has and what it lacks."""

    kept: Mapping[Job, Result]
    """Jobs whose results are kept and needed."""
    missing: tuple[Job, ...]
    """Jobs to compute; each is after those whose results it reads."""


def make_plan(
    jobs: Iterable[Job], store: Store, *, needs_arrays: bool = False, retries: bool = False
) -> Plan:
    """Find which jobs must be computed for the results of `jobs`, and their arrays if needed.

    A job whose result is kept needs none of its inputs. With `retries`, jobs that failed are missing.
    """
    kept: dict[Job, Result] = {}
    missing: dict[Job, None] = {}
    has_arrays: set[Job] = set()

    def visit(job: Job, *, needs_arrays: bool) -> None:
        if job in missing or (job in kept and (job in has_arrays or not needs_arrays)):
            return
        result = store.read(job, needs_arrays=needs_arrays)
        if result is not None and not (retries and result.failure is not None):
            kept[job] = result
            if needs_arrays:
                has_arrays.add(job)
            return
        kept.pop(job, None)
        for each in job.after:
            visit(each, needs_arrays=True)
        missing[job] = None

    for job in jobs:
        visit(job, needs_arrays=needs_arrays)
    return Plan(kept=kept, missing=tuple(missing))


def expected_seconds(plan: Plan) -> float | None:
    """Time that the missing jobs take one after the other, by the kept ones of the same functions; None without any."""
    work: defaultdict[str, float] = defaultdict(float)
    seconds: defaultdict[str, float] = defaultdict(float)
    for job, result in plan.kept.items():
        work[job.function.path] += job.work
        seconds[job.function.path] += result.seconds
    if not all(work[job.function.path] for job in plan.missing):
        return None
    return sum(job.work * seconds[job.function.path] / work[job.function.path] for job in plan.missing)


def time_left(plan: Plan, num_processes: int) -> str:
    """How long the missing jobs are likely to take, for a note; empty if it is not known."""
    expected = expected_seconds(plan)
    return "" if expected is None else f", about {duration_text(expected / num_processes)}"
