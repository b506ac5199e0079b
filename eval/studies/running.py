"""Running a study as users do: kept results, a place, progress, and requests to stop."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ecsuite.eval.results.files import require_no_other
from ecsuite.eval.views.console import Reporter
from ecsuite.files.atomic_files import remove_abandoned
from ecsuite.jobs.engines import Place
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.signals import stop_signals

Finding = TypeVar("Finding")


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
        folder: Of kept results.
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
    require_no_other(folder, "kept results", "--cache")
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
