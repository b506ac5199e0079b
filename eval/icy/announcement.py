"""What is said before a study runs: how many runs there are, how long they are likely to take, and which may fail."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import torch

from ecsuite.eval.icy.acquisition import TrainingRun, learn
from ecsuite.eval.icy.grouping import group_runs, is_expected_to_fail
from ecsuite.eval.icy.jobs import learn_grammar, plan
from ecsuite.eval.icy.resolved import BASIS, MOST_STEPS, Study
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Stopped
from ecsuite.runtime.printable import counted
from ecsuite.runtime.time_left import duration_text

MOST_TIMED = 3
"""Models whose updates are timed; further ones are taken to be as fast as the mean of these."""


def announce(study: Study, runner: Runner) -> list[str]:
    """Lines for the user before the first job.

    The time is estimated from the updates that each model makes here in a second, and from how many updates a grammar
    usually takes.
    """
    jobs = list(dict.fromkeys(plan(study).values()))
    missing = runner.plan(jobs).missing
    runs = len({*jobs, *(each for job in jobs for each in job.after)})
    if study.config.protocol == "metrics":
        return []
    grammars = len(study.grammars) + (BASIS not in study.grammars)
    factors = [
        (len(study.channels), "channel"),
        (len(study.models), "model" if study.config.protocol != "end-to-end" else "pair"),
        (grammars, "grammar"),
        (len(study.seeds), "seed"),
    ]
    shown = [counted(count, noun) for count, noun in factors if count > 1 or noun != "channel"]
    lines = [f"{' x '.join(shown)}: {runs} runs, {_what_is_left(study, missing, runner)}"]
    failing = sorted(
        {grammar.upper() for grammar, job in _grammars(missing) if is_expected_to_fail(**job.inputs)}
    )
    if failing:
        lines.append(
            f"{', '.join(failing)}: expected not to be learnt; such a run ends at {study.cap:g} times the updates of "
            "CONCAT (--cap, --early-stop)"
        )
    return lines


def _what_is_left(study: Study, missing: Sequence[Job], runner: Runner) -> str:
    if not missing:
        return f"all kept in {runner.folder}"
    is_new = len(missing) == len({*plan(study).values()})
    left = "all to train" if is_new else f"{len(missing)} to train"
    if any(job.function is not learn_grammar for job in missing):
        return left
    seconds = expected_seconds(study, missing, runner.num_workers)
    processes = f"{runner.num_workers} processes" if runner.num_workers > 1 else "1 process"
    folder = runner.folder.resolve() if is_new and runner.folder else runner.folder
    return f"{left}, about {duration_text(seconds)} with {processes}; each is kept in {folder} as it ends"


def expected_seconds(study: Study, missing: Sequence[Job], num_workers: int) -> float:
    """Estimated time for runs: no less than the longest one after its run on CONCAT takes.

    On CUDA a group takes as long as its longest run: an update of many takes hardly longer than one of one.
    """
    models = list(dict.fromkeys(job.inputs["model"] for job in missing))
    timed = {model: seconds_of_update(study, model) for model in models[:MOST_TIMED]}
    mean = sum(timed.values()) / len(timed)
    times = {job: job.work * timed.get(job.inputs["model"], mean) for job in missing}
    bases = [time for job, time in times.items() if not job.after]
    others = [time for job, time in times.items() if job.after]
    groups = group_runs(missing, num_workers) if study.device == "cuda" else [[job] for job in missing]
    total = sum(max(times[job] for job in group) for group in groups)
    return max(total / num_workers, max(bases, default=0.0) + max(others, default=0.0))


def seconds_of_update(study: Study, model: str) -> float:
    """Time of an update of a model on CONCAT, measured for about a second."""
    protocol = replace(study.training, target=None, early_stop=False)
    run = TrainingRun(grammar=BASIS, seed=study.seeds[0], cap=MOST_STEPS)
    reports: list[tuple[float, int]] = []

    def report_progress(index: int, updates: int, accuracy: float) -> None:
        reports.append((time.perf_counter(), updates))
        if len(reports) > 1:
            raise Stopped

    channel, device = str(study.channels[0]), torch.device(study.device)
    with suppress(Stopped):
        for _ in learn(
            model,
            study.role,
            study.geometry,
            [run],
            protocol,
            channel=channel,
            device=device,
            report_progress=report_progress,
        ):
            pass
    if len(reports) < 2:  # it came to its end before
        return 0.0
    (first, before), (last, after) = reports
    return (last - first) / max(1, after - before)


def _grammars(jobs: Sequence[Job]) -> list[tuple[str, Job]]:
    return [(job.inputs["grammar"], job) for job in jobs if job.function is learn_grammar]
