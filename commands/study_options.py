"""The options that every command of a study has, and what such a command does: plan, or run and show what came out."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ecsuite.commands.options import As, Cache, Device, Json, On, Out, Plan, Quiet, Slurm, Workers
from ecsuite.commands.plans import print_plan
from ecsuite.eval.views.figures.canvas import prepare_picture
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.forms import Form

if TYPE_CHECKING:
    from ecsuite.eval.experiments.benchmark import Benchmark
    from ecsuite.jobs.engines import Place
    from ecsuite.jobs.graph import Runner
    from ecsuite.jobs.job import Job

Study = TypeVar("Study")
Finding = TypeVar("Finding")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOptions:
    """Where the jobs of a study are computed, and what is shown; the values of the options, by their names."""

    plan: Plan = False
    on: On = None
    slurm: Slurm = None
    device: Device = "auto"
    quiet: Quiet = False
    as_json: Json = False
    form: As = Form.TEXT

    def __post_init__(self) -> None:
        """Refuse a device that is none before anything is read."""
        if self.device != "auto":
            from ecsuite.runtime.devices import require_device_name  # which imports torch

            require_device_name(self.device)

    def place(self) -> "Place":
        """Where the jobs are computed; `ConfigError` if there is no such place."""
        from ecsuite.jobs.engines import place_of

        return place_of(self.on or "local", self.slurm)

    def planning(self) -> AbstractContextManager[None]:
        """Plan jobs for where they are computed."""
        return nullcontext() if self.on is None else self.place().planning()

    def show(
        self,
        benchmark: "Benchmark[Study, Any]",
        study: Study,
        *,
        cache: Path | None = None,
        out: Path | None = None,
        plot: Path | None = None,
        retries: bool = False,
    ) -> None:
        """Do what the command of a benchmark does: print the plan of a study, or run it and show what came out.

        Args:
            benchmark: The benchmark.
            study: What is asked of it.
            cache: Folder of kept results, where the benchmark has none of its own.
            out: The file for the JSON, or, if it ends in .csv, for the record table.
            plot: The file for the figure.
            retries: Whether jobs whose failure is kept are computed again.
        """
        from ecsuite.eval.experiments.benchmark import CSV, run, write_records

        if plot is not None:
            benchmark.require_figure(study)
            prepare_picture(plot)
        device, place, folder = benchmark.device(study), self.place(), benchmark.store or cache
        assert folder is not None
        if self.plan:
            print_plan(
                benchmark.plan(study),
                cache=folder,
                as_json=self.as_json,
                form=self.form,
                num_places=1 if place.launcher is not None else place.workers_for(device),
                notes=benchmark.notes_on_plan(study),
                groups=benchmark.plan_groups(study),
                why_nothing=partial(benchmark.why_nothing_is_stored, study),
                measure=partial(benchmark.seconds_of, study),
            )
            return
        if out is not None:
            prepare_output_file(out)

        def measure(runner: "Runner") -> Any:
            lines = [] if self.quiet or self.as_json else benchmark.announce(study, runner)
            for line in lines or ():
                runner.note(line)
            return benchmark.measure(study, replace(runner, announces=lines is None))

        finding = run(measure, folder=folder, place=place, device=device, quiet=self.quiet, retries=retries)
        if out is not None and out.suffix == CSV:
            write_records(out, benchmark.record(study, finding))
            out = None
        benchmark.report(study, finding).publish(out=out, picture=plot, as_json=self.as_json, form=self.form)


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyOptions(RunOptions):
    """The options of a command whose results go where the user says."""

    cache: Cache
    workers: Workers = None
    out: Out = None

    def place(self) -> "Place":
        """Where the jobs are computed; `ConfigError` if there is no such place, or `--workers` is given as well."""
        from ecsuite.jobs.engines import Place

        if self.on is not None and self.workers is not None:
            raise ConfigError("--on, --workers: expected one of these; --workers 8 is --on local:8")
        if self.on is None and self.slurm is None:
            return Place(num_workers=self.workers)
        return RunOptions.place(self)

    def publish(self, benchmark: "Benchmark[Study, Any]", study: Study, *, plot: Path | None = None) -> None:
        """`show` it, with the folder and the file of these options."""
        self.show(benchmark, study, cache=self.cache, out=self.out, plot=plot)

    def prepare_output(self) -> None:
        """Refuse a file of `--out` that cannot be written, before anything is computed."""
        if self.out is not None:
            prepare_output_file(self.out)

    def print_plan(self, jobs: "Iterable[Job]") -> None:
        """Print which jobs are kept and which would run, for `--plan`; see `print_plan`."""
        print_plan(jobs, cache=self.cache, as_json=self.as_json, form=self.form)

    def run(self, measure: "Callable[[Runner], Finding]", *, has_jobs: bool = True) -> Finding:
        """Run what is no benchmark; see `ecsuite.eval.experiments.benchmark.run`.

        Args:
            measure: Computes it.
            has_jobs: Whether jobs are computed; without any, only its progress and requests to stop are looked after.
        """
        if not has_jobs:
            from ecsuite.eval.views.console import Reporter
            from ecsuite.jobs.graph import Runner
            from ecsuite.jobs.signals import stop_signals

            with Reporter(cache_dir=self.cache, quiet=self.quiet) as reporter, stop_signals() as should_stop:
                runner = Runner(progress=reporter.progress, note=reporter.note, should_stop=should_stop)
                return measure(runner)
        from ecsuite.eval.experiments.benchmark import run

        return run(
            measure,
            folder=self.cache,
            place=self.place(),
            quiet=self.quiet,
            announces=not self.as_json,
        )
