"""The interface of all benchmarks, the function that runs a study, and the record table of its results."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from ecsuite.eval.results.files import require_no_other
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.console import Report, Reporter
from ecsuite.files.atomic_files import remove_abandoned, write_atomically
from ecsuite.jobs.engines import Place
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result
from ecsuite.jobs.signals import stop_signals
from ecsuite.tables.cells import Cell
from ecsuite.tables.table import Column, Row, Table

Study = TypeVar("Study")
Finding = TypeVar("Finding")


class Benchmark(ABC, Generic[Study, Finding]):
    """A benchmark: `plan` returns the jobs of a study, `collect` interprets their results.

    A study is built by a function that validates the user's settings; no job has run then.
    """

    @property
    def store(self) -> Path | None:
        """The folder of stored results; None: the folder that the user names."""
        return None

    @abstractmethod
    def plan(self, study: Study) -> Sequence[Job]:
        """The jobs of a study; runs nothing."""

    @abstractmethod
    def collect(self, study: Study, results: Mapping[Job, Result]) -> Finding:
        """Make the finding from the results of the jobs of `plan`.

        Raises:
            DivergedError: If all jobs failed.
        """

    @abstractmethod
    def record(self, study: Study, finding: Finding) -> list[Source]:
        """A source for each run of the finding, with a record for each value."""

    @abstractmethod
    def report(self, study: Study, finding: Finding) -> Report:
        """Tables, notes, JSON and the figure."""

    def require_figure(self, study: Study) -> None:
        """Raise `ConfigError`, before any computation, if the study has no figure."""
        return

    def device(self, study: Study) -> str:
        """Type of the device on which the jobs compute: cpu, cuda or mps."""
        return "cpu"

    def notes_on_plan(self, study: Study) -> list[str]:
        """Lines below a plan."""
        return []

    def plan_groups(self, study: Study) -> Mapping[Job, tuple[str, int]]:
        """Setting and seed of each job of `plan`, for a plan with a row per setting; empty: a row per job."""
        return {}

    def why_nothing_is_stored(self, study: Study) -> list[str]:
        """Settings that differ between the study and the runs of the folder, if no result is stored."""
        return []

    def seconds_of(self, study: Study, jobs: Sequence[Job]) -> Mapping[Job, float] | None:
        """Measured seconds of jobs on this machine; absent jobs take no time. None: not measured."""
        return None

    def announce(self, study: Study, runner: Runner) -> list[str] | None:
        """Lines for the user before the first job; None: the default, with the number of jobs and their time."""
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


def run(
    measure: Callable[[Runner], Finding],
    *,
    folder: Path,
    place: Place,
    device: str = "cpu",
    quiet: bool = False,
    announces: bool = False,
    retries: bool = False,
    progress: Callable[[str, float, float], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Finding:
    """Run a study; Ctrl-C stores finished jobs, and running jobs write a checkpoint.

    Args:
        measure: Runs the study and returns its finding.
        folder: Folder of stored results.
        place: Machines on which the jobs are computed.
        device: Type of the device on which they compute.
        quiet: Whether to hide progress and notes.
        announces: Whether a note states the number of jobs before the first job.
        retries: Whether jobs with a stored failure are computed again.
        progress: Called as `progress(label, done, total)`; None: a progress bar on standard error.
        note: Called with each message; None: standard error.

    Raises:
        ConfigError: If the folder belongs to a run or a sweep, or `place` can't be used.
    """
    require_no_other(folder, "stored results", "--cache")
    place.require(folder)
    remove_abandoned(folder)
    with Reporter(cache_dir=folder, quiet=quiet) as reporter, stop_signals() as should_stop, place.planning():
        return measure(
            Runner(
                folder=folder,
                num_workers=place.workers_for(device),
                launcher=place.launcher,
                seconds_silent=place.seconds_silent,
                retries=retries,
                progress=progress or reporter.progress,
                note=note or reporter.note,
                should_stop=should_stop,
                announces=announces,
            )
        )


CSV = ".csv"
"""Suffix of a file with the record table instead of JSON."""


def record_table(sources: Sequence[Source]) -> Table:
    """The rows of `Source.rows` of all sources; missing columns are empty."""
    rows = [row for source in sources for row in source.rows()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table(
        columns=[Column(name) for name in names],
        rows=[Row(cells=tuple(_record_cell(row.get(name)) for name in names)) for row in rows],
    )


def write_records(file: Path, sources: Sequence[Source]) -> None:
    """Write the record table as CSV."""
    write_atomically(file, record_table(sources).csv().encode())


def _record_cell(value: Any) -> Cell:
    shown = value if isinstance(value, str | int | float | None) else str(value)
    return Cell(value=shown, lines=("" if shown is None else str(shown),))
