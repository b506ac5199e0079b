"""`ecsuite compare power`: number of seeds that finds a difference."""

from typing import Annotated

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import As, Json, Out, Results
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import note
from ecsuite.tables.forms import Form


def power(
    results: Results,
    metric: Annotated[str, typer.Option(help="The score, such as `topsim`."), names_of("metrics")],
    effect: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="The difference of means to find; default: a table by number of seeds."
        ),
    ] = None,
    probability: Annotated[
        float, typer.Option("--power", metavar="NUMBER", help="The desired probability of finding it.")
    ] = 0.8,
    out: Out = None,
    form: As = Form.TEXT,
    as_json: Json = False,
) -> None:
    """Compute the number of seeds that finds a difference, from the spread of existing runs over seeds."""
    from ecsuite.eval.results.power import seeds_needed
    from ecsuite.eval.results.results import Results
    from ecsuite.eval.views.console import Report
    from ecsuite.files.atomic_files import prepare_output_file

    if effect is not None and not effect > 0:
        raise ConfigError(f"--effect: expected a difference above 0, got {effect:g}")
    if not 0.05 < probability < 1:
        raise ConfigError(f"--power: expected a probability above .05 and below 1, got {probability:g}")
    found = seeds_needed(Results.read(results, note).samples(metric), metric, effect, probability)
    if out is not None:
        prepare_output_file(out)
    notes = tuple(found.notes())
    report = Report(tables=[found.table()], notes=notes, data=found.to_json() | {"notes": list(notes)})
    report.publish(out=out, picture=None, as_json=as_json, form=form)
