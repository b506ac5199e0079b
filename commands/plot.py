"""`ecsuite plot`: learning curves of runs, and pictures of sweeps."""

from pathlib import Path
from typing import Annotated

import typer

from ecsuite.commands.options import names_in
from ecsuite.runtime.errors import ConfigError, look_up

KINDS = ("curves", "over", "heat", "parallel")
"""What can be drawn."""


def plot(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or the folder of a sweep.")],
    out: Annotated[Path, typer.Option(help="The picture: .svg or .png.")] = Path("curves.svg"),
    measure: Annotated[
        str, typer.Option(help="What is drawn: accuracy, loss, length, ...; but for curves, any score.")
    ] = "accuracy",
    kind: Annotated[
        str,
        typer.Option(
            help="curves; over (a score over a numeric setting, with intervals over seeds); heat (a map of two "
            "settings); parallel (all settings side by side)."
        ),
    ] = "curves",
    over: Annotated[
        str | None,
        typer.Option(
            metavar="SETTING",
            help="The numeric setting of --kind over; default the only one that varies.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            help="Of a sweep: settings that are told apart; of heat two of them; default all that vary."
        ),
    ] = None,
) -> None:
    """Draw learning curves, a line a run; of a sweep means and bands over seeds, or scores by settings."""
    from ecsuite.eval.figures.canvas import check_picture, prepare_picture

    look_up("--kind", kind, dict.fromkeys(KINDS))
    kind = "over" if over is not None and kind == "curves" else kind
    if over is not None and kind != "over":
        raise ConfigError(f"--over: {kind} has no numeric axis; it is read with --kind over")
    for run in runs:
        if not run.exists():
            raise ConfigError(f"{run}: no such run, and no such folder")
    check_picture(out)
    if (
        kind == "curves"
        and by is None
        and all((run / "config.yaml").is_file() or not run.is_dir() for run in runs)
    ):
        from ecsuite.eval.reports.learning_curves import draw_curves

        prepare_picture(out)
        draw_curves(runs, out, measure=measure)
        print(f"{measure} of {len(runs)} {'run' if len(runs) == 1 else 'runs'} in {out}")
        return
    from ecsuite.eval.figures.canvas import save
    from ecsuite.eval.metrics import traits_of
    from ecsuite.eval.records.reading import read_runs
    from ecsuite.eval.sweeps import pictures
    from ecsuite.eval.sweeps.means import DIRECTIONS

    records = [source for source in read_runs(runs) if source.is_run]
    settings = None if by is None else names_in(by)
    direction = traits_of(measure).direction or DIRECTIONS.get(measure)
    of_runs = f"{measure} of {len(records)} runs"
    if kind == "curves":
        figure, lines = pictures.sweep_curves(records, measure, settings)
        told = f"{of_runs}, {_lines(len(lines))} with bands over seeds,"
    elif kind == "over":
        figure, lines = pictures.over_setting(records, measure, over, settings, direction)
        told = f"{of_runs}, {_lines(len(lines))} with intervals over seeds,"
    elif kind == "heat":
        varying = list(dict.fromkeys(key for record in records for key in record.settings))
        if settings is None and len(varying) < 2:
            raise ConfigError("--kind heat: fewer than two settings vary between these runs")
        figure = pictures.score_heat_map(records, measure, settings or varying[:2])
        told = f"{of_runs} by {' and '.join(settings or varying[:2])}"
    else:
        figure = pictures.settings_side_by_side(records, measure, direction)
        told = f"{measure} and the settings of {len(records)} runs"
    prepare_picture(out)
    save(figure, out)
    print(f"{told} in {out}")


def _lines(number: int) -> str:
    return "1 line" if number == 1 else f"{number} lines"
