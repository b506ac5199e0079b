"""The options that every command of a study has, and what such a command does: plan, or run and show what came out."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ecsuite.commands.given_together import Command, given_together
from ecsuite.commands.options import Cache, Device, Json, On, Out, Plan, Quiet, Slurm, Workers
from ecsuite.commands.plans import print_plan
from ecsuite.eval.figures.canvas import prepare_picture
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from ecsuite.eval.studies.benchmark import Benchmark
    from ecsuite.jobs.engines import Place
    from ecsuite.jobs.graph import Runner
    from ecsuite.jobs.job import Job

Study = TypeVar("Study")
Finding = TypeVar("Finding")


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyOptions:
    """The values of the options, by their names."""

    cache: Cache
    plan: Plan = False
    workers: Workers = None
    on: On = None
    slurm: Slurm = None
    out: Out = None
    device: Device = "auto"
    quiet: Quiet = False
    as_json: Json = False

    def place(self) -> "Place":
        """Where the jobs are computed.

        Raises:
            ConfigError: If there is no such place, or `--workers` is given as well.
        """
        from ecsuite.jobs.engines import Place, place_of

        if self.on is not None and self.workers is not None:
            raise ConfigError("--on, --workers: expected one of these; --workers 8 is --on local:8")
        if self.on is None and self.slurm is None:
            return Place(num_workers=self.workers)
        return place_of(self.on or "local", self.slurm)

    def planning(self) -> AbstractContextManager[None]:
        """Plan jobs for where they are computed."""
        return nullcontext() if self.on is None else self.place().planning()

    def publish(self, benchmark: "Benchmark[Study, Any]", study: Study, *, plot: Path | None = None) -> None:
        """Do what the command of a benchmark does: print the plan of a study, or run it and show what came out.

        Args:
            benchmark: The benchmark.
            study: What is asked of it.
            plot: The file of `--plot`, if it has one.
        """
        if plot is not None:
            benchmark.require_figure(study)
            prepare_picture(plot)
        device = benchmark.device(study)
        if self.plan:
            self.print_plan(benchmark.plan(study), device=device)
            return

        def measure(runner: "Runner") -> Any:
            lines = [] if self.quiet or self.as_json else benchmark.announce(study, runner)
            for line in lines or ():
                runner.note(line)
            return benchmark.measure(study, replace(runner, announces=lines is None))

        found = self.run(measure, device=device)
        benchmark.report(study, found).publish(out=self.out, picture=plot, as_json=self.as_json)

    def prepare_output(self) -> None:
        """Refuse a file of `--out` that cannot be written, before anything is computed."""
        if self.out is not None:
            prepare_output_file(self.out)

    def print_plan(self, jobs: "Iterable[Job]", *, device: str = "cpu") -> None:
        """Print which jobs are kept and which would run, for `--plan`; see `print_plan`."""
        place = self.place()
        places = 1 if place.engine is not None else place.workers_for(device)
        print_plan(jobs, cache=self.cache, as_json=self.as_json, num_places=places)

    def run(
        self, measure: "Callable[[Runner], Finding]", *, device: str = "cpu", announces: bool = True
    ) -> Finding:
        """Run a study; see `ecsuite.eval.studies.running.run`.

        Args:
            measure: Runs the study and returns what it found.
            device: Type of the device on which the jobs compute.
            announces: Whether a note says before the first job how many there are, if no JSON is printed.
        """
        from ecsuite.eval.studies.running import run

        self.prepare_output()
        return run(
            measure,
            folder=self.cache,
            place=self.place(),
            device=device,
            quiet=self.quiet,
            announces=announces and not self.as_json,
        )


def has_study_options(**defaults: Any) -> Callable[[Command], Command]:
    """Give a command the options of `StudyOptions`, which it gets together as its argument `options`.

    Args:
        defaults: Of options that have another one in this command, by name; `cache` is needed.
    """
    return given_together(StudyOptions, "options", defaults, StudyOptions.planning)
