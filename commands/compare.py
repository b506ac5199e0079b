"""`ecsuite compare`: XferBench scores of several sources, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Json, Out, Results
from ecsuite.eval.reports.canvas import prepare_picture
from ecsuite.eval.reports.console import prepare_output_file


def compare(
    results: Results,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The source to compare with, or `published`; default no pretraining if it is among "
            "the results, else all pairs."
        ),
    ] = None,
    out: Out = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the comparison: .svg or .png.")] = None,
    as_json: Json = False,
) -> None:
    """Compare XferBench scores: differences by language, with intervals and the noise between seeds."""
    if picture is not None:
        prepare_picture(picture)
    if out is not None:
        prepare_output_file(out)
    from ecsuite.eval.comparison.results import gather
    from ecsuite.eval.xferbench.comparison.comparison import compare as compare_results
    from ecsuite.eval.xferbench.comparison.comparison_report import report

    report(compare_results(gather(results), baseline)).publish(out=out, picture=picture, as_json=as_json)
