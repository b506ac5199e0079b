"""`ecsuite correlate`: XferBench scores against translation."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Json, Out, require_read
from ecsuite.config import ConfigError
from ecsuite.eval.reports.console import prepare_output_file

READS = {"--paper": (), "--translation": ("results", "translation", "metric")}
"""By origin of the scores, the options that it reads beside those of both."""


def correlate(
    ctx: typer.Context,
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="XferBench results, as for `ecsuite compare`.", show_default=False),
    ] = None,
    translation: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="JSON of `ecsuite translate` (name, chrf), a list of these, or a folder; can be repeated.",
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help="chrf or bleu.")] = "chrf",
    paper: Annotated[
        bool, typer.Option("--paper", help="Use the 17 sources of the paper's Tables 2 and 5.")
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Correlate XferBench scores with translation scores over sources, as in the paper's Table 2."""
    source = "--paper" if paper else "--translation"
    require_read(ctx, source, [source], READS)
    if not paper and not (results and translation):
        raise ConfigError("expected XferBench results and --translation FILE, or --paper")
    from ecsuite.eval.xferbench.comparison.correlation_report import correlate_files, correlate_paper

    report = correlate_paper() if paper else correlate_files(results or [], translation or [], metric)
    if out is not None:
        prepare_output_file(out)
    report.publish(out=out, picture=None, as_json=as_json)
