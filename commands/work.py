"""`ecsuite work`: start a worker, which computes the jobs of commands that use the same store."""

import math
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import MORE, Quiet
from ecsuite.runtime.errors import ConfigError


def work(
    store: Annotated[
        Path,
        typer.Argument(
            help="The folder of stored results: `--cache` of a command, or jobs/ in the folder of a sweep."
        ),
    ],
    *,
    idle: Annotated[
        float, typer.Option(metavar="MINUTES", min=0, help="End after this time without a job.")
    ] = 10.0,
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="Stop after this time: the job writes a checkpoint, and another worker continues it.",
        ),
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE.py", help="Import parts of your own that jobs name; can be repeated."),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(help="Take jobs of this pool; default jobs for every worker.", rich_help_panel=MORE),
    ] = None,
    attached: Annotated[
        bool,
        typer.Option("--attached", help="End with standard input, and never before.", rich_help_panel=MORE),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Compute the jobs of commands with `--on workers` and this store, also on other machines that share its folder."""
    from ecsuite.jobs.processes import WORKER_ENVIRONMENT, begin_attached

    if attached:
        begin_attached()
    elif (
        not WORKER_ENVIRONMENT.items() <= os.environ.items()
    ):  # environment variables are read when a process starts
        os.execve(
            sys.executable, [sys.executable, "-m", "ecsuite", *sys.argv[1:]], os.environ | WORKER_ENVIRONMENT
        )
    from ecsuite.jobs.groups import GroupFolder
    from ecsuite.jobs.signals import end_as_requested, stop_signals
    from ecsuite.jobs.store import Store
    from ecsuite.jobs.worker import MOST_WAIT_HERE, WorkerOptions, users_pools
    from ecsuite.jobs.worker import work as take_and_compute
    from ecsuite.parts.own_code import trust as trust_code

    trust_code(trust or ())
    options = WorkerOptions(
        pools=pool or users_pools(),
        seconds_idle=math.inf if attached else 60 * idle,
        seconds=math.inf if minutes is None else 60 * minutes,
    )
    if attached:
        take_and_compute(store, replace(options, most_wait=MOST_WAIT_HERE))
        return
    _require_store(store)
    note = ignore if quiet else tell
    is_new = not store.exists()
    GroupFolder(Store(store, note)).prepare()
    about = "which is new, " if is_new else ""
    note(f"takes jobs from {store.resolve()}, {about}for commands with --on workers")
    with stop_signals() as should_stop:
        why = take_and_compute(store, options, should_stop, note)
    told = {"idle": f"no jobs for {idle:g} min", "time": f"{minutes} min are over", "asked": "stopped"}[why]
    note(told)
    if why != "idle":
        end_as_requested(should_stop() or "preempted", told)


def _require_store(store: Path) -> None:
    """Check that a folder is not a sweep, a run or a corpus, where no job would ever arrive."""
    from ecsuite.eval.results.files import kind_of_folder
    from ecsuite.eval.results.sources import STORE

    kind = kind_of_folder(store)
    if kind == "a sweep":
        raise ConfigError(f"{store}: a sweep: expected the folder of its stored results, {store / STORE}")
    if kind is not None:
        raise ConfigError(f"{store}: {kind}: expected a folder of stored results, such as runs/study/{STORE}")


def tell(text: str) -> None:
    """Print a message on standard error."""
    print(text, file=sys.stderr, flush=True)


def ignore(text: str) -> None:
    """Discard a message."""
