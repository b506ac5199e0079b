"""Tables and figures of comparisons: sources in all scores or one, differences."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any

from ecsuite.eval.metrics import traits_of
from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.results.comparison import ComparedScore, Comparison, Means
from ecsuite.eval.results.equal_sizes import NUM_DRAWS, EqualSizes
from ecsuite.eval.results.files import XFERBENCH
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import (
    EQUAL_SIZES,
    FormedProtocols,
    Sample,
    is_over_blocks,
    noise_between,
    repetition,
)
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.estimates import Difference
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals, is_share, unit_notes
from ecsuite.eval.views.runs import shown
from ecsuite.eval.views.score_tables import ARROWS
from ecsuite.games.tasks.directions import DIRECTIONS
from ecsuite.parts.config import parse_yaml
from ecsuite.runtime.errors import ConfigError, unknown_name
from ecsuite.tables.cells import (
    INTERVAL,
    UNDEFINED,
    Cell,
    Role,
    bounded,
    interval,
    nothing,
    number,
    p_value,
    text,
)
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

ROLES: Mapping[str, Role] = {"higher": "good", "lower": "bad"}
"""Roles of conclusions for metrics with a direction."""
DIGITS = 4
"""Decimals of scores and differences of one metric."""
INTERVALS = "intervals of the scores"
"""Basis of a difference between two single corpora."""
CENSORED = "censored values, which bound the true ones"
"""Reason for no conclusion on a difference that has an interval."""
OF_BOUNDS = (
    "≥, ≤: bounds of the true value, as some values are censored: an accuracy of 1 or 0, the time of a run that ended "
    "early; ?: both kinds of bounds."
)
OVER_BLOCKS = (
    "Intervals are over combinations of the other settings, not over seeds, where one has a single run."
)
FORMED = "protocol: number of seeds whose accuracy is above chance level (95 % interval of their share)."
SPLIT = (
    "Some seeds formed a protocol and others did not: the mean may be far from all seeds, so look at each."
)
Settings = Mapping[str, Any]


def formed_column(formed: Iterable[FormedProtocols | None]) -> Column:
    """Column of the number of protocols, shown if a row has several seeds."""
    shown = any(each is not None and each.of > 1 for each in formed)
    return number_column("protocol", parts=INTERVAL, is_shown=shown)


def formed_cell(formed: FormedProtocols | None) -> Cell:
    """Number of seeds that formed a protocol, and the interval of their share."""
    if formed is None:
        return nothing(UNDEFINED)
    parts = dict(zip(INTERVAL, formed.ci95, strict=True))
    return Cell(value=formed.share, lines=(str(formed),), parts=parts)


def formed_notes(formed: Iterable[FormedProtocols | None]) -> list[str]:
    """Explanation of the column of protocols, and a warning if outcomes have two peaks."""
    several = [each for each in formed if each is not None and each.of > 1]
    return [FORMED][: len(several)] + [SPLIT] * any(0 < each.number < each.of for each in several)


def report(compared: Comparison) -> Report:
    """Report of a comparison in all scores: one row per score, one column per source, notes and JSON data."""
    lines = []
    if len(compared.sources) > 2:
        num_clear = sum(each.is_clear for each in compared.differences)
        lines.append(f"{num_clear} of {len(compared.differences)} differences are significant.")
    elif len(compared.sources) == 1:
        lines.append("One source only: no comparison.")
    has_rows = len(compared.sources) > 2 and any(each.is_clear for each in compared.differences)
    lines += family_notes(compared, has_intervals=has_rows)
    samples = [sample for score in compared.scores for sample in score.samples.values()]
    if any(each.basis == INTERVALS and each.p_value is not None for each in compared.differences):
        lines.append(noise_between(samples))
    unknown: dict[str, dict[str, None]] = {}
    for score in compared.scores:
        if why := repetition(list(score.samples.values())):
            lines.append(f"{XFERBENCH}: {why}; {EQUAL_SIZES}.")
            continue
        for each in score.differences:
            if each.conclusion == "unknown":
                why = each.basis if each.bound is None or each.ci95 is None else CENSORED
                unknown.setdefault(why, {})[score.name] = None
    lines += [f"unknown ({basis}): {', '.join(names)}." for basis, names in unknown.items()]
    ranked = [sample.signature for sample in samples if sample.signature.startswith(XFERBENCH)]
    limits = dict.fromkeys(map(limits_of, ranked))
    lines += [f"{XFERBENCH}: {each}." for each in limits if each]
    lines += _left_out_notes(compared)
    runs = {sample.name: sample.runs for sample in samples}
    formed = {name: FormedProtocols.of_runs(runs.get(name, ())) for name in compared.sources}
    if notes := formed_notes(formed.values()):
        counts = "; ".join(f"{name} {each}" for name, each in formed.items() if each is not None)
        lines += [f"Seeds that formed a protocol: {counts}.", *notes]
    tables = [_score_rows(compared)]
    if has_rows:
        tables.append(_clear_differences(compared))
    return Report(
        tables=tables,
        notes=tuple(lines),
        data=compared.to_json() | {"notes": lines},
        draw=partial(draw_comparison, compared.scores),
    )


def report_one(compared: Comparison) -> Report:
    """Report of a comparison in one requested score: the sources, the differences, notes, JSON data."""
    [score] = compared.scores
    lines = _notes_on_one(compared, score)
    tables = [_sources_table(score)]
    if score.differences:
        tables.append(_difference_table(score))
    return Report(
        tables=tables,
        notes=tuple(lines),
        data=compared.one_to_json() | {"notes": lines},
        draw=partial(draw_comparison, compared.scores),
    )


def family_notes(compared: Comparison, *, has_intervals: bool = True) -> list[str]:
    """Notes on tests, Holm's family, and compared sizes: the same lines for every command.

    Args:
        compared: The comparison.
        has_intervals: Whether the tables show the intervals of differences.
    """
    measured = [each for each in compared.differences if each.p_value is not None]
    lines = []
    if measured:
        names = [
            score.name
            for score in compared.scores
            if any(each.p_value is not None for each in score.differences)
        ]
        scores = (
            names[0]
            if len(names) == 1
            else f"{len(names)} scores ({shorten(', '.join(names), 60, placeholder=' …')})"
        )
        bases = "; ".join(dict.fromkeys(each.basis for each in measured))
        bases = bases.replace(INTERVALS, "from the scores' 95 % intervals")
        corrected = (
            f", with Holm's correction for {len(measured)} comparisons of {scores}"
            if len(measured) > 1
            else ""
        )
        lines.append(f"{'95 % CI and p' if has_intervals else 'p'}: {bases}{corrected}.")
    by_size: dict[int, list[str]] = {}
    for score in compared.scores:
        if score.size is not None:
            by_size.setdefault(score.size, []).append(score.name)
    lines += [
        f"{', '.join(names)}: at {size:,} messages, the mean of {NUM_DRAWS} subsamples of larger corpora."
        for size, names in by_size.items()
    ]
    samples = [sample for score in compared.scores for sample in score.samples.values()]
    if any(is_over_blocks(sample.blocks) for sample in samples):
        lines.append(OVER_BLOCKS)
    if any(sample.bound for sample in samples):
        lines.append(OF_BOUNDS)
    return lines


def _left_out_notes(compared: Comparison) -> Iterable[str]:
    """Notes on sources and scores that are not compared, with the reasons."""
    of_reason: dict[str, list[str]] = {}
    for score in compared.scores:
        if score.reason:
            of_reason.setdefault(score.reason, []).append(score.name)
    yield from (f"{', '.join(names)}: {reason}" for reason, names in of_reason.items())
    for name, why in compared.without.items():
        yield f"{name} is not compared: {why}."
    if compared.left_out:
        names = shorten(", ".join(compared.left_out), 60, placeholder=" …")
        yield f"{len(compared.left_out)} left out (undefined, or in one source only): {names}; --json has the reasons."


def _notes_on_one(compared: Comparison, score: ComparedScore) -> list[str]:
    protocols = formed_notes(FormedProtocols.of_runs(each.runs) for each in score.ranked)
    if not score.differences:
        alone = ["One source only: no comparison."] if len(score.samples) == 1 else []
        return [*alone, *protocols, *_left_out_notes(compared)]
    lines = family_notes(compared)
    if compared.num_comparisons > 1:
        lines.append("higher or lower: p below .05 after the correction.")
    if any(each.hedges_g is not None for each in score.differences):
        lines.append(
            "g: Hedges' g, the difference in standard deviations over seeds, with its 95 % interval."
        )
    if any(each.basis == INTERVALS for each in score.differences):
        lines.append(noise_between(score.samples.values()))
    unknown = dict.fromkeys(each.basis for each in score.differences if each.ci95 is None)
    lines += [f"Not compared: {why}." for why in unknown]
    return [*lines, *protocols, *_left_out_notes(compared)]


def _score_rows(compared: Comparison) -> Table:
    """Table with one row per score and one column per source; for two sources also their difference."""
    is_pair = len(compared.sources) == 2
    columns = [name_column("score"), Column("better", heading="")]
    columns += [number_column(name, heading=name, parts=INTERVAL) for name in compared.sources]
    if is_pair:
        columns += [
            number_column("difference", "diff.", parts=INTERVAL),
            number_column("p"),
            Column("conclusion", wraps=True),
        ]
    rows = []
    for score in compared.scores:
        cells = [text(score.direction, shown=ARROWS[score.direction])]
        for name in compared.sources:
            sample = score.samples.get(name)
            cell = nothing(UNDEFINED) if sample is None else bounded(number(sample.score), sample.bound)
            bounds = None if sample is None else sample.interval  # for CSV and frames
            cells.append(
                cell if bounds is None else replace(cell, parts=dict(zip(INTERVAL, bounds, strict=True)))
            )
        rows.append(row_of(score.name, *cells, *(_pair_cells(score, compared.sources) if is_pair else [])))
    return Table(columns=columns, rows=rows)


def _pair_cells(score: ComparedScore, sources: tuple[str, ...]) -> list[Cell]:
    """Cells of the difference (first minus second), p-value and conclusion for two sources."""
    each = score.difference(*sources)
    if each is None:
        return [nothing(), nothing(), text("not comparable", role="dim")]
    bounds = {} if each.ci95 is None else dict(zip(INTERVAL, each.ci95, strict=True))
    cells = [bounded(replace(number(each.mean), parts=bounds), each.bound), p_value(each.p_holm)]
    if not each.is_clear:
        return [*cells, text(each.conclusion, role="dim")]
    higher, lower = sources if each.mean > 0 else reversed(sources)
    better = {"higher": higher, "lower": lower}.get(score.direction or "")
    return [*cells, text(f"{higher} higher" if better is None else f"{better} better", role="good")]


def _clear_differences(compared: Comparison) -> Table:
    """Table with one row per difference of two sources that is significant."""
    columns = (
        name_column("score"),
        name_column("first"),
        name_column("second", "minus"),
        number_column("difference", parts=INTERVAL),
        number_column("p"),
        Column("conclusion", wraps=True),
    )
    rows = [
        row_of(
            score.name,
            each.source,
            each.baseline,
            bounded(interval(each.mean, each.ci95), each.bound),
            p_value(each.p_holm),
            text(each.conclusion, role="good"),
        )
        for score in compared.scores
        for each in score.differences
        if each.is_clear
    ]
    return Table(columns=columns, rows=rows, title="Significant differences")


def _sources_table(score: ComparedScore) -> Table:
    """Table of the sources in one score: value with interval and, over seeds, standard deviation."""
    samples = score.ranked
    has_seeds = any(each.deviation is not None for each in samples)
    formed = [FormedProtocols.of_runs(each.runs) for each in samples]
    columns = (
        name_column("source"),
        number_column("score", parts=INTERVAL),
        number_column("sd", "SD of seeds", is_shown=has_seeds),
        number_column("seeds"),
        formed_column(formed),
    )
    rows = [
        row_of(
            each.name,
            bounded(interval(each.score, each.interval, DIGITS), each.bound),
            number(each.deviation, DIGITS),
            len(each.seeds),
            formed_cell(own),
        )
        for each, own in zip(samples, formed, strict=True)
    ]
    return Table(columns=columns, rows=rows, title=f"{score.name}, 95 % intervals: {samples[0].signature}")


def _difference_table(score: ComparedScore) -> Table:
    """Table of the differences to the baseline, or of all pairs."""
    which = "All pairs" if score.baseline is None else "Differences to the baseline"
    how_many = f", {len(score.differences)} comparisons" if len(score.differences) > 1 else ""
    has_effect = any(each.hedges_g is not None for each in score.differences)
    columns = (
        name_column("first"),
        name_column("second", "minus"),
        number_column("difference", parts=INTERVAL),
        number_column("p"),
        number_column("hedges_g", "g", parts=INTERVAL, is_shown=has_effect),
        Column("conclusion", wraps=True),
    )
    rows = [
        row_of(
            each.source,
            each.baseline,
            bounded(interval(each.mean, each.ci95, DIGITS), each.bound),
            p_value(each.p_holm),
            interval(each.hedges_g, each.hedges_g_ci95, 2),
            text(each.conclusion, role=ROLES.get(each.conclusion, "dim")),
        )
        for each in score.differences
    ]
    return Table(columns=columns, rows=rows, title=f"{which}: first minus second{how_many}")


def draw_comparison(scores: Sequence[ComparedScore], file: Path) -> None:
    """Draw the scores of several sources.

    Args:
        scores: Samples of the sources in each score; of several scores, those in other units are left out.
        file: The output file, .svg, .pdf or .png.

    Raises:
        ConfigError: If matplotlib is missing, or the file has another suffix.
    """
    rows = {score.name: [_point(score.name, sample) for sample in score.ranked] for score in scores}
    left_out = [name for name, points in rows.items() if len(rows) > 1 and not all(map(is_share, points))]
    points = [point for name, points in rows.items() if name not in left_out for point in points]
    sources = list(dict.fromkeys(point.series for point in points))
    title = " and ".join(sources) if len(sources) < 3 else f"{len(sources)} sources compared"
    panel = Panel(points=points, axis="score, with its 95 % interval")
    save(intervals(panel, title=title, notes=unit_notes(left_out)), file)


def _point(name: str, result: Sample) -> Point:
    low, high = result.interval or (None, None)
    direction = traits_of(name).direction
    return Point(
        row=name,
        value=None if FormedProtocols.is_split(result.runs) else result.score,
        low=low,
        high=high,
        series=result.name,
        direction=direction,
        bound=result.bound,
        single=result.seed_scores.tolist(),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreAbout:
    """Meaning, direction and signatures of a score."""

    name: str
    about: str
    """Meaning of the score in a line; empty for a measure of the training."""
    direction: str | None
    """The better direction: higher, lower, or None."""
    signatures: tuple[str, ...]
    """All its signatures; scores with different signatures are not comparable."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Differences:
    """Differences of settings to a base."""

    base: str
    """The base in words."""
    is_chosen: bool
    """Whether the user named the base."""
    rows: tuple[tuple[str, str, Difference], ...]
    """Setting, score and difference."""
    reasons: tuple[str, ...]
    """Reasons why scores could not be compared."""
    notes: tuple[str, ...]
    """Tests, the family of Holm's correction, and the sizes at which scores are compared."""


def about_scores(sources: Sequence[Source], names: Sequence[str]) -> list[ScoreAbout]:
    """Meaning, direction and signatures of scores by name."""
    found = []
    for name in names:
        records = [record for source in sources for record in source.records_of(name)]
        signatures = dict.fromkeys(record.signature for record in records if record.signature)
        about = next((record.about for record in records if record.about), "")
        direction = traits_of(name).direction or DIRECTIONS.get(name)
        found.append(ScoreAbout(name=name, about=about, direction=direction, signatures=tuple(signatures)))
    return found


def differences(
    table: Means,
    sources: Sequence[Source],
    base: str | None,
    sizes: EqualSizes | None = None,
    by: Sequence[str] | None = None,
) -> Differences | None:
    """Compute the differences of the rows of a table to a base.

    Args:
        table: A row for each combination of settings.
        sources: The runs of the table.
        base: Settings (`channel.kind=gumbel`): a row is compared with the row that has these and otherwise its own
            values; or the path of a run, whose row is the base of all; None: the first row, in the comparison of all
            pairs.
        sizes: Subsamples of larger corpora.
        by: Settings of a row that the user named; None: all that vary.

    Returns:
        None if there is only one row, or if no base was named and no row has several seeds.

    Raises:
        ConfigError: If no row has these settings, or no run has this path.
    """
    rows = [dict(zip(table.keys, row.settings, strict=True)) for row in table.rows]
    if base is not None:
        changed, words = _base(base, rows, table.keys, sources)
    else:
        changed, words = (rows[0], label(rows[0])) if rows else ({}, "")
    if len(rows) < 2 or table.comparison is None:
        return None
    names = [row.name for row in table.rows]
    pairs = []
    for name, row in zip(names, rows, strict=True):
        other = {**row, **changed}
        if other != row and other in rows:
            pairs.append((name, names[rows.index(other)]))
    compared = table.comparison
    if base is not None:
        chosen = [score.name for score in compared.scores]
        compared = (
            Results(sources)
            .group(by)
            .compare(chosen, as_rows=True, sizes=sizes, pairs=partial(_chosen, pairs))
        )
    elif all(each.p_value is None for each in compared.differences) and not any(
        score.reason for score in compared.scores
    ):
        return None  # one seed each: differences have no test
    found = [
        (label(rows[names.index(first)]), score.name, each)
        for score in compared.scores
        for first, second in pairs
        if (each := score.difference(first, second)) is not None
    ]
    return Differences(
        base=words,
        is_chosen=base is not None,
        rows=tuple(found),
        reasons=tuple(
            dict.fromkeys(f"{score.name}: {score.reason}" for score in compared.scores if score.reason)
        ),
        notes=tuple(family_notes(compared)),
    )


def _chosen(names: Sequence[tuple[str, str]], samples: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Pairs of samples with these names."""
    by_name = {sample.name: sample for sample in samples}
    return [(by_name[one], by_name[two]) for one, two in names if one in by_name and two in by_name]


def label(settings: Settings) -> str:
    """Settings as text in one line."""
    return ", ".join(f"{key}={shown(value)}" for key, value in settings.items()) or "all runs"


def _base(
    base: str, rows: Sequence[Settings], keys: Sequence[str], sources: Sequence[Source]
) -> tuple[dict[str, Any], str]:
    """Settings in which the base differs from a row, and the base in words."""
    if "=" not in base:
        for folder, settings in ((source.folder, source.settings) for source in sources):
            if folder is not None and (folder.name == base or folder.resolve() == Path(base).resolve()):
                own = {key: settings.get(key) for key in keys}
                return own, label(own)
        raise ConfigError(
            f"--base {base}: not one of the runs: expected settings such as channel.kind=gumbel, or the path of a run"
        )
    changed = {}
    values_of = {key: {shown(row[key]): row[key] for row in rows} for key in keys}
    parts: list[str] = []
    for piece in base.split(","):
        before, key = parts[-1].partition("=")[0] if parts else "", piece.strip().partition("=")[0]
        if key not in keys and any("," in value for value in values_of.get(before, ())):
            parts[-1] += f",{piece}"  # part of a value with commas
        else:
            parts.append(piece.strip())
    for part in parts:
        key, equals, text = part.partition("=")
        if not equals:
            raise ConfigError(
                f"--base {base}: expected settings such as channel.kind=gumbel, or the path of a run"
            )
        if key not in keys:
            if not keys:
                raise ConfigError(f"--base {base}: no setting differs between these runs")
            raise unknown_name("--base: setting", key, list(keys))
        values = values_of[key]
        wanted = shown(parse_yaml(f"value: {text}", "--base")["value"]) if text else text
        if wanted not in values:
            raise unknown_name(f"--base: value of {key}", text, list(values))
        changed[key] = values[wanted]
    if not any(all(row[key] == value for key, value in changed.items()) for row in rows):
        raise ConfigError(f"--base {base}: no run has these settings")
    return changed, label(changed)
