"""`ecsuite reproduce`: rerun claims of published work."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.completion import names_of
from ecsuite.commands.options import Plot, StudyOptions, given_options
from ecsuite.eval.views.console import print_json
from ecsuite.files.format_numbers import with_format
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.forms import publish


def reproduce(
    ctx: typer.Context,
    claim: Annotated[
        str | None,
        typer.Argument(help="A claim, or a YAML file (docs/claims.md); default: list all claims."),
        names_of("claims"),
    ] = None,
    small: Annotated[
        bool, typer.Option("--small", help="A small check of some minutes, without a verdict.")
    ] = False,
    plot: Plot = None,
    *,
    options: Annotated[StudyOptions, {"cache": Path("runs/claims")}],
) -> None:
    """List claims of published work with their verdicts, or rerun a claim."""
    if claim is None:
        from ecsuite.eval.experiments.claims.verdict import shipped_verdicts, summary, verdicts_table

        for name, option in given_options(ctx).items():
            if name not in ("as_json", "form"):
                raise ConfigError(f"{option}: expected a claim: ecsuite reproduce NAME")
        rows = shipped_verdicts()
        if options.as_json:
            claims = [{**asdict(row), "sentence": row.sentence} for row in rows]
            print_json(with_format("result", {"claims": claims}))
        else:
            publish([verdicts_table(rows)], options.form, [summary(rows)])
        return
    from ecsuite.eval.experiments.claims.claim import load_claim
    from ecsuite.eval.experiments.claims.studies import reproduction_of

    loaded = load_claim(claim)
    benchmark = reproduction_of(loaded, folder=options.cache, device=options.device, is_small=small)
    options.publish(benchmark, loaded, plot=plot)
