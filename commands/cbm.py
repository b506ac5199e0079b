"""`ecsuite cbm`: the games of the CBM paper, and its tables."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Plot, Seeds, Set, read_seeds
from ecsuite.commands.study_options import StudyOptions, has_study_options
from ecsuite.eval.reports.canvas import prepare_picture


@has_study_options(cache=Path("runs/cbm"))
def cbm(
    study: Annotated[str, typer.Argument(help="A shipped study such as paper/cbm_table1, or a YAML file.")],
    seeds: Seeds = None,
    row: Annotated[
        list[str] | None, typer.Option(help="Only this row of the study; can be repeated.")
    ] = None,
    assign: Set = None,
    plot: Plot = None,
    *,
    options: StudyOptions,
) -> None:
    """Train the games of the CBM paper, and show their scores beside the published tables."""
    from ecsuite.eval.concept_games.jobs import plan as plan_jobs
    from ecsuite.eval.concept_games.result import measure
    from ecsuite.eval.concept_games.study import FIRST_SEED, load_study

    own_seeds = read_seeds(seeds, FIRST_SEED)
    chosen = load_study(
        study, seeds=own_seeds, rows=row or (), assignments=assign or (), device=options.device
    )
    if plot is not None:
        prepare_picture(plot)
    if options.plan:
        options.print_plan(plan_jobs(chosen, options.cache).values())
        return
    rows = options.run(lambda runner: measure(chosen, runner), device=chosen.device.type)
    from ecsuite.eval.concept_games.report import report

    report(chosen, rows).publish(out=options.out, picture=plot, as_json=options.as_json)
