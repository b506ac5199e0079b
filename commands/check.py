"""`ecsuite check`: test a part, and report its properties."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ecsuite.commands.completion import NEW
from ecsuite.commands.named import with_article
from ecsuite.commands.options import As, Json, Set
from ecsuite.eval.views.console import print_json
from ecsuite.tables.cells import nothing, text
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Column, Row, Table, row_of

if TYPE_CHECKING:
    from ecsuite.testing import CheckOutcome


def check(
    part: Annotated[str, typer.Argument(help="The part, such as ./noisy.py:NoisyChannel,flip=0.1.")],
    kind: Annotated[
        str | None, typer.Option(help="Kind of the part: channel, sender, metric, ..."), NEW
    ] = None,
    assign: Set = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Test a part in a small game, and report which checks hold; exit code 1 if a check fails."""
    from rich.console import Console
    from rich.progress import track

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
        failed = sum(outcome.problem is not None for outcome in outcomes)
        line = f"{part}: {len(outcomes) - failed} of {len(outcomes)} checks of {with_article(kind)} hold"
        publish([_table(outcomes)], form, [line])
    if any(outcome.problem for outcome in outcomes):
        raise typer.Exit(1)


def _table(outcomes: "Sequence[CheckOutcome]") -> Table:
    """Table with one row per check, and a row with the problem below failed checks; repeated problems are shortened."""
    rows: list[Row] = []
    before = ""
    for outcome in outcomes:
        check = text(str(outcome.check))
        if outcome.problem is None:
            rows.append(row_of(text("holds", role="good"), check, nothing()))
            continue
        shown = "as above" if outcome.problem == before else outcome.problem
        rows.append(row_of(text("fails", role="bad"), check, text(outcome.problem, shown=shown, role="bad")))
        before = outcome.problem
    columns = (
        Column("outcome"),
        Column("check", wraps=True),
        Column("problem", wraps=True, is_shown=bool(before)),
    )
    return Table(columns=columns, rows=rows)
