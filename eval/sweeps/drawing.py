"""The pictures of many runs that `ecsuite compare table --plot` draws, by their kinds."""

from collections.abc import Sequence
from pathlib import Path

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.results.sources import Source
from ecsuite.eval.sweeps import pictures
from ecsuite.eval.views.figures.canvas import prepare_picture, save
from ecsuite.eval.views.figures.efficiency_plane import draw_plane
from ecsuite.games.directions import DIRECTIONS
from ecsuite.runtime.errors import ConfigError

KINDS = ("curves", "over", "heat", "parallel", "plane")
"""What can be drawn: learning curves, a score over a numeric setting, by two settings, by all side by side, and the
efficiency plane."""


def draw(
    sources: Sequence[Source],
    file: Path,
    *,
    kind: str = "curves",
    measure: str = "accuracy",
    over: str | None = None,
    by: Sequence[str] | None = None,
) -> str:
    """Draw runs into a file, and say in a line what is in it.

    Args:
        sources: The runs; others are left out, but on the plane.
        file: The picture, .svg or .png.
        kind: One of `KINDS`.
        measure: A measure of the evaluations; but for curves, any score.
        over: The numeric setting of kind over; None: the only one that varies.
        by: Settings that are told apart, of heat two; None: all that vary.

    Raises:
        ConfigError: If a name is unknown, too little varies, or matplotlib is missing.
    """
    runs = [source for source in sources if source.is_run]
    direction = traits_of(measure).direction or DIRECTIONS.get(measure)
    whole = [run for run in runs if run.failure is None and run.is_whole]  # others are not drawn
    number = sum(run.figures.get(measure) is not None for run in whole) or len(whole)
    told = f"{measure} of {number} runs"
    if kind == "plane":
        figure, told = draw_plane(sources), f"{len(sources)} languages beside the bound"
    elif kind == "curves":
        figure, lines = pictures.sweep_curves(runs, measure, by)
        told = f"{told}, {_lines(len(lines))} with bands over seeds,"
    elif kind == "over":
        figure, lines = pictures.over_setting(runs, measure, over, by, direction)
        told = f"{told}, {_lines(len(lines))} with intervals over seeds,"
    elif kind == "heat":
        varying = list(dict.fromkeys(key for run in runs for key in run.settings))
        if by is None and len(varying) < 2:
            raise ConfigError("--kind heat: fewer than two settings vary between these runs")
        keys = by or varying[:2]
        figure = pictures.score_heat_map(runs, measure, keys)
        told = f"{told} by {' and '.join(keys)}"
    else:
        figure = pictures.settings_side_by_side(runs, measure, direction)
        told = f"{measure} and the settings of {number} runs"
    prepare_picture(file)
    save(figure, file)
    return f"{told} in {file}"


def _lines(number: int) -> str:
    return "1 line" if number == 1 else f"{number} lines"
