"""The figures of the page: learning curves, scores by settings, and two scores, each by one of its names."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ecsuite.eval.experiments import pictures
from ecsuite.eval.html_report.comparing import Differences, ScoreAbout
from ecsuite.eval.html_report.systems import Systems
from ecsuite.eval.results.logs import read_evaluations
from ecsuite.eval.results.means import Means
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.correlation import spearman
from ecsuite.eval.views.figures.canvas import as_svg
from ecsuite.eval.views.figures.curves import Curve
from ecsuite.eval.views.figures.efficiency_plane import draw_plane, planes
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.runtime.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 6
"""Most figures of a gallery."""
MAX_CURVES = 400
"""Most combinations of settings with curves: of more, no figure can be read."""
MAX_SYSTEMS = 100
"""Most rows of a figure of systems."""
MAX_SIDE = 16
"""Most values of a setting in a map of two settings."""
FIRST_MEASURES = ("accuracy", "loss", "length")
"""Measures that come first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A figure of a gallery."""

    name: str
    svg: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Gallery:
    """Figures of one kind, of which one is seen at a time."""

    id: str
    title: str
    choice: str
    """What tells its figures apart."""
    caption: str
    figures: tuple[Shown, ...]


def galleries(
    table: Means, sources: Sequence[Source], about: Sequence[ScoreAbout], compared: Differences | None
) -> list[Gallery]:
    """The galleries that have figures.

    Args:
        table: A row for each combination of settings.
        sources: The runs of the table.
        about: What is known of its figures.
        compared: Differences of its rows to a base; None: there are none.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    ended = [source for source in sources if source.failure is None and source.is_whole]
    found = [
        Gallery(
            id="curves",
            title="Learning curves",
            choice="Measure",
            caption="Lines are means over seeds, bands reach from the lowest to the highest seed; a line ends where "
            "the first of its seeds ends.",
            figures=tuple(_curves(table, ended)),
        ),
        Gallery(
            id="settings",
            title="Scores by settings",
            choice="Score",
            caption="Means over all runs that have these settings; lines and bands around them are 95 % intervals.",
            figures=tuple(_scores(table, ended, about)),
        ),
        Gallery(
            id="of-differences",
            title="Differences to a base",
            choice="Score",
            caption="Differences with 95 % intervals; grey where nothing can be concluded.",
            figures=tuple(_differences(compared) if compared else ()),
        ),
        Gallery(
            id="scores-against",
            title="Two scores",
            choice="Scores",
            caption="A mark for each run.",
            figures=tuple(_pairs(table, ended)),
        ),
    ]
    return [gallery for gallery in found if gallery.figures]


def system_galleries(systems: Systems) -> list[Gallery]:
    """Each score of all systems that have it, the highest first.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    figures = []
    for place, score in enumerate(systems.about[:MOST]):
        cells = [(row.name, row.cells[place]) for row in systems.rows]
        points = [
            Point(row=name, value=cell.value, low=cell.low, high=cell.high, is_faint=cell.is_faint)
            for name, cell in sorted(cells, key=lambda pair: -(pair[1].value or 0))
            if cell.value is not None
        ]
        if 3 <= len(points) <= MAX_SYSTEMS:
            told = f"{len(points)} systems, the highest first. The table of systems has the values."
            svg = as_svg(intervals(Panel(points=points, axis=score.name)), f"Systems: {score.name}", told)
            figures.append(Shown(name=score.name, svg=svg))
    caption = (
        "The highest first, with 95 % intervals over messages; grey where a score is not told from chance."
    )
    gallery = Gallery(
        id="of-systems", title="Systems", choice="Score", caption=caption, figures=tuple(figures)
    )
    return [gallery] if figures else []


def plane_galleries(sources: Sequence[Source]) -> list[Gallery]:
    """The efficiency plane of each space of meanings of which scores are, where its bound is kept here.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    figures = []
    for name, of_space in planes(sources).items():
        with suppress(ConfigError):  # its bound is not kept
            told = f"Beside the bound: {len(of_space)} of all sources."
            figures.append(Shown(name=name, svg=as_svg(draw_plane(of_space), f"Plane: {name}", told)))
    caption = (
        "Bits that words tell of meanings, and of referents: the line is the best that any language could do."
    )
    gallery = Gallery(
        id="plane", title="Efficiency", choice="Space", caption=caption, figures=tuple(figures[:MOST])
    )
    return [gallery] if figures else []


def _curves(table: Means, sources: Sequence[Source]) -> Iterator[Shown]:
    """A measure against the step, of runs that have logs."""
    folders = [
        source.folder for source in sources if source.folder and (source.folder / "log.jsonl").is_file()
    ]
    for measure in _measures(folders[0]) if folders and len(table.rows) <= MAX_CURVES else ():
        with suppress(ConfigError):  # runs without this measure, or with too many panels
            figure, lines = pictures.sweep_curves(sources, measure, table.keys)
            if any(len(line.x) > 1 for line in lines):
                svg = as_svg(figure, f"Learning curves: {measure}", "; ".join(map(_in_words, lines)))
                yield Shown(name=measure, svg=svg)


def _in_words(line: Curve) -> str:
    """Where a line begins and ends."""
    begin, end = (f"{line.y[place]:.3g} at step {line.x[place]:g}" for place in (0, -1))
    return f"{' '.join(each for each in (line.panel, line.name) if each)}: {begin}, {end}"


def _measures(folder: Any) -> list[str]:
    """The measures in the first evaluation of a run."""
    try:
        sections = read_evaluations(folder)[0].sections
    except ConfigError:
        return []
    names = dict.fromkeys(name for section in ("valid", "metrics") for name in sections.get(section, ()))
    first = [name for name in FIRST_MEASURES if name in names]
    return [*first, *(name for name in names if name not in first)][:MOST]


def _scores(table: Means, sources: Sequence[Source], about: Sequence[ScoreAbout]) -> Iterator[Shown]:
    """Each score by the settings, in the figure that these settings allow."""
    rows = [row.settings for row in table.rows]
    for each in about[:MOST] if len(rows) > 1 else ():
        with suppress(ConfigError):  # too many panels
            if (figure := _by_settings(table, sources, each)) is not None:
                told = f"{len(rows)} combinations of settings. The table of scores has the means."
                names = f"{each.name} by {', '.join(table.keys)}"
                yield Shown(name=each.name, svg=as_svg(figure, names, told))


def _by_settings(table: Means, sources: Sequence[Source], score: ScoreAbout) -> "Figure | None":
    """Lines over the only numeric setting, a map of two settings, a row a combination, or nothing."""
    rows = [row.settings for row in table.rows]
    if len(pictures.numeric_keys(table.keys, rows)) == 1:
        return pictures.over_setting(sources, score.name, by=table.keys, direction=score.direction)[0]
    sides = [len({repr(row[place]) for row in rows}) for place in range(len(table.keys))]
    if len(sides) == 2 and max(sides) <= MAX_SIDE and sides[0] * sides[1] <= 2 * len(rows):
        return pictures.score_heat_map(sources, score.name, table.keys)
    if len(rows) <= pictures.MAX_ROWS:
        return pictures.score_intervals(table, sources, score.name, score.direction)
    return None


def _differences(compared: Differences) -> Iterator[Shown]:
    """The differences of each score."""
    for score in list(dict.fromkeys(score for _, score, _ in compared.rows))[:MOST]:
        points = []
        for setting, name, each in compared.rows:
            if name == score:
                low, high = each.ci95 or (None, None)
                is_faint = each.conclusion not in ("higher", "lower")
                points.append(Point(row=setting, value=each.mean, low=low, high=high, is_faint=is_faint))
        if len(points) <= pictures.MAX_ROWS:
            panel = Panel(points=points, axis=f"{score}, difference to the base", lines={compared.base: 0})
            told = f"{len(points)} differences to {compared.base}. The table of differences has them."
            yield Shown(name=score, svg=as_svg(intervals(panel), f"Differences: {score}", told))


def _pairs(table: Means, sources: Sequence[Source]) -> Iterator[Shown]:
    """The first figure of the table against each other one."""
    runs = [run for group in pictures.groups_of(table, sources) for run in group]  # those that are drawn
    for across, up in [(table.figures[0], other) for other in table.figures[1 : MOST + 1]]:
        pairs = [(run.figures.get(across), run.figures.get(up)) for run in runs]
        both = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
        if len(both) < 2:
            continue
        rank = float(spearman(both[:, 0], both[:, 1]))
        told = "" if np.isnan(rank) else f"Spearman's rank correlation over {len(both)} runs: {rank:.2f}"
        figure = pictures.score_against_score(table, sources, across, up, told)
        yield Shown(name=f"{up} against {across}", svg=as_svg(figure, f"{up} against {across}", told))
