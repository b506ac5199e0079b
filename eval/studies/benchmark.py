"""What every benchmark is: a study is asked, jobs answer it, and their results are collected, recorded and reported."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.console import Report
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result

Study = TypeVar("Study")
Finding = TypeVar("Finding")


class Benchmark(ABC, Generic[Study, Finding]):
    """One benchmark: `plan` says which jobs a study needs, `collect` what their results mean.

    A study is made by the function of the benchmark's `study.py` that checks what is asked; nothing has run then.
    """

    @property
    def store(self) -> Path | None:
        """The folder of kept results; None: the one that the user names."""
        return None

    @abstractmethod
    def plan(self, study: Study) -> Sequence[Job]:
        """The jobs whose results a study wants; runs nothing."""

    @abstractmethod
    def collect(self, study: Study, results: Mapping[Job, Result]) -> Finding:
        """What came out, from the results of the jobs of `plan`.

        Raises:
            DivergedError: If all jobs failed.
        """

    @abstractmethod
    def record(self, study: Study, finding: Finding) -> list[Source]:
        """What came out as sources with records: one for each run, with a record for each value."""

    @abstractmethod
    def report(self, study: Study, finding: Finding) -> Report:
        """Tables, notes, JSON and the figure."""

    def require_figure(self, study: Study) -> None:
        """Refuse a figure, before anything is computed, where there is none; `ConfigError`."""
        return

    def device(self, study: Study) -> str:
        """Type of the device on which the jobs compute: cpu, cuda or mps."""
        return "cpu"

    def notes_on_plan(self, study: Study) -> list[str]:
        """Lines below a plan."""
        return []

    def seconds_of(self, study: Study, jobs: Sequence[Job]) -> float | None:
        """Time that jobs of a study take here one after the other, measured; None: it is not measured."""
        return None

    def announce(self, study: Study, runner: Runner) -> list[str] | None:
        """Lines for the user before the first job; None: the usual ones, with the number of jobs and their time."""
        return None

    def needs_arrays(self, study: Study) -> bool:
        """Whether `collect` reads arrays of results; the runner must then have a folder."""
        return False

    def measure(self, study: Study, runner: Runner) -> Finding:
        """Run a study: `collect` of the results of its jobs.

        Raises:
            DivergedError: If all jobs failed.
        """
        results = runner.run(self.plan(study), needs_arrays=self.needs_arrays(study))
        return self.collect(study, results)
