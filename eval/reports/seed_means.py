"""The table of runs of one game over their seeds: means, and what they vary by."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.intervals import Panel, Point, intervals
from ecsuite.eval.metrics import traits_of
from ecsuite.eval.reports.score_chart import has_usual_unit, unit_notes
from ecsuite.eval.results.samples import SeedMean, over_seeds
from ecsuite.eval.results.sources import Source
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.score_tables import ARROWS
from ecsuite.tables.cells import COUNTED, estimate, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of


def report(sources: Sequence[Source]) -> Report:
    """The output of a command.

    Args:
        sources: Scored runs of one game, see `is_one_game`.
    """
    means = over_seeds(sources)
    lines = notes(sources, means)
    title = f"{sources[0].game}: {len(sources)} seeds"
    data = {
        "over_seeds": [
            asdict(mean) | {"ci95": None if mean.ci95 is None else list(mean.ci95)} for mean in means
        ],
        "notes": lines,
    }
    draw = partial(draw_means, means, title) if means else None
    return Report(tables=[table_of(means, title)], notes=tuple(lines), data=data, draw=draw)


def table_of(means: Sequence[SeedMean], title: str) -> Table:
    """A row a score: mean with its interval over seeds, and the two spreads."""
    columns = (
        name_column("score"),
        Column("better", heading=""),
        number_column("mean", "mean over seeds", parts=COUNTED),
        number_column("sd", "SD of seeds"),
        number_column("between_sd", "of trainings"),
        number_column("within_sd", "within a corpus"),
        number_column("seeds"),
    )
    rows = [
        row_of(
            mean.name,
            text(traits_of(mean.name).direction, shown=ARROWS[traits_of(mean.name).direction]),
            estimate(
                mean.mean, None if mean.ci95 is None else mean.ci95[1] - mean.mean, num_values=len(mean.seeds)
            ),
            number(mean.sd),
            number(mean.between_sd),
            number(mean.within_sd),
            len(mean.seeds),
        )
        for mean in means
    ]
    return Table(columns=columns, rows=rows, title=title)


def draw_means(means: Sequence[SeedMean], title: str, file: Path) -> None:
    """Draw each mean with its interval over seeds; scores in other units are left out.

    Raises:
        ConfigError: If matplotlib is missing, or the file has another suffix.
    """
    points = []
    for mean in means:
        low, high = mean.ci95 or (None, None)
        direction = traits_of(mean.name).direction
        points.append(Point(row=mean.name, value=mean.mean, low=low, high=high, direction=direction))
    usual = [point for point in points if has_usual_unit(point)]
    left_out = [point.row for point in points if point not in usual]
    panel = Panel(points=usual or points, axis="mean over seeds, with its 95 % interval")
    save(intervals(panel, title=title, notes=unit_notes(left_out) if usual else []), file)


def notes(sources: Sequence[Source], means: Sequence[SeedMean]) -> list[str]:
    """What the figures rest on."""
    lines = [
        "Mean ± half of Student's 95 % interval over seeds. The standard deviation of seeds has two parts: that of "
        "trainings, and noise within a corpus, from the intervals of single scores."
    ]
    few = [mean.name for mean in means if len(mean.seeds) < len(sources)]
    if few:
        lines.append(f"Undefined for some seeds: {', '.join(few)}.")
    unequal = [mean.name for mean in means if len(set(mean.sizes)) > 1]
    if unequal:
        lines.append(f"Of corpora of different sizes, on which they depend: {', '.join(unequal)}.")
    return lines
