"""`ecsuite cbm`: train the games of the CBM paper, and show its tables."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import Plot, Seeds, Set, StudyOptions, read_seeds


def cbm(
    study: Annotated[
        str,
        typer.Argument(help="A shipped study such as paper/cbm_table1, or a YAML file."),
        names_of("studies"),
    ],
    seeds: Seeds = None,
    row: Annotated[
        list[str] | None, typer.Option(help="Only this row of the study; can be repeated.")
    ] = None,
    assign: Set = None,
    plot: Plot = None,
    *,
    options: Annotated[StudyOptions, {"cache": Path("runs/cbm")}],
) -> None:
    """Train the games of the CBM paper, and show their scores next to the published tables."""
    from ecsuite.eval.experiments.cbm import CbmTables, load_table
    from ecsuite.eval.experiments.study import FIRST_SEED

    asked = load_table(
        study,
        seeds=read_seeds(seeds, FIRST_SEED),
        rows=row or (),
        assignments=assign or (),
        device=options.device,
    )
    options.publish(CbmTables(folder=options.cache), asked, plot=plot)
