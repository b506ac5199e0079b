"""The picture of a comparison: for each score a dot for each source, with its 95 % interval."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.intervals import Panel, Point, intervals
from ecsuite.eval.metrics import traits_of
from ecsuite.eval.reports.score_chart import has_usual_unit, unit_notes
from ecsuite.eval.results.samples import Sample


def draw_comparison(scores: Mapping[str, Sequence[Sample]], file: Path) -> None:
    """Draw the scores of several sources.

    Args:
        scores: By the name of the score, what each source has; of several scores, those in other units are left out.
        file: The output file, .svg or .png.

    Raises:
        ConfigError: If matplotlib is missing, or the file has another suffix.
    """
    rows = {name: [_point(name, result) for result in results] for name, results in scores.items()}
    left_out = [
        name for name, points in rows.items() if len(rows) > 1 and not all(map(has_usual_unit, points))
    ]
    points = [point for name, points in rows.items() if name not in left_out for point in points]
    sources = list(dict.fromkeys(point.series for point in points))
    title = " and ".join(sources) if len(sources) < 3 else f"{len(sources)} sources compared"
    panel = Panel(points=points, axis="score, with its 95 % interval")
    save(intervals(panel, title=title, notes=unit_notes(left_out)), file)


def _point(name: str, result: Sample) -> Point:
    low, high = result.ci95 or (None, None)
    direction = traits_of(name).direction
    return Point(row=name, value=result.score, low=low, high=high, series=result.name, direction=direction)
