"""`ecsuite compare correlations`: correlate metrics over many corpora, or XferBench with translation."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf, names_of
from ecsuite.commands.options import As, Json, Out, Plot, given_options, names_in
from ecsuite.files.atomic_files import prepare_output_file
from ecsuite.parts.config import refuse_unread
from ecsuite.parts.registry import split_names
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.forms import Form

OF_TRANSLATION = OneOf("chrf", "bleu")
READS = {
    "--paper": (),
    "--translation": ("results", "translation", "metric"),
    "a collection": ("results", "metrics", "given", "plot"),
}
"""Additional options that each kind of correlation uses."""


def correlations(
    ctx: typer.Context,
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="JSON of `ecsuite score CORPORA --out FILE.json`, or folders of scored runs; with --translation, "
            "XferBench results as for `ecsuite compare`.",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Scores or sizes, separated by commas; default all scores that are not mere counts.",
        ),
        names_of("metrics"),
    ] = None,
    given: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Scores or sizes that partial correlations control for; default num_messages,num_distinct_meanings if "
            "known; none: no partial correlations.",
        ),
    ] = None,
    translation: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="JSON of `ecsuite translate` (name, chrf), a list of these, or a folder; can be repeated.",
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help=f"Translation score: {OF_TRANSLATION}."), OF_TRANSLATION
    ] = "chrf",
    paper: Annotated[
        bool, typer.Option("--paper", help="Use the 17 sources of the paper's Tables 2 and 5.")
    ] = False,
    plot: Plot = None,
    out: Out = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Correlate metrics with each other over many corpora, or XferBench with translation scores."""
    source = "--paper" if paper else "--translation" if translation else "a collection"
    refuse_unread(source, [source], given_options(ctx), READS)
    if not paper and not results:
        raise ConfigError(
            "expected scores of a collection, or XferBench results and --translation FILE, or --paper"
        )
    if source == "a collection":
        from ecsuite.eval.experiments.correlations import correlate as correlate_metrics
        from ecsuite.eval.experiments.correlations import correlation_report as collection_report
        from ecsuite.eval.experiments.correlations import read_table
        from ecsuite.eval.views.figures.canvas import check_picture

        if plot is not None:
            check_picture(plot)
        found = correlate_metrics(
            read_table(results or []),
            None if metrics is None else split_names(metrics),
            None if given is None else [] if given == "none" else names_in(given),
        )
        for file in (out, plot):
            if file is not None:
                prepare_output_file(file)
        collection_report(found).publish(out=out, picture=plot, as_json=as_json, form=form)
        return
    from ecsuite.eval.xferbench.correlation import correlate_files, correlate_paper

    report = correlate_paper() if paper else correlate_files(results or [], translation or [], metric)
    if out is not None:
        prepare_output_file(out)
    report.publish(out=out, picture=None, as_json=as_json, form=form)
