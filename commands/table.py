"""`ecsuite compare table`: figures of many runs, with means over seeds, and pictures of them."""

import sys
from typing import Annotated

import typer

from ecsuite.commands.completion import OneOf, names_of
from ecsuite.commands.options import OUTPUT, As, Incomplete, Json, Measure, Plot, names_in
from ecsuite.eval.views.console import print_json
from ecsuite.eval.views.figures.canvas import check_picture
from ecsuite.files.format_numbers import with_format
from ecsuite.parts.registry import split_names
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.runtime.printable import note
from ecsuite.tables.forms import Form, publish

KINDS = OneOf("curves", "over", "heat", "parallel", "plane")


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
        str | None,
        typer.Option(
            help="Figures, such as accuracy,topsim; default measures and the first scores of each question."
        ),
        names_of("metrics"),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show every score.")] = False,
    incomplete: Incomplete = False,
    failed: Annotated[
        bool,
        typer.Option("--failed", help="Show the runs that failed, diverged or were ended early, and why."),
    ] = False,
    plot: Plot = None,
    kind: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="Of --plot: curves (learning curves with bands over seeds; the default), over (a score over a "
            "numeric setting), heat (by two settings), parallel (all settings side by side) or plane (languages scored "
            "with efficiency, and the bound).",
        ),
        KINDS,
    ] = None,
    measure: Measure = None,
    over: Annotated[
        str | None,
        typer.Option(
            metavar="SETTING",
            rich_help_panel=OUTPUT,
            help="Of --kind over: the numeric setting; default the only one that varies.",
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=TEXT",
            rich_help_panel=OUTPUT,
            help="Of --plot: the label of a setting or a score, such as channel.max_len='message length'; "
            "can be repeated.",
        ),
    ] = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Show figures of many runs: a row for each combination of settings, means over seeds with 95 % intervals."""
    from ecsuite.eval.results.equal_sizes import EqualSizes
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.views.console import Reporter
    from ecsuite.eval.views.means import means_table, noise_notes
    from ecsuite.eval.views.runs import failed_runs, failed_runs_json, failed_runs_table

    drawn = kind or ("curves" if over is None else "over")
    if plot is None:
        unread = {"--kind": kind, "--measure": measure, "--over": over, "--label": label}
        for option in (option for option, value in unread.items() if value is not None):
            raise ConfigError(f"{option}: it is of the picture of --plot FILE, which is not given")
    else:
        look_up("--kind", drawn, dict.fromkeys(KINDS.words))
        if over is not None and drawn != "over":
            raise ConfigError(f"--over: {drawn} has no numeric axis; it is read with --kind over")
        check_picture(plot)
    if every and metrics is not None:
        raise ConfigError("--all, --metrics: expected one of these")
    labels = dict(_named(each) for each in label or ())
    sources = Results.read(runs, note).runs()
    if failed:
        given = {"--by": by, "--metrics": metrics, "--all": every or None, "--plot": plot}
        for option in (option for option, value in given.items() if value is not None):
            raise ConfigError(f"{option}: not read with --failed")
        if as_json:
            print_json(with_format("result", failed_runs_json(sources)))
            return
        num_failed = len(failed_runs(sources))
        publish(
            [failed_runs_table(sources)] if num_failed else [],
            form,
            [f"{num_failed} of {len(sources)} runs"],
        )
        return
    settings = None if by is None else names_in(by)
    with Reporter() as reporter:
        sizes = EqualSizes(progress=reporter.progress)
        means = sources.means(
            by=settings,
            figures=None if metrics is None else split_names(metrics),
            with_incomplete=incomplete,
            sizes=sizes,
        )
    told = None
    if plot is not None:
        from ecsuite.eval.experiments.pictures import draw

        told = draw(
            sources,
            plot,
            kind=drawn,
            measure=measure or "accuracy",
            over=over,
            by=settings,
            labels=labels,
            sizes=sizes,
        )
    if as_json:
        print_json(with_format("result", means.to_json()))
    else:
        is_short = form is Form.TEXT and metrics is None and not every
        publish([means_table(means, is_short=is_short)], form, noise_notes(sources, means.figures))
    if told is not None:
        print(told, file=sys.stdout if form is Form.TEXT and not as_json else sys.stderr)


def _named(given: str) -> tuple[str, str]:
    """Split `NAME=TEXT` of `--label`."""
    name, equals, text = given.partition("=")
    if not (name and equals and text.strip()):
        raise ConfigError(f"--label {given}: expected NAME=TEXT, such as channel.max_len='message length'")
    return name, text.strip()
