"""The options that every command of a study has: what is kept, where it computes, and what it prints."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ecsuite.commands.given_together import Command, given_together
from ecsuite.commands.options import Cache, Device, Json, On, Out, Plan, Quiet, Slurm, Workers
from ecsuite.commands.running import print_plan, run_study
from ecsuite.files.atomic_files import prepare_output_file

if TYPE_CHECKING:
    from ecsuite.jobs.graph import Runner
    from ecsuite.jobs.job import Job

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

    def planning(self) -> AbstractContextManager[None]:
        """Plan jobs for where they are computed."""
        if self.on is None:
            return nullcontext()
        from ecsuite.jobs.engines import place_of

        return place_of(self.on, self.slurm).planning()

    def prepare_output(self) -> None:
        """Refuse a file of `--out` that cannot be written, before anything is computed."""
        if self.out is not None:
            prepare_output_file(self.out)

    def print_plan(
        self, jobs: "Iterable[Job]", *, measure: "Callable[[Sequence[Job]], float | None] | None" = None
    ) -> None:
        """Print which jobs are kept and which would run, for `--plan`; see `print_plan`."""
        print_plan(jobs, cache=self.cache, as_json=self.as_json, measure=measure)

    def run(
        self, measure: "Callable[[Runner], Finding]", *, device: str = "cpu", announces: bool = True
    ) -> Finding:
        """Run a study; see `run_study`.

        Args:
            measure: Runs the study and returns what it found.
            device: Type of the device on which the jobs compute.
            announces: Whether a note says before the first job how many there are, if no JSON is printed.
        """
        self.prepare_output()
        return run_study(
            measure,
            cache=self.cache,
            workers=self.workers,
            on=self.on,
            slurm=self.slurm,
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
