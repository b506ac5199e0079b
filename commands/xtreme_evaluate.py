"""The command `xtreme evaluate`: scores predictions as XTREME's own program does."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf
from ecsuite.commands.options import As, Json, Out
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.tables.forms import Form


def xtreme_evaluate(
    predictions: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of predictions: udpos/test-de.tsv and so on.")
    ],
    labels: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder of labels, with the same file names; also .xz and .gz."),
    ],
    languages: Annotated[
        str,
        typer.Option(help="all, or available: the languages with predictions and labels."),
        OneOf("all", "available"),
    ] = "all",
    by_language: Annotated[
        bool, typer.Option("--by-language", help="Also print a table by language, grouped by family.")
    ] = False,
    out: Out = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Score predictions for XTREME's tasks as its own program does, with the transfer gap."""
    if out is not None:
        prepare_output_file(out)
    from ecsuite.eval.xtreme.scoring.evaluation import evaluate, report

    evaluation = evaluate(predictions, labels, languages)
    report(evaluation, by_language=by_language).publish(out=out, picture=None, as_json=as_json, form=form)
