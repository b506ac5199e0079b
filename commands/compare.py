"""`ecsuite compare`: scores of several sources, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Json, Out, Results
from ecsuite.config import ConfigError
from ecsuite.eval.reports.canvas import prepare_picture
from ecsuite.eval.reports.console import prepare_output_file


def compare(
    results: Results,
    metric: Annotated[
        str, typer.Option(help="The score to compare, by its name in the files.")
    ] = "xferbench",
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The source to compare with, or (XferBench) `published`; default no pretraining if it is among "
            "the results, else all pairs.",
        ),
    ] = None,
    out: Out = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the comparison of XferBench scores: .svg or .png.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare scores: differences with intervals, noise between seeds, and a correction for many pairs."""
    if picture is not None and metric != "xferbench":
        raise ConfigError(f"--picture: not read by --metric {metric}; read by xferbench")
    from ecsuite.eval.comparison.score_files import gather

    sources = gather(results, metric)
    if metric == "xferbench":
        from ecsuite.eval.xferbench.comparison.comparison import compare as compare_xferbench
        from ecsuite.eval.xferbench.comparison.comparison_report import report as xferbench_report

        found = xferbench_report(compare_xferbench(sources, baseline))
    else:
        from ecsuite.eval.comparison.differences import compare as compare_scores
        from ecsuite.eval.reports.difference_tables import report

        found = report(compare_scores(sources, metric, baseline))
    if picture is not None:
        prepare_picture(picture)
    if out is not None:
        prepare_output_file(out)
    found.publish(out=out, picture=picture, as_json=as_json)
