"""How far a sweep is, in a few lines: runs done, running and failed, their accuracy, and what runs now."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Self

from ecsuite.eval.sweeps.jobs import PlannedRun
from ecsuite.eval.sweeps.pruning import PRUNED
from ecsuite.jobs.job import Job, Result
from ecsuite.tables.cells import value_text

MOST_RUNNING = 6
"""Most lines about runs that are trained or scored now."""
MOST_ENDED = 4
"""Most lines about runs that ended; the latest are shown."""
WIDEST = 40
"""Most characters of the settings of a run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FollowedRun:
    """A run as far as it is shown."""

    name: str
    """Its settings and its seed."""
    training: Job
    """Trains it."""
    scores: tuple[Job, ...]
    """Score it."""

    @classmethod
    def of(cls, run: PlannedRun, training: Job | None = None) -> Self:
        """A run that is planned; trained by another job if one is given."""
        varied = run.variant.settings.items()
        settings = (
            ", ".join(f"{key.rpartition('.')[2]}={value_text(value)}" for key, value in varied)
            or run.variant.name
        )
        settings = settings if len(settings) <= WIDEST else f"{settings[: WIDEST - 1]}…"
        return cls(
            name=f"{settings}, seed {run.seed}",
            training=training or run.training,
            scores=tuple(run.scores.values()),
        )

    @property
    def jobs(self) -> tuple[Job, ...]:
        """All its jobs."""
        return (self.training, *self.scores)

    def failure(self, results: Mapping[Job, Result]) -> str | None:
        """Why it failed; None if it did not, or not yet."""
        found = (results[job].failure for job in self.jobs if job in results)
        return next((reason for reason in found if reason is not None), None)

    def accuracy(self, results: Mapping[Job, Result]) -> float | None:
        """The accuracy at the end of the training; None if there is none, or not yet."""
        found = results.get(self.training)
        measures: Mapping[str, float] = (
            {} if found is None or found.value is None else found.value["measures"]
        )
        return measures.get("accuracy")

    def how_it_ended(self, results: Mapping[Job, Result]) -> str | None:
        """A few words; None if it has not ended."""
        if (reason := self.failure(results)) is not None:
            return f"failed: {reason}"
        is_pruned = self.training in results and results[self.training].value["stopped"] == PRUNED
        if not is_pruned and any(job not in results for job in self.jobs):
            return None
        accuracy = self.accuracy(results)
        return ("pruned" if is_pruned else "done") + (
            "" if accuracy is None else f", accuracy {accuracy:.1%}"
        )


class Standing:
    """Describes the runs of a sweep while they are computed; see `Runner.describe`.

    Args:
        runs: Gives the runs that are known by now.
    """

    def __init__(self, runs: Callable[[], Sequence[FollowedRun]]) -> None:
        self.runs = runs
        self.ended: dict[FollowedRun, str] = {}  # in the order in which they were seen

    def text(self, results: Mapping[Job, Result], latest: Mapping[Job, str]) -> str:
        """One line with the counts, then a line for each of some runs.

        Args:
            results: Of jobs that are done, or failed.
            latest: What each running job says.
        """
        runs = self.runs()
        for run in runs:
            if run not in self.ended and (how := run.how_it_ended(results)) is not None:
                self.ended[run] = how
        num_failed = sum(how.startswith("failed") for how in self.ended.values())
        now = [(run, latest[job]) for run in runs for job in run.jobs if job in latest]
        accuracies = [value for run in self.ended if (value := run.accuracy(results)) is not None]
        counts = [f"{len(self.ended) - num_failed} of {len(runs)} runs done", f"{len(now)} running"]
        counts += [f"{num_failed} failed"] if num_failed else []
        counts += [f"mean accuracy {fmean(accuracies):.1%}"] if accuracies else []
        lines = [", ".join(counts)]
        lines += [f"  {run.name}: {said.rpartition(': ')[2]}" for run, said in now[:MOST_RUNNING]]
        lines += [f"  and {len(now) - MOST_RUNNING} more that run"] if len(now) > MOST_RUNNING else []
        lines += [f"  {run.name}: {how}" for run, how in list(self.ended.items())[: -MOST_ENDED - 1 : -1]]
        return "\n".join(lines)
