"""The command `xtreme-evaluate`: what the benchmark's own program computes, and how well it transfers."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Json, Out
from ecsuite.eval.reports.console import make_room


def xtreme_evaluate(
    predictions: Annotated[Path, typer.Option(help="Folder of predictions: udpos/test-de.tsv and so on.")],
    labels: Annotated[Path, typer.Option(help="Folder of labels, with the same names; .xz and .gz, too.")],
    languages: Annotated[
        str, typer.Option(help="all, or available: those that have predictions and labels.")
    ] = "all",
    by_language: Annotated[
        bool, typer.Option("--by-language", help="Also a table of all languages, by family.")
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Score predictions for XTREME's tasks as its own program does, and tell what is lost in transfer."""
    if out is not None:
        make_room(out)
    from ecsuite.eval.xtreme.scoring.evaluation import evaluate
    from ecsuite.eval.xtreme.scoring.evaluation_report import report

    evaluation = evaluate(predictions, labels, languages)
    report(evaluation, by_language=by_language).publish(out=out, picture=None, as_json=as_json)
