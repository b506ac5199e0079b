"""`ecsuite compare table`: figures of many runs, with means over seeds."""

from typing import Annotated

import typer

from ecsuite.commands.options import As, Json, names_in
from ecsuite.eval.reports.console import print_json
from ecsuite.files.format_numbers import with_format
from ecsuite.tables.forms import Form, publish


def table(
    runs: Annotated[
        list[str],
        typer.Argument(
            help="Folders of sweeps or runs, or folders that hold these; or the scores of a collection."
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option(help="Settings of a row, such as channel.kind,task.kind; default those that vary."),
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Figures, such as accuracy,topsim; default all that the runs have.")
    ] = None,
    incomplete: Annotated[
        bool,
        typer.Option("--incomplete", help="Count runs that were ended by the clock, a stop or pruning, too."),
    ] = False,
    failed: Annotated[
        bool,
        typer.Option("--failed", help="Show the runs that failed, diverged or were ended early, and why."),
    ] = False,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Show figures of many runs: a row for each combination of settings, means over seeds with 95 % intervals."""
    from ecsuite.eval.records.reading import read_runs
    from ecsuite.eval.reports import failed_runs
    from ecsuite.eval.sweeps.means import means_of
    from ecsuite.eval.sweeps.means_table import means_table, noise_notes

    sources = read_runs(runs)
    if failed:
        if as_json:
            print_json(with_format("result", failed_runs.to_json(sources)))
            return
        num_failed = len(failed_runs.failed_runs(sources))
        publish(
            [failed_runs.table_of(sources)] if num_failed else [],
            form,
            [f"{num_failed} of {len(sources)} runs"],
        )
        return
    found = means_of(
        sources,
        by=None if by is None else names_in(by),
        figures=None if metrics is None else names_in(metrics),
        with_incomplete=incomplete,
    )
    if as_json:
        print_json(with_format("result", found.to_json()))
    else:
        publish([means_table(found)], form, noise_notes(sources, found.figures))
