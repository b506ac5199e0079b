"""The plan of a study for a command: which jobs are kept, which would run, and how long they are likely to take."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.eval.views.console import print_json
from ecsuite.tables.cells import nothing, percent
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Table, name_column, number_column, row_of

if TYPE_CHECKING:
    from ecsuite.jobs.job import Job


def print_plan(
    jobs: "Iterable[Job]",
    *,
    cache: Path,
    as_json: bool,
    form: Form = Form.TEXT,
    num_places: int = 1,
    notes: Iterable[str] = (),
    measure: "Callable[[Sequence[Job]], float | None] | None" = None,
) -> None:
    """Print which of the jobs whose results a study wants are kept in the cache, and which would run.

    Args:
        jobs: The jobs.
        cache: Folder of kept results.
        as_json: Whether JSON is printed, without notes.
        form: How the table is printed.
        num_places: Jobs that are computed at the same time, for the estimate of time.
        notes: Lines after the plan.
        measure: Measures how many seconds missing jobs take one after the other, where no kept ones tell it.
            None: it is not measured.
    """
    from ecsuite.jobs.graph import Runner
    from ecsuite.jobs.plan import expected_seconds
    from ecsuite.runtime.time_left import duration_text

    plan = Runner(folder=cache).plan(jobs)
    total = sum(job.work for job in plan.missing) or 1.0
    rows = [(job, True) for job in plan.kept] + [(job, False) for job in plan.missing]
    seconds, source = expected_seconds(plan) if plan.missing else 0.0, "kept jobs"
    if seconds is None and measure is not None:
        seconds, source = measure(plan.missing), "measurement"
    expected = None if seconds is None else {"seconds": seconds / num_places, "by": source}
    if as_json:
        print_json(
            {
                "expected": expected,
                "jobs": [
                    {
                        "name": job.label,
                        "key": job.digest,
                        "is_kept": is_kept,
                        "work": 0.0 if is_kept else job.work / total,
                        "after": [each.digest for each in job.after],
                        "num_threads": job.resources.num_threads,
                        "memory_gib": job.resources.memory,
                        "num_gpus": job.resources.num_gpus,
                    }
                    for job, is_kept in rows
                ],
            }
        )
        return
    number = "1 job" if len(rows) == 1 else f"{len(rows)} jobs"
    lines = [f"{number}: {len(plan.kept)} found in {cache}, {len(plan.missing)} to compute"]
    if plan.missing and seconds is not None:
        places = "1 place" if num_places == 1 else f"{num_places} places"
        by = "the time of the kept jobs" if source == "kept jobs" else "a short measurement of training"
        lines.append(f"about {duration_text(seconds / num_places)} with {places}, by {by}")
    elif plan.missing:
        lines.append("no estimate of the time: no jobs of the same kinds are kept")
    shares = [nothing("kept") if is_kept else percent(job.work / total, 0) for job, is_kept in rows]
    table = Table(
        columns=(name_column("job"), number_column("share_of_the_work")),
        rows=[row_of(job.label, share) for (job, _), share in zip(rows, shares, strict=True)],
    )
    publish([table], form, [*lines, *notes])
