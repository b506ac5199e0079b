"""Tables and notes of means over seeds or settings."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ecsuite.eval.metrics import table_order, traits_of
from ecsuite.eval.metrics.traits import QUESTIONS
from ecsuite.eval.results.comparison import Means
from ecsuite.eval.results.samples import (
    Estimate,
    FormedProtocols,
    Sample,
    over_seeds,
)
from ecsuite.eval.results.sources import Source, setting_column
from ecsuite.eval.statistics.estimates import NO_INTERVAL
from ecsuite.eval.views.comparison import (
    OF_BOUNDS,
    OVER_BLOCKS,
    family_notes,
    formed_cell,
    formed_column,
    formed_notes,
)
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals, is_share, unit_notes
from ecsuite.eval.views.runs import figure_titles
from ecsuite.eval.views.score_tables import ARROWS, SHOWN
from ecsuite.tables.cells import (
    COUNTED,
    UNDEFINED,
    Cell,
    bounded,
    estimate,
    nothing,
    number,
    of_some,
    text,
)
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

MOST_SCORES = 5
"""Maximum number of scores in a short table of means."""
MEAN_DIGITS = 3
"""Decimals of means over settings."""
LEFT_OUT = ("failed", "incomplete")
"""Runs that are not in the means; columns of CSV and frames."""
BEST = "Bold: the best of a column, and values that do not differ from it significantly; never single runs."
OF_SOME = (
    "n: seeds in the mean, if fewer than the runs: some values are undefined, have another signature than most, or "
    "lack a combination of other settings that all rows share."
)


def seed_report(sources: Sequence[Source]) -> Report:
    """Report of the scores of several seeds of one game: means over seeds, and the two parts of their spread.

    Args:
        sources: Scored runs of one game, see `is_one_game`; runs that do not count are not in the means.
    """
    counted = [each for each in sources if each.counts()]
    means = over_seeds(counted)
    lines, formed = _seed_notes(counted, means), FormedProtocols.of_runs(counted)
    lines += [
        f"{each.name}: not in the means: {each.failure or each.ending}."
        for each in sources
        if not each.counts()
    ]
    if formed is not None:
        lines += [f"Seeds that formed a protocol: {formed}.", *formed_notes([formed])]
    title = f"{sources[0].game}: {len(counted)} seed{'s' if len(counted) != 1 else ''}"
    data = {
        "over_seeds": [
            {
                "name": name,
                "seeds": sample.seeds,
                "values": sample.seed_scores.tolist(),
                "mean": mean.mean,
                "ci95": None if mean.ci95 is None else list(mean.ci95),
                **({} if mean.bound is None else {"bound": mean.bound}),
                "sd": mean.sd,
                "within_sd": mean.within_sd,
                "between_sd": mean.between_sd,
                "sizes": sample.sizes,
            }
            for name, sample, mean in means
        ],
        **({} if formed is None else {"formed": formed.to_json()}),
        "notes": lines,
    }
    draw = partial(_draw_means, means, title) if means else None
    return Report(tables=[_seed_table(means, title)], notes=tuple(lines), data=data, draw=draw)


def mean_cell(mean: Estimate, digits: int | None = None, num_runs: int = 0) -> Cell:
    """Cell of a mean over seeds with its interval, its mark and its role, and n if it has fewer values than runs."""
    cell = estimate(
        mean.mean,
        mean.half_width,
        digits,
        num_values=mean.num_values,
        limits=mean.limits,
        role="best" if mean.is_best else "",
    )
    return of_some(bounded(cell, mean.bound), mean.num_values, num_runs)


def _seed_table(means: Sequence[tuple[str, Sample, Estimate]], title: str) -> Table:
    """Table with one row per score: mean with interval over seeds, and the two spreads."""
    columns = (
        name_column("score"),
        Column("better", heading=""),
        number_column("mean", "mean over seeds", parts=COUNTED),
        number_column("sd", "SD of seeds"),
        number_column("between_sd", "of trainings"),
        number_column("within_sd", "within a corpus"),
        number_column("seeds"),
    )
    rows = []
    for name, _, mean in means:
        direction = traits_of(name).direction
        rows.append(
            row_of(
                name,
                text(direction, shown=ARROWS[direction]),
                mean_cell(mean),
                number(mean.sd),
                number(mean.between_sd),
                number(mean.within_sd),
                mean.num_values,
            )
        )
    return Table(columns=columns, rows=rows, title=title)


def _draw_means(means: Sequence[tuple[str, Sample, Estimate]], title: str, file: Path) -> None:
    """Draw each mean with its interval over seeds; scores in other units are left out.

    Raises:
        ConfigError: If matplotlib is missing, or the file has another suffix.
    """
    points = []
    for name, sample, mean in means:
        low, high = mean.ci95 or (None, None)
        direction = traits_of(name).direction
        points.append(
            Point(
                row=name,
                value=None if FormedProtocols.is_split(sample.runs) else mean.mean,
                low=low,
                high=high,
                direction=direction,
                bound=mean.bound,
                single=sample.seed_scores.tolist(),
            )
        )
    usual = [point for point in points if is_share(point)]
    left_out = [point.row for point in points if point not in usual]
    panel = Panel(points=usual or points, axis="mean over seeds, with its 95 % interval")
    save(intervals(panel, title=title, notes=unit_notes(left_out) if usual else []), file)


def _seed_notes(sources: Sequence[Source], means: Sequence[tuple[str, Sample, Estimate]]) -> list[str]:
    lines = [
        "Mean ± half of Student's 95 % interval over seeds. The standard deviation of seeds has two parts: between "
        "trainings, and within a corpus (noise), from the intervals of single scores."
    ]
    lines += equal_notes(mean for *_, mean in means)
    few = [name for name, _, mean in means if mean.num_values < len(sources)]
    if few:
        lines.append(f"Undefined for some seeds: {', '.join(few)}.")
    unequal = [name for name, sample, _ in means if len(set(sample.sizes)) > 1]
    if unequal:
        lines.append(f"Depend on the size of the corpus, which differs: {', '.join(unequal)}.")
    return lines


def most_important(means: Means) -> list[str]:
    """The figures that are shown by default: measures, and the first scores of each question, as in `score`."""
    values: dict[str, int] = Counter(
        name for source in means.sources for name, value in source.scores.items() if value is not None
    )
    known = {name for source in means.sources for name in source.scores}
    scores = sorted((name for name in means.figures if values[name]), key=table_order)
    questions, before = list(QUESTIONS), Counter[str]()
    ranks = dict[str, tuple[bool, int, int]]()
    for name in scores:
        question = traits_of(name).question
        rank = before[question]
        ranks[name] = (rank >= SHOWN.get(question, 0), rank, questions.index(question))
        before[question] += 1
    chosen = sorted(ranks, key=ranks.__getitem__)[:MOST_SCORES]
    return [name for name in means.figures if name in chosen or name not in known]


def means_table(means: Means, *, is_short: bool = False) -> Table:
    """Table with one row per combination of settings and one column per figure; the best values are bold.

    Args:
        means: The rows.
        is_short: Whether text shows the most important figures only.
    """
    figures = most_important(means) if is_short else list(means.figures)
    names = [setting_column(name, ("runs", *means.figures)) for name in means.keys]
    columns = [name_column(name, setting_heading(name)) for name in names]
    titles, formed = figure_titles(means.sources), [each.formed for each in means.rows]
    columns += [
        number_column("runs", parts=LEFT_OUT),
        formed_column(formed),
        *(
            number_column(each, titles.get(each, each), parts=COUNTED, is_shown=each in figures)
            for each in means.figures
        ),
    ]
    rows = []
    for each in means.rows:
        left_out = (each.num_failed, each.num_incomplete)
        words = [
            f"{number} {word}"
            for number, word in zip(left_out, ("failed", "not complete"), strict=True)
            if number
        ]
        shown = f"{each.num_runs:,}" + (f" ({', '.join(words)})" if words else "")
        runs = Cell(value=each.num_runs, lines=(shown,), parts=dict(zip(LEFT_OUT, left_out, strict=True)))
        settings = (nothing(UNDEFINED) if value is None else text(value) for value in each.settings)
        cells = (mean_cell(cell, MEAN_DIGITS, each.num_runs) for cell in each.cells)
        rows.append(row_of(*settings, runs, formed_cell(each.formed), *cells))
    some = any(0 < cell.num_values < each.num_runs for each in means.rows for cell in each.cells)
    asked = {name for source in means.sources for name in source.asked}
    requested = [name for name in means.figures if name in asked and name not in figures]
    cells_shown = [cell for each in means.rows for cell in each.cells]
    notes = [
        *([OF_SOME] if some else []),
        *_undefined_notes(means, [*figures, *requested]),
        *equal_notes(cells_shown),
        *formed_notes(formed),
    ]
    if left := [place for place, name in enumerate(means.figures) if name not in figures]:
        best = sum(any(each.cells[place].is_best for each in means.rows) for place in left)
        notes.append(f"{len(left)} more scores{f', {best} with a best value' if best else ''}: add --all")
    if means.comparison is not None:
        if any(cell.is_best for cell in cells_shown):
            notes.append(BEST)
        notes += family_notes(means.comparison)
        reasons = dict.fromkeys(score.reason for score in means.comparison.scores if score.reason)
        notes += [f"Not compared: {why}." for why in reasons]
    if any(cell.num_blocks for cell in cells_shown) and OVER_BLOCKS not in notes:
        notes.append(OVER_BLOCKS)
    if any(cell.bound for cell in cells_shown) and OF_BOUNDS not in notes:
        notes.append(OF_BOUNDS)
    return Table(columns=columns, rows=rows, notes=notes)


def _undefined_notes(means: Means, figures: Sequence[str]) -> list[str]:
    """Reasons why some of the figures are undefined in some runs, the same reason once."""
    names: dict[str, dict[str, None]] = {}
    for name in figures:
        for source in means.sources:
            for record in source.records_of(name):
                if record.value is None and record.reason:
                    names.setdefault(record.reason, {})[name] = None
    return [f"Undefined in some runs: {', '.join(of)}: {reason}." for reason, of in names.items()]


def equal_notes(means: Iterable[Estimate]) -> list[str]:
    """Note on means without an interval although they are over several seeds."""
    return [NO_INTERVAL] * any(mean.num_values > 1 and mean.half_width is None for mean in means)


def noise_notes(sources: Sequence[Source], figures: Sequence[str]) -> list[str]:
    """Note whether measures of agents include channel noise, if the channel of a run has some."""
    measures = {name for source in sources for name in source.measures if name in figures}
    states = {
        bool(_setting(source, "evaluation.noise"))
        for source in sources
        if source.is_run and _has_noise(source)
    }
    if not measures or not states:
        return []
    words = "some runs with the noise of the channel, others without it (evaluation.noise)"
    if states == {True}:
        words = "with the noise of the channel"
    elif states == {False}:
        words = "without the noise of the channel, which is in training only (evaluation.noise)"
    return [f"{', '.join(name for name in figures if name in measures)}: {words}."]


def _has_noise(source: Source) -> bool:
    """Whether the channel of a source changes symbols."""
    kind = _setting(source, "channel.noise.kind") or _setting(source, "channel.noise")
    return kind not in (None, "none")


def _setting(source: Source, key: str) -> Any:
    return source.settings[key] if key in source.settings else source.config.get(key)


def setting_heading(name: str) -> tuple[str, ...]:
    """Name of a setting with its section above it, which makes the column narrower."""
    section, point, rest = name.partition(".")
    return (section + point, rest) if point else (section,)
