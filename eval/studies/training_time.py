"""How long the training runs of a study are likely to take, from a few that are begun and given up."""

import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ecsuite.games.plays.rounds import is_asked
from ecsuite.games.training import cost
from ecsuite.games.training_jobs import Game, train_in_job
from ecsuite.jobs.job import Context, Job, Stopped

MOST_TIMED = 3
"""Runs that are begun; the others are taken to cost as much by example as their mean."""
SECONDS = 1.5
"""How long each is trained after its first step, which also imports and compiles."""


def measured_seconds(jobs: Sequence[Job]) -> float | None:
    """Time that training runs take one after the other on this machine; scores are not counted.

    Args:
        jobs: Those that are missing.

    Returns:
        Seconds; None if there is no training run that can be measured here.
    """
    trainings = [job for job in jobs if isinstance(job.inputs.get("game"), Game)]
    if not trainings or any(job.inputs["device"] != "cpu" for job in trainings):
        return None
    rates = [_seconds_of(job) / job.work for job in _some(trainings)]
    return sum(job.work for job in trainings) * sum(rates) / len(rates)


def calls_notes(jobs: Sequence[Job]) -> list[str]:
    """How often language models are asked in all of some training runs, in a line; none where nobody is.

    Args:
        jobs: The training runs; nobody is asked for it, and a few of them are counted.
    """
    games = [job for job in jobs if is_asked(job.inputs["game"].experiment)]
    if not games:
        return []
    some = _some(games)
    costs = [
        each
        for job in some
        for each in cost(job.inputs["game"].experiment, job.inputs["device"])["participants"].values()
    ]
    whole = sum(job.work for job in games) / sum(job.work for job in some)
    calls, prompts, answers, price = (
        whole * sum(each[name] for each in costs)
        for name in ("calls", "prompt_tokens", "answer_tokens", "cost")
    )
    paid = f"; {price:,.2f} by their prices" if price else ""
    return [f"about {calls:,.0f} calls, {prompts:,.0f} tokens of prompts and {answers:,.0f} of answers{paid}"]


def _some(jobs: Sequence[Job]) -> list[Job]:
    """A few, which stand for all."""
    return [jobs[place] for place in sorted({0, len(jobs) // 2, len(jobs) - 1})[:MOST_TIMED]]


def _seconds_of(job: Job) -> float:
    """Time of a whole run, from the share that is trained in `SECONDS`; nobody is asked for it."""
    game: Game = job.inputs["game"]
    if is_asked(game.experiment):
        participants = cost(game.experiment, job.inputs["device"])["participants"]
        return float(sum(3600 * each["hours"] for each in participants.values()))
    began = time.monotonic()
    reports: list[tuple[float, float]] = []

    def report_progress(label: str, share: float) -> None:
        reports.append((time.monotonic(), share))

    def should_stop() -> bool:
        return bool(reports) and time.monotonic() - reports[0][0] > SECONDS

    with tempfile.TemporaryDirectory() as folder:
        context = Context(
            scratch=Path(folder) / "scratch", report_progress=report_progress, should_stop=should_stop
        )
        with suppress(Stopped):
            train_in_job(game, Path(folder) / "run", job.inputs["device"], context)
            return time.monotonic() - began
    (first, before), (last, after) = reports[0], reports[-1]
    return (last - first) / (after - before) if after > before else last - first
