"""`ecsuite evaluate`: evaluate the agents of a run without training, also on other objects."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import As, Device, Json, Plot, Set, TrustCode, prepare_outputs
from ecsuite.eval.views.console import print_json
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.printable import note
from ecsuite.tables.cells import Cell, bounded, nothing, number, percent
from ecsuite.tables.forms import Form, publish
from ecsuite.tables.table import Table, name_column, number_column, row_of

FLAGS = {"world.objects": "--objects", "world.features": "--features", "reasoning": "--reason"}
"""Command line options by the setting (`section.key`) that they change."""


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
    reason: Annotated[
        str | None,
        typer.Option(help="Let receivers reason: rsa,depth=1,alpha=4,cost=length.", metavar="KIND"),
    ] = None,
    intervene: Annotated[
        str | None,
        typer.Option(
            help="Change messages between sender and receiver: permute, drop, replace, noise, or all.",
            metavar="NAMES",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="Accuracy under noise for each rate and position: deletion, confusion, ...", metavar="NAMES"
        ),
    ] = None,
    rates: Annotated[
        str | None,
        typer.Option(help="Rates of --noise, such as 0,0.1,0.3; default 0 to 0.5.", metavar="RATES"),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(help="Write one row per round: interactions, or also probabilities.", metavar="NAMES"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The Parquet file of --keep, or the JSON, CSV, ... of --noise.", metavar="FILE"),
    ] = None,
    plot: Plot = None,
    trust_code: TrustCode = False,
    device: Device = "auto",
    as_json: Json = False,
    form: As = Form.TEXT,
) -> None:
    """Evaluate the agents of a run without training them, with other objects, distractors or splits."""
    import ecsuite.parts.own_code as own_code
    from ecsuite.files.atomic_files import check_output_file, prepare_output_file, write_atomically
    from ecsuite.games.plays.interactions import as_parquet
    from ecsuite.games.runs.run import load_run
    from ecsuite.runtime.devices import choose_device

    place = choose_device(device)
    kept = names_to_keep(keep, out if noise is None else None)
    for option, value in {"--rates": rates, "--plot": plot}.items():
        if value is not None and noise is None:
            raise ConfigError(f"{option}: used with --noise only")
    if noise is not None:
        for option, other in {"--intervene": intervene, "--keep": keep}.items():
            if other is not None:
                raise ConfigError(f"--noise, {option}: expected one of these")
        prepare_outputs(out, plot)
    elif intervene is not None and keep is not None:
        raise ConfigError("--intervene, --keep: expected one of these")
    elif out is not None:
        check_output_file(out)
    opened = load_run(run, trust_code=trust_code, note=note, flags_by_key=FLAGS)
    world = opened.experiment.world
    for name, file, data in (
        ("objects", objects, "a table or images"),
        ("features", features, "feature vectors"),
    ):
        if (
            file is not None and not assign and not hasattr(world.options, name)
        ):  # else it may be another world
            raise ConfigError(
                f"--{name}: the world of {run}, {world.kind}, has no {name} of a file to exchange: expected a run "
                f"that was trained on {data}"
            )
    given = {"world.objects": objects, "world.features": features, "reasoning": reason}
    changes = {key: value for key, value in given.items() if value is not None}
    if noise is not None:
        from ecsuite.eval.run_metrics.noise_grid import noise_grid, rates_in, report
        from ecsuite.parts.registry import split_names

        shares = rates_in(rates)
        own_code.trust(name.partition(",")[0] for name in split_names(noise))
        changed = opened.changed(changes, assign or [], receiver_from, place.type)
        report(noise_grid(*changed, noise, shares)).publish(out=out, picture=plot, as_json=as_json, form=form)
        return
    if intervene is not None:
        rows = opened.intervene(
            intervene, changes, assign or [], receiver_from=receiver_from, device=place.type
        )
        if as_json:
            print_json({"run": str(run), "interventions": [row.to_json() for row in rows]})
        else:
            publish([rows.table()], form)
        return
    if out is not None:
        prepare_output_file(out)
        table = opened.interactions(
            changes,
            assign or [],
            probabilities="probabilities" in kept,
            receiver_from=receiver_from,
            device=place.type,
        )
        write_atomically(out, as_parquet(table))
        note(f"{table.num_rows:,} rounds written to {out}")
    found = opened.evaluate(changes, assign or [], receiver_from=receiver_from, device=place.type)
    chance = opened.chance(changes, assign or [])
    if as_json:
        print_json({"run": str(run), "evaluations": found, "chance": chance})
        return
    publish([_evaluations(found, chance)], form)


def names_to_keep(keep: str | None, out: Path | None) -> list[str]:
    """The names of `--keep`; `ConfigError` if one is unknown, or there is no file for them."""
    from ecsuite.games.config.sections import require_kept

    names = [] if keep is None else [name.strip() for name in keep.split(",")]
    for name in names:
        require_kept(name)
    if "languages" in names:
        raise ConfigError("--keep languages: for training only: expected interactions, probabilities")
    if names and (out is None or out.suffix != ".parquet"):
        raise ConfigError(f"--keep {keep}: expected a file for them, such as --out interactions.parquet")
    if out is not None and not names:
        raise ConfigError("--out: used with --keep interactions only")
    return names


def _evaluations(
    found: Mapping[str, Mapping[str, float]], chance: Mapping[str, Mapping[str, float]]
) -> Table:
    """Table with one row per evaluation and measure, with the chance level."""
    from ecsuite.games.tasks.directions import held_out_of, time_bound

    def shown(measure: str, figures: Mapping[str, float]) -> Cell:
        value = figures[measure]
        cell = percent(value) if "accuracy" in measure else number(value, 3)
        return bounded(cell, time_bound(measure, figures))

    names = {"valid": held_out_of(found) or "validation"}
    rows = [
        row_of(
            names.get(name, name),
            measure,
            shown(measure, measures),
            shown(measure, chance[name]) if measure in chance[name] else nothing(),
        )
        for name, measures in found.items()
        for measure in measures
    ]
    columns = (name_column("evaluation", merges=True), name_column("measure"))
    return Table(columns=(*columns, number_column("value"), number_column("chance level")), rows=rows)
