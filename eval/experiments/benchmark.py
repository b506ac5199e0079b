"""The protocol of all benchmarks, running a study, and the record table of its results."""

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
    """One benchmark: `plan` says which jobs a study needs, `collect` what their results mean.

    A study is made by the function of the benchmark's `study.py` that checks what is asked; nothing has run then.
    """

    @property
    def store(self) -> Path | None:
        """The folder of stored results; None: the one that the user names."""
        return None

    @abstractmethod
    def plan(self, study: Study) -> Sequence[Job]:
        """The jobs whose results a study wants; runs nothing."""

    @abstractmethod
    def collect(self, study: Study, results: Mapping[Job, Result]) -> Finding:
        """Make the finding from the results of the jobs of `plan`.

        Raises:
            DivergedError: If all jobs failed.
        """

    @abstractmethod
    def record(self, study: Study, finding: Finding) -> list[Source]:
        """Sources of the finding: one for each run, with a record for each value."""

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

    def plan_groups(self, study: Study) -> Mapping[Job, tuple[str, int]]:
        """Setting and seed of each job of `plan`, of which a plan shows a row per setting; empty: a row per job."""
        return {}

    def why_nothing_is_stored(self, study: Study) -> list[str]:
        """Settings in which the runs of the folder differ from those of the study, where no result is stored."""
        return []

    def seconds_of(self, study: Study, jobs: Sequence[Job]) -> Mapping[Job, float] | None:
        """Seconds that jobs of a study take here, measured; jobs without one take none. None: they are not measured."""
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
    """Run a study: Ctrl-C keeps what is done, and what runs writes its checkpoint.

    Args:
        measure: Runs the study and returns what it found.
        folder: Of stored results.
        place: Where the jobs are computed.
        device: Type of the device on which they compute.
        quiet: Whether neither progress nor notes are shown.
        announces: Whether a note says before the first job how many there are.
        retries: Whether jobs whose failure is kept are computed again.
        progress: Called as `progress(label, done, total)`; None: a progress bar on standard error.
        note: Called with each message; None: standard error.

    Raises:
        ConfigError: If the folder is that of a run, a sweep or the like, or the place can't be used.
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
"""The ending of a file that holds the record table instead of JSON."""


def record_table(sources: Sequence[Source]) -> Table:
    """The rows of `Source.rows` of all sources; a column that one of them lacks is empty there."""
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
    kept = value if isinstance(value, str | int | float | None) else str(value)
    return Cell(value=kept, lines=("" if kept is None else str(kept),))
