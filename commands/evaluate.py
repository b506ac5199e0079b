"""`ecsuite evaluate`: the agents of a run, tried without training, also on other objects."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import Device, Json, Set
from ecsuite.eval.reports.console import print_json


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    assign: Set = None,
    objects: Annotated[
        str | None, typer.Option(help="Other objects: a table, an npz file, a folder of images, or hf:NAME.")
    ] = None,
    features: Annotated[str | None, typer.Option(help="Other npz file of feature vectors.")] = None,
    receiver_from: Annotated[
        Path | None, typer.Option(help="Run folder of another receiver, which listens to this run's sender.")
    ] = None,
    trust_code: Annotated[
        bool, typer.Option("--trust-code", help="Import the foreign parts of the run.")
    ] = False,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Evaluate the agents of a run without training them, with other objects, distractors or splits."""
    import sys

    from ecsuite.devices import choose_device
    from ecsuite.games.runs import load_run

    place = choose_device(device)
    opened = load_run(run, trust_code=trust_code, note=lambda text: print(text, file=sys.stderr))
    files = {"world.objects": objects, "world.features": features}
    changes = {key: value for key, value in files.items() if value is not None}
    found = opened.evaluate(changes, assign or [], receiver_from=receiver_from, device=place.type)
    if as_json:
        print_json({"run": str(run), "evaluations": found})
        return
    for name, measures in found.items():
        print(name)
        for measure, value in measures.items():
            shown = f"{value:10.1%}" if "accuracy" in measure else f"{value:10.3f}"
            print(f"  {measure:22}{shown}")
