"""`ecsuite check`: try a part, and say what holds of it."""

from typing import Annotated

import typer

from ecsuite.commands.options import Json, Set
from ecsuite.eval.reports.console import print_json


def check(
    part: Annotated[str, typer.Argument(help="The part, such as ./noisy.py:NoisyChannel,flip=0.1.")],
    kind: Annotated[str | None, typer.Option(help="What it is: channel, sender, metric, ...")] = None,
    assign: Set = None,
    as_json: Json = False,
) -> None:
    """Try a part in a small game, and say what holds of it and what does not; exit code 1 if something does not."""
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    from ecsuite.testing import checks, kind_of, run

    kind = kind or kind_of(part)
    found = checks(kind, part, assign or [])
    outcomes = [
        run(each) for each in track(found, description=part, transient=True, console=Console(stderr=True))
    ]
    if as_json:
        rows = [
            {"check": str(each.check), "holds": each.problem is None, "problem": each.problem}
            for each in outcomes
        ]
        print_json({"part": part, "kind": kind, "checks": rows})
    else:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        before = ""
        for outcome in outcomes:
            mark = "[green]holds[/]" if outcome.problem is None else "[red]fails[/]"
            table.add_row(mark, str(outcome.check))
            if outcome.problem is not None:
                table.add_row("", "as above" if outcome.problem == before else outcome.problem, style="red")
                before = outcome.problem
        failed = sum(outcome.problem is not None for outcome in outcomes)
        Console().print(table)
        article = "an" if kind[0] in "aeiou" else "a"
        print(f"{part}: {len(outcomes) - failed} of {len(outcomes)} checks of {article} {kind} hold")
    if any(outcome.problem for outcome in outcomes):
        raise typer.Exit(1)
