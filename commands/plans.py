"""The plan of a study for a command: which jobs have stored results, which would run, and the estimated time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ecsuite.eval.views.console import print_json
from ecsuite.tables.cells import Cell, count, nothing, percent, text
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

if TYPE_CHECKING:
    from ecsuite.jobs.graph import Plan
    from ecsuite.jobs.job import Job


def print_plan(
    jobs: "Iterable[Job]",
    *,
    cache: Path,
    as_json: bool,
    form: Form = Form.TEXT,
    num_places: int = 1,
    notes: Iterable[str] = (),
    groups: "Mapping[Job, tuple[str, int]] | None" = None,
    why_nothing: Callable[[], list[str]] = list,
    measure: "Callable[[Sequence[Job]], Mapping[Job, float] | None] | None" = None,
) -> None:
    """Print which jobs of a study have stored results, and which would run.

    Args:
        jobs: The jobs.
        cache: Folder of stored results.
        as_json: Whether to print JSON, without notes.
        form: Format of the table.
        num_places: Number of parallel jobs, for the estimate of time.
        notes: Lines after the plan.
        groups: Setting and seed of each job: one row per setting. None or empty: one row per job.
        why_nothing: Function that gives reasons why no job is stored.
        measure: Function that measures the seconds of missing jobs if no stored jobs give an estimate; None: no
            measurement.
    """
    from ecsuite.jobs.graph import Runner, expected_seconds
    from ecsuite.runtime.time_left import duration_text

    plan = Runner(folder=cache).plan(jobs)
    total = sum(job.work for job in plan.missing) or 1.0
    rows = [(job, True) for job in plan.kept] + [(job, False) for job in plan.missing]
    by_job: Mapping[Job, float] | None = expected_seconds(plan)
    source = "kept jobs"
    if by_job is None and measure is not None:
        by_job, source = measure(plan.missing), "measurement"
    seconds = None if by_job is None else sum(by_job.values())
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
    lines = [f"{number}: {len(plan.kept)} stored in {cache}, {len(plan.missing)} to compute"]
    if plan.missing and seconds is not None:
        places = "1 place" if num_places == 1 else f"{num_places} places"
        by = "the time of the stored jobs" if source == "kept jobs" else "a short measurement of training"
        lines.append(f"about {duration_text(seconds / num_places)} with {places}, by {by}")
    elif plan.missing:
        lines.append("no estimate of the time: no jobs of the same kinds are stored")
    if rows and not plan.kept and (reasons := why_nothing()):
        lines.append(f"0 of {len(rows)} stored: {'; '.join(reasons)}")
    if groups:
        publish([_settings_table(plan, groups, by_job)], form, [*lines, *notes])
        return
    shares = [nothing("kept") if is_kept else percent(job.work / total, 0) for job, is_kept in rows]
    table = Table(
        columns=(name_column("job"), number_column("share_of_the_work")),
        rows=[row_of(job.label, share) for (job, _), share in zip(rows, shares, strict=True)],
    )
    publish([table], form, [*lines, *notes])


def _settings_table(
    plan: "Plan", groups: "Mapping[Job, tuple[str, int]]", by_job: "Mapping[Job, float] | None"
) -> Table:
    """Table with one row per setting: seeds, jobs, stored jobs, and the time of missing jobs on one place."""
    from ecsuite.runtime.time_left import duration_text

    by_setting: dict[str, list[Job]] = {}
    for job in (*plan.kept, *plan.missing):
        if job in groups:
            by_setting.setdefault(groups[job][0], []).append(job)
    rows = []
    for setting in (
        name for name in dict.fromkeys(name for name, _ in groups.values()) if name in by_setting
    ):
        jobs = by_setting[setting]
        missing = [job for job in jobs if job not in plan.kept]
        expected = None if by_job is None else sum(by_job.get(job, 0.0) for job in missing)
        shown = (
            nothing() if expected is None else Cell(value=expected / 3600, lines=(duration_text(expected),))
        )
        seeds = sorted({groups[job][1] for job in jobs})
        cells = (text(seeds_text(seeds)), count(len(jobs)), count(len(jobs) - len(missing)))
        rows.append(row_of(setting, *cells, shown if missing else nothing()))
    columns = [
        name_column("setting"),
        Column("seeds"),
        number_column("jobs"),
        number_column("found", heading="stored"),
        number_column("hours", heading="time"),
    ]
    return Table(columns=columns, rows=rows)


def seeds_text(seeds: Sequence[int]) -> str:
    """Format ascending seeds, with ranges: `1-5, 8`."""
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
