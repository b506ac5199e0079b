"""`ecsuite cross-play`: evaluate every sender of some runs with every receiver."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import As, Json, Out, Plot, TrustCode, prepare_outputs
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import note
from ecsuite.tables.forms import Form


def cross_play(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of one game.", show_default=False)],
    phrasebook: Annotated[
        str | None,
        typer.Option(
            help="Also evaluate agents built from the inventory of each run: csar, morphemes or a JSON file, with "
            "options after commas, such as csar,order=shuffled.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    trust_code: TrustCode = False,
    out: Out = None,
    plot: Plot = None,
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Evaluate every sender of some runs with every receiver, without learning."""
    from ecsuite.eval.metrics import METRICS
    from ecsuite.eval.run_metrics.pairings import every_pairing, report
    from ecsuite.eval.run_metrics.phrasebooks import PhrasebookOptions
    from ecsuite.games.runs.run import load_run
    from ecsuite.parts.own_functions import options_in

    for number, folder in enumerate(runs):
        if folder.resolve() in map(Path.resolve, runs[:number]):
            raise ConfigError(f"{folder}: given twice: expected each run once")
    prepare_outputs(out, plot)
    opened = [load_run(folder, trust_code=trust_code, note=note) for folder in runs]
    book = (
        None
        if phrasebook is None
        else options_in(METRICS, f"phrasebook,inventory={phrasebook}", PhrasebookOptions)
    )
    report(every_pairing(opened, book)).publish(out=out, picture=plot, as_json=as_json, form=form)
