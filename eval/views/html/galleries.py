"""Figures of the page: learning curves, scores by settings, and pairs of scores, each selected by name."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ecsuite.eval.experiments import pictures
from ecsuite.eval.metrics import table_order
from ecsuite.eval.metrics.conclusions import Conclusion, conclusions
from ecsuite.eval.metrics.score import Score
from ecsuite.eval.results.comparison import Means
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.logs import read_evaluations
from ecsuite.eval.results.sources import Source, kind_of
from ecsuite.eval.statistics.correlation import spearman
from ecsuite.eval.views.comparison import Differences, ScoreAbout, about_scores
from ecsuite.eval.views.figures.canvas import as_svg
from ecsuite.eval.views.figures.curves import Curve
from ecsuite.eval.views.figures.efficiency_plane import draw_plane, planes
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.games.runs.run_folder import RunFolder
from ecsuite.runtime.errors import ConfigError

MOST = 6
"""Maximum number of figures in a gallery."""
MAX_CURVES = 400
"""Maximum number of combinations of settings with curves, as more can't be read."""
MAX_SYSTEMS = 100
"""Maximum number of rows in a figure of systems."""
MAX_SIDE = 16
"""Maximum number of values of a setting in a map of two settings."""
FIRST_MEASURES = ("accuracy", "loss", "length")
"""Measures that come first."""
MOST_SCORES = 8
"""Maximum number of scores in a table, if none were requested."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemScore:
    """A score of a system."""

    value: float | None
    """Value; None: undefined, or not measured."""
    low: float | None = None
    high: float | None = None
    """Bounds of its 95 % interval."""
    chance: float | None = None
    """Its chance level."""
    reason: str = ""
    """Reason why it is undefined."""
    is_faint: bool = False
    """Whether it does not differ from chance: the level is in its interval, or the value in the range of chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class System:
    """Row of the table of systems."""

    name: str
    kind: str
    """Origin: the game of a run, `grammar`, or `corpus`."""
    problem: str
    """Reason why it failed or did not end as planned; empty if it did."""
    num_messages: int | None
    corpus: int | None
    """Index of its messages in the page's browser; None if they are not there."""
    cells: tuple[SystemScore, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Systems:
    """All systems of a page."""

    rows: tuple[System, ...]
    about: tuple[ScoreAbout, ...]
    """Meaning, direction and signatures of the scores, in the order of the cells."""
    num_more: int
    """Number of scores that are not shown."""

    @property
    def kinds(self) -> dict[str, int]:
        """Number of systems by kind."""
        return dict(Counter(row.kind for row in self.rows).most_common())

    @property
    def num_failed(self) -> int:
        """Number of systems that failed, or did not end as planned."""
        return sum(bool(row.problem) for row in self.rows)


def systems(sources: Sequence[Source], places: Mapping[str, int], names: Sequence[str] | None) -> Systems:
    """Table with one row per source.

    Args:
        sources: Runs, corpora and scores files.
        places: Indices of their messages in the browser, by title.
        names: Requested scores; None: the scores that most sources have.
    """
    counts = Counter(
        record.name
        for source in sources
        for record in source.records
        if not record.is_measure and record.value is not None
    )
    common = [name for name, _ in counts.most_common(MOST_SCORES)]
    chosen = [name for name in names if name in counts] if names else sorted(common, key=table_order)
    about = about_scores(sources, chosen)
    return Systems(
        rows=tuple(
            System(
                name=source.title,
                kind=_kind(source),
                problem=source.failure or ("" if source.is_whole else source.ending),
                num_messages=_num_messages(source),
                corpus=places.get(source.title),
                cells=tuple(cells_of(source, chosen)),
            )
            for source in sources
        ),
        about=tuple(about),
        num_more=len(counts) - len(chosen),
    )


def _kind(source: Source) -> str:
    if source.is_run:
        return source.game or "run"
    return kind_of(source.metadata)


def _num_messages(source: Source) -> int | None:
    number = source.sizes.get("num_messages", source.metadata.get("num_messages"))
    return int(number) if isinstance(number, int | float) else None


def cells_of(source: Source, names: Sequence[str]) -> list[SystemScore]:
    """The named scores of a source; grey if `ecsuite score` does not conclude that they differ from chance."""
    records = [record for record in source.records if not record.is_measure]
    found: dict[str, tuple[Score, Conclusion]] = {}
    for record, judged in zip(records, conclusions(records, _num_messages(source)), strict=True):
        found.setdefault(record.name, (record, judged))
    return [
        _cell(*found[name]) if name in found else SystemScore(value=None, reason="not measured")
        for name in names
    ]


def _cell(record: Score, judged: Conclusion) -> SystemScore:
    if record.value is None:
        return SystemScore(value=None, reason=record.reason or "undefined")
    low, high = record.ci95 or (None, None)
    chance, is_faint = record.chance, judged.relation in ("equal", "unknown")
    if (
        chance is not None and judged.p_holm is None
    ):  # as in a file without the permutations: what it has decides
        word = record.stored.get("conclusion")
        holds_level = low is not None and high is not None and low <= chance.level <= high
        is_faint = holds_level or chance.low <= record.value <= chance.high
        is_faint = not word.startswith(("above", "below")) if isinstance(word, str) else is_faint
    return SystemScore(
        value=float(record.value),
        low=low,
        high=high,
        chance=None if chance is None else chance.level,
        is_faint=is_faint,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class GalleryItem:
    """A figure of a gallery."""

    name: str
    svg: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Gallery:
    """Figures of one kind, which the page shows one at a time."""

    id: str
    title: str
    choice: str
    """Label of the choice among its figures."""
    caption: str
    figures: tuple[GalleryItem, ...]


def galleries(
    table: Means,
    sources: Sequence[Source],
    about: Sequence[ScoreAbout],
    compared: Differences | None,
    sizes: EqualSizes,
) -> list[Gallery]:
    """Galleries that have figures.

    Args:
        table: A row for each combination of settings.
        sources: The runs of the table.
        about: Meaning, direction and signatures of its scores.
        compared: Differences of its rows to a base; None without a comparison.
        sizes: Subsamples of the table.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    ended = [source for source in sources if source.counts()]
    found = [
        Gallery(
            id="curves",
            title="Learning curves",
            choice="Measure",
            caption="Lines are means over seeds, bands are Student's 95 % intervals of the means; a line ends with "
            "its shortest seed. If some seeds formed a protocol and others did not, each has a line.",
            figures=tuple(_curves(table, ended)),
        ),
        Gallery(
            id="settings",
            title="Scores by settings",
            choice="Score",
            caption="Means over all runs with these settings; lines and bands around them are 95 % intervals. "
            "Points without a mean are seeds, some of which formed a protocol and others did not.",
            figures=tuple(_scores(table, ended, about, sizes)),
        ),
        Gallery(
            id="of-differences",
            title="Differences to a base",
            choice="Score",
            caption="Differences with 95 % intervals; grey without a conclusion.",
            figures=tuple(_differences(compared) if compared else ()),
        ),
        Gallery(
            id="scores-against",
            title="Two scores",
            choice="Scores",
            caption="A mark for each run.",
            figures=tuple(_pairs(table)),
        ),
    ]
    return [gallery for gallery in found if gallery.figures]


def system_galleries(systems: Systems) -> list[Gallery]:
    """Figures of each score for all systems that have it, the highest first.

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
            summary = f"{len(points)} systems, the highest first. The values are in the table of systems."
            svg = as_svg(intervals(Panel(points=points, axis=score.name)), f"Systems: {score.name}", summary)
            figures.append(GalleryItem(name=score.name, svg=svg))
    caption = (
        "The highest first, with 95 % intervals over messages; grey if a score does not differ from chance."
    )
    gallery = Gallery(
        id="of-systems", title="Systems", choice="Score", caption=caption, figures=tuple(figures)
    )
    return [gallery] if figures else []


def plane_galleries(sources: Sequence[Source]) -> list[Gallery]:
    """Efficiency planes of the scored spaces of meanings whose bounds are stored on this machine.

    Raises:
        ConfigError: If matplotlib is not installed.
    """
    figures = []
    for name, of_space in planes(sources).items():
        with suppress(ConfigError):  # its bound is not stored
            summary = f"Sources with the bound: {len(of_space)}."
            figures.append(
                GalleryItem(name=name, svg=as_svg(draw_plane(of_space), f"Plane: {name}", summary))
            )
    caption = (
        "Information of words about meanings and referents, in bits; the line is the bound for any language."
    )
    gallery = Gallery(
        id="plane", title="Efficiency", choice="Space", caption=caption, figures=tuple(figures[:MOST])
    )
    return [gallery] if figures else []


def _curves(table: Means, sources: Sequence[Source]) -> Iterator[GalleryItem]:
    """Figures of measures against the step, for runs with logs."""
    folders = [
        source.folder for source in sources if source.folder and RunFolder(source.folder).log.is_file()
    ]
    measures: list[str] = []
    if folders and len(table.rows) <= MAX_CURVES:
        with suppress(ConfigError):  # a damaged log
            sections = read_evaluations(folders[0])[0].sections
            found = [name for section in ("valid", "metrics") for name in sections.get(section, ())]
            measures = list(dict.fromkeys([*(name for name in FIRST_MEASURES if name in found), *found]))
    for measure in measures[:MOST]:
        with suppress(ConfigError):  # runs without this measure, or with too many panels
            figure, lines = pictures.sweep_curves(sources, measure, table.keys)
            if any(len(line.x) > 1 for line in lines):
                svg = as_svg(figure, f"Learning curves: {measure}", "; ".join(map(_in_words, lines)))
                yield GalleryItem(name=measure, svg=svg)


def _in_words(line: Curve) -> str:
    """First and last point of a line in words."""
    begin, end = (f"{line.y[place]:.3g} at step {line.x[place]:g}" for place in (0, -1))
    return f"{' '.join(each for each in (line.panel, line.name) if each)}: {begin}, {end}"


def _scores(
    table: Means, sources: Sequence[Source], about: Sequence[ScoreAbout], sizes: EqualSizes
) -> Iterator[GalleryItem]:
    """Figures of each score by settings: lines over a single numeric one, a map of two, or a row per combination."""
    rows, keys = [row.settings for row in table.rows], table.keys
    is_line = len(pictures.numeric_keys(keys, rows)) == 1
    sides = [len({repr(row[place]) for row in rows}) for place in range(len(keys))]
    is_map = len(sides) == 2 and max(sides) <= MAX_SIDE and sides[0] * sides[1] <= 2 * len(rows)
    for each in about[:MOST] if len(rows) > 1 else ():
        with suppress(ConfigError):  # too many panels
            if is_line:
                figure = pictures.over_setting(
                    sources, each.name, by=keys, direction=each.direction, sizes=sizes
                )[0]
            elif is_map:
                figure = pictures.score_heat_map(sources, each.name, keys, sizes)
            elif len(rows) <= pictures.MAX_ROWS:
                figure = pictures.score_intervals(table, each.name, each.direction)
            else:
                break
            summary = f"{len(rows)} combinations of settings. The means are in the table of scores."
            names = f"{each.name} by {', '.join(keys)}"
            yield GalleryItem(name=each.name, svg=as_svg(figure, names, summary))


def _differences(compared: Differences) -> Iterator[GalleryItem]:
    for score in list(dict.fromkeys(score for _, score, _ in compared.rows))[:MOST]:
        points = []
        for setting, name, each in compared.rows:
            if name == score:
                low, high = each.ci95 or (None, None)
                is_faint = each.conclusion not in ("higher", "lower")
                points.append(Point(row=setting, value=each.mean, low=low, high=high, is_faint=is_faint))
        if len(points) <= pictures.MAX_ROWS:
            panel = Panel(points=points, axis=f"{score}, difference to the base", lines={compared.base: 0})
            summary = (
                f"{len(points)} differences to {compared.base}. The values are in the table of differences."
            )
            yield GalleryItem(name=score, svg=as_svg(intervals(panel), f"Differences: {score}", summary))


def _pairs(table: Means) -> Iterator[GalleryItem]:
    """Figures of the first figure of the table against each other one."""
    runs = [run for row in table.rows for run in row.runs]
    for across, up in [(table.figures[0], other) for other in table.figures[1 : MOST + 1]]:
        pairs = [(run.figures.get(across), run.figures.get(up)) for run in runs]
        both = np.array([pair for pair in pairs if None not in pair], dtype=np.float64).reshape(-1, 2)
        if len(both) < 2:
            continue
        rank = float(spearman(both[:, 0], both[:, 1]))
        summary = "" if np.isnan(rank) else f"Spearman's rank correlation over {len(both)} runs: {rank:.2f}"
        figure = pictures.score_against_score(table, across, up, summary)
        yield GalleryItem(
            name=f"{up} against {across}", svg=as_svg(figure, f"{up} against {across}", summary)
        )
