"""`ecsuite sweep`: a game with many settings and seeds, trained and scored."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Device, Json, OutFolder, Plan, Quiet
from ecsuite.commands.running import print_plan, run_study
from ecsuite.eval.reports.console import print_json
from ecsuite.file_formats import with_format


def sweep(
    study: Annotated[
        str, typer.Argument(help="A YAML file with base, vary, seeds and score (docs/sweeps.md).")
    ],
    on: Annotated[
        str, typer.Option(help="here, local:N for N processes of this machine, or slurm.", metavar="PLACE")
    ] = "local",
    slurm: Annotated[
        str | None,
        typer.Option(
            help="Options of sbatch, such as partition=low,gres=gpu:1,time=2:00:00.", metavar="KEY=VALUE,..."
        ),
    ] = None,
    out: OutFolder = None,
    plan: Plan = False,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train a game with many settings and seeds, score every corpus, and show the means over seeds."""
    from ecsuite.eval.sweeps.jobs import plan as plan_jobs
    from ecsuite.eval.sweeps.records import STORE, SWEEP
    from ecsuite.eval.sweeps.result import measure
    from ecsuite.eval.sweeps.study import load_study
    from ecsuite.jobs.engines import place_of

    place = place_of(on, slurm)
    chosen = load_study(study, device=device)
    folder = out or Path("runs") / chosen.name
    store = folder / STORE
    if plan:
        jobs = [job for run in plan_jobs(chosen, folder) for job in (run.training, *run.scores.values())]
        print_plan(jobs, cache=store, as_json=as_json)
        return
    found = run_study(
        lambda runner: measure(chosen, folder, runner),
        cache=store,
        workers=place.num_workers,
        engine=place.engine,
        device=chosen.device.type,
        quiet=quiet,
        announces=not as_json,
    )
    if as_json:
        print_json(with_format("result", found.to_json()))
        return
    from rich.console import Console

    Console().print(found.table().rich())
    for run in found:
        if run.failure is not None:
            print(f"failed: {run.folder.name}: {run.failure}")
        elif run.training["stopped"] == "minutes":
            print(f"not complete: {run.folder.name} was ended by training.max_minutes")
    print(f"Runs in {folder / 'runs'}, all figures in {folder / SWEEP}; next: ecsuite table {folder} --latex")
