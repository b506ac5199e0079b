"""`ecsuite compare`: XferBench scores of several sources, side by side."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Json, Out, Results
from ecsuite.config import ConfigError
from ecsuite.eval.reports.console import make_room, require_matplotlib


def compare(
    results: Results,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="The source that the others are compared with, or `published`; "
            "no pretraining if it is there, each with each otherwise."
        ),
    ] = None,
    out: Out = None,
    picture: Annotated[Path | None, typer.Option(help="Draw it, too: .svg or .png.")] = None,
    as_json: Json = False,
) -> None:
    """Compare XferBench scores: differences by language, their intervals, and whether they are more than noise."""
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise ConfigError(f"{picture}: expected the name of a picture, ending in .svg or .png")
    for file in (out, picture):
        if file is not None:
            make_room(file)
    if picture is not None:
        require_matplotlib()
    from ecsuite.eval.comparison.results import gather
    from ecsuite.eval.xferbench.comparison.comparison import compare as compare_results
    from ecsuite.eval.xferbench.comparison.comparison_report import report

    report(compare_results(gather(results), baseline)).publish(out=out, picture=picture, as_json=as_json)
