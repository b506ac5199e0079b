"""`ecsuite report`: one page about runs, sweeps, corpora and scores."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import CorpusOptions, names_in
from ecsuite.parts.registry import split_names
from ecsuite.runtime.printable import note


def report(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Folders of sweeps or runs, corpora, and files of `ecsuite score --out`."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write, a .html file.")] = Path(
        "report.html"
    ),
    base: Annotated[
        str | None,
        typer.Option(
            metavar="SETTINGS",
            help="The baseline of comparisons: channel.kind=gumbel, or a run folder.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Settings that define rows, such as channel.kind,task.kind; default all that vary."
        ),
    ] = None,
    metrics: Annotated[
        str | None,
        typer.Option(help="Scores in the tables; default the scores that the sweep lists."),
        names_of("metrics"),
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    *,
    read_with: CorpusOptions,
) -> None:
    """Write one HTML page: settings, scores, differences, learning curves, and messages to browse."""
    from ecsuite.eval.views.html.page import write_report

    written = write_report(
        paths,
        out,
        by=None if by is None else names_in(by),
        metrics=None if metrics is None else split_names(metrics),
        base=base,
        title=title,
        reading=read_with.reading(),
    )
    for each in written.notes:
        note(f"note: {each}")
    print(written)
