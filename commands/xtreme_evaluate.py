"""The command `xtreme evaluate`: scores predictions as XTREME's own program does."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf
from ecsuite.commands.options import As, Json, Out, Plot
from ecsuite.eval.views.figures.canvas import prepare_picture
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.forms import Form


def xtreme_evaluate(
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of predictions: udpos/test-de.tsv and so on."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder of labels, with the same file names; also .xz and .gz."),
    ] = None,
    languages: Annotated[
        str,
        typer.Option(help="all, or available: the languages with predictions and labels."),
        OneOf("all", "available"),
    ] = "all",
    by_language: Annotated[
        bool, typer.Option("--by-language", help="Also print a table by language, grouped by family.")
    ] = False,
    analyses: Annotated[
        bool,
        typer.Option(
            "--analyses", help="Also errors shared with English, and scores by language family and script."
        ),
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Data folder of the tasks, for analyses of tag n-grams and entities that English has or lacks.",
        ),
    ] = None,
    articles: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Numbers of Wikipedia articles: on each line, a language code, a tab and a number.",
        ),
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="Also the published scores, with human performance (table 2), and transfer gaps (table 3); without "
            "predictions, only these.",
        ),
    ] = False,
    plot: Plot = None,
    out: Out = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Score predictions for XTREME's tasks as its own program does, with the transfer gap."""
    if out is not None:
        prepare_output_file(out)
    if not analyses and (plot or data or articles):
        name = "--plot" if plot else "--data" if data else "--articles"
        raise ConfigError(f"{name}: used with --analyses only")
    if plot is not None:
        prepare_picture(plot)
    from ecsuite.eval.xtreme.scoring.analyses import analyse, read_articles
    from ecsuite.eval.xtreme.scoring.evaluation import evaluate, published_report, report

    if predictions is None or labels is None:
        if not published or predictions or labels or analyses or by_language:
            name = "--predictions" if predictions is None else "--labels"
            raise ConfigError(f"missing option '{name}': expected a folder (only --published needs none)")
        published_report().publish(out=out, picture=None, as_json=as_json, form=form)
        return
    sizes = {} if articles is None else read_articles(articles)
    evaluation = evaluate(predictions, labels, languages)
    analysed = analyse(evaluation.answers, evaluation.tasks, data, sizes) if analyses else None
    shown = report(evaluation, by_language=by_language, analyses=analysed, has_published=published)
    shown.publish(out=out, picture=plot, as_json=as_json, form=form)
