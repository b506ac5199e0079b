"""`ecsuite cbm`: the games of the CBM paper, and its tables."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Device, Json, Out, Seeds, Set, Workers, read_seeds
from ecsuite.corpus import remove_abandoned
from ecsuite.eval.reports.canvas import prepare_picture
from ecsuite.eval.reports.console import Reporter, prepare_output_file


def cbm(
    study: Annotated[str, typer.Argument(help="A shipped study such as paper/cbm_table1, or a YAML file.")],
    seeds: Seeds = None,
    row: Annotated[
        list[str] | None, typer.Option(help="Only this row of the study; can be repeated.")
    ] = None,
    assign: Set = None,
    out: Out = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw CBM against the number of samples: .svg or .png.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder of runs; finished ones are not trained again.")] = Path(
        "runs/cbm"
    ),
    workers: Workers = None,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Train the games of the CBM paper, and show their scores beside the published tables."""
    from ecsuite.eval.concept_games.study import FIRST_SEED, load_study
    from ecsuite.jobs.runner import num_cores

    chosen = load_study(study, seeds=read_seeds(seeds, FIRST_SEED), rows=row or (), assignments=assign or ())
    if picture is not None:
        prepare_picture(picture)
    if out is not None:
        prepare_output_file(out)
    remove_abandoned(folder)
    from ecsuite.devices import choose_device
    from ecsuite.eval.concept_games.measuring import measure_rows
    from ecsuite.eval.concept_games.report import report
    from ecsuite.jobs.runner import JobRunner
    from ecsuite.jobs.signals import exit_at_sigterm

    place = choose_device(device).type
    processes = workers or (num_cores() if place == "cpu" else 1)
    with exit_at_sigterm(), Reporter() as reporter:  # training runs write a checkpoint
        try:
            with JobRunner(
                num_workers=processes, folder=folder / "results", progress=reporter.progress
            ) as runner:
                rows = measure_rows(chosen, runner=runner, folder=folder, device=place)
        except (KeyboardInterrupt, SystemExit):
            reporter.note(
                f"stopped; finished work is cached in {folder}, and the same command continues from there"
            )
            raise
    report(chosen, rows).publish(out=out, picture=picture, as_json=as_json)
