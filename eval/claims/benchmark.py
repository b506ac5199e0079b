"""A claim as a benchmark: the jobs of its study, and the verdict on their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ecsuite.eval.claims.claim import Claim
from ecsuite.eval.claims.outcome import Outcome
from ecsuite.eval.claims.report import report_of
from ecsuite.eval.claims.studies import Asked
from ecsuite.eval.experiments.benchmark import Benchmark
from ecsuite.eval.reports.console import Report
from ecsuite.eval.results.sources import Source
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result
from ecsuite.runtime.devices import choose_device, hardware
from ecsuite.runtime.provenance import own_commit, processor


@dataclass(frozen=True, kw_only=True, slots=True)
class Reproduction(Benchmark[Claim, Outcome]):
    """A claim of published work that is run again."""

    asked: Asked
    """Its study."""
    is_small: bool = False
    """Whether it is a check of minutes."""

    @property
    def store(self) -> Path:
        """In the folder of the claim."""
        return self.asked.store

    def plan(self, study: Claim) -> Sequence[Job]:
        """The jobs of its study."""
        return self.asked.benchmark.plan(self.asked.study)

    def device(self, study: Claim) -> str:
        """Where the jobs of its study compute."""
        return self.asked.benchmark.device(self.asked.study)

    def notes_on_plan(self, study: Claim) -> list[str]:
        """The time that was measured beforehand, and whether this is a check of minutes."""
        measured = (
            [] if study.hours is None else [f"all runs of the claim: {study.hours:g} hours of one core"]
        )
        return [SMALL_NOTE] if self.is_small else measured

    def seconds_of(self, study: Claim, jobs: Sequence[Job]) -> float | None:
        """As its study measures it."""
        return self.asked.benchmark.seconds_of(self.asked.study, jobs)

    def announce(self, study: Claim, runner: Runner) -> list[str] | None:
        """The lines of its study; first that it is a check of minutes."""
        lines = self.asked.benchmark.announce(self.asked.study, runner)
        if self.is_small:
            runner.note(SMALL_NOTE)
        return lines

    def collect(self, study: Claim, results: Mapping[Job, Result]) -> Outcome:
        """The runs and the verdict."""
        return self._outcome(study, self.asked.benchmark.collect(self.asked.study, results), results)

    def measure(self, study: Claim, runner: Runner) -> Outcome:
        """Run its study, which also writes its own files.

        Raises:
            DivergedError: If no run ended.
        """
        finding = self.asked.benchmark.measure(self.asked.study, runner)
        return self._outcome(study, finding, runner.plan(self.plan(study)).kept)

    def _outcome(self, claim: Claim, finding: Any, results: Mapping[Job, Result]) -> Outcome:
        return Outcome(
            name=claim.name,
            digest=claim.digest,
            is_small=self.is_small,
            runs=tuple(self.asked.runs(finding, results)),
            hours=sum(result.seconds for result in results.values()) / 3600,
            commit=own_commit(),
            processor=_computer(self.device(claim)),
        )

    def record(self, study: Claim, finding: Outcome) -> list[Source]:
        """A source for each run, with its figures."""
        return finding.sources()

    def report(self, study: Claim, finding: Outcome) -> Report:
        """The verdict, what it rests on, and the runs by arm."""
        return report_of(study, finding)


def _computer(device: str) -> str:
    """What computed: the GPU of CUDA, or the processor."""
    if device == "cuda" and torch.cuda.is_available():
        return hardware(choose_device(device))
    return processor()


SMALL_NOTE = (
    "a check of minutes, which says nothing of the claim but that it runs: at most can't tell at this size"
)
"""What is said of `--small`."""
