"""`ecsuite cbm`: the games of the CBM paper, and its tables."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import (
    Cache,
    Device,
    Json,
    On,
    Out,
    Plan,
    Plot,
    Quiet,
    Seeds,
    Set,
    Slurm,
    Workers,
    read_seeds,
)
from ecsuite.commands.running import print_plan, run_study
from ecsuite.eval.reports.canvas import prepare_picture
from ecsuite.eval.reports.console import prepare_output_file


def cbm(
    study: Annotated[str, typer.Argument(help="A shipped study such as paper/cbm_table1, or a YAML file.")],
    seeds: Seeds = None,
    row: Annotated[
        list[str] | None, typer.Option(help="Only this row of the study; can be repeated.")
    ] = None,
    assign: Set = None,
    out: Out = None,
    plot: Plot = None,
    folder: Cache = Path("runs/cbm"),
    plan: Plan = False,
    workers: Workers = None,
    on: On = None,
    slurm: Slurm = None,
    device: Device = "auto",
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Train the games of the CBM paper, and show their scores beside the published tables."""
    from ecsuite.eval.concept_games.jobs import plan as plan_jobs
    from ecsuite.eval.concept_games.result import measure
    from ecsuite.eval.concept_games.study import FIRST_SEED, load_study

    own_seeds = read_seeds(seeds, FIRST_SEED)
    chosen = load_study(study, seeds=own_seeds, rows=row or (), assignments=assign or (), device=device)
    if plot is not None:
        prepare_picture(plot)
    if out is not None:
        prepare_output_file(out)
    if plan:
        print_plan(plan_jobs(chosen, folder).values(), cache=folder, as_json=as_json)
        return
    rows = run_study(
        lambda runner: measure(chosen, runner),
        cache=folder,
        workers=workers,
        on=on,
        slurm=slurm,
        device=chosen.device.type,
        quiet=quiet,
        announces=not as_json,
    )
    from ecsuite.eval.concept_games.report import report

    report(chosen, rows).publish(out=out, picture=plot, as_json=as_json)
