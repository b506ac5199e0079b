"""Tables and figure of a comparison: scores, differences (to a baseline, by pair, by language), writing systems."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ecsuite.eval.metrics.score import Signature
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.files import XFERBENCH
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import samples_of
from ecsuite.eval.statistics.estimates import Difference
from ecsuite.eval.views import comparison as views
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.xferbench.comparison import XferBenchComparison, anchors_for, compare, in_words
from ecsuite.eval.xferbench.normalising import WritingMatrix
from ecsuite.tables.cells import INTERVAL, Cell, Role, interval, nothing, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

DIGITS = 3
"""Decimals of scores and differences."""
ROLES: Mapping[str, Role] = {"better": "good", "worse": "bad"}
"""Role of a table cell, by conclusion."""
FAINT = ("not significant", "unknown")
"""Conclusions of differences that are printed faintly."""


def report(comparison: XferBenchComparison) -> Report:
    """Tables, notes, JSON data and figure of a comparison."""
    return Report(
        tables=tables(comparison),
        notes=tuple(comparison.notes),
        data=comparison.to_json(),
        draw=lambda file: draw_comparison(comparison, file),
    )


def tables(comparison: XferBenchComparison) -> list[Table]:
    """All tables: scores, pairs (without a baseline), differences by language, writing systems."""
    tables = [score_table(comparison)]
    if comparison.baseline is None and comparison.differences:
        tables.append(_pair_table(comparison))
    if comparison.differences:
        tables.append(_language_table(comparison))
    for matrix, kind in ((comparison.scripts, "script"), (comparison.kinds, "type of writing system")):
        if matrix is not None:
            tables.append(_writing_table(matrix, kind))
    return tables


def score_table(comparison: XferBenchComparison) -> Table:
    """Scores, and differences to the baseline with their conclusions."""
    has_seeds = any(each.deviation is not None for each in comparison.results)
    columns = [
        name_column("source"),
        number_column("score"),
        number_column("sd", "SD of seeds", is_shown=has_seeds),
        number_column("seeds"),
    ]
    columns += [] if comparison.baseline is None else _DIFFERENCE
    of_source = {each.source: each for each in comparison.differences}
    rows = []
    for result in comparison.results:
        cells = [number(result.score, DIGITS), number(result.deviation, DIGITS)]
        differences: list[Cell] = []
        if result is comparison.baseline:
            differences = [nothing(), text("baseline", role="dim")]
        elif comparison.baseline is not None:
            differences = _difference(of_source[result.name])
        rows.append(row_of(result.name, *cells, len(result.seeds), *differences))
    correction = "" if comparison.baseline is None else _correction(comparison)
    title = f"XferBench, nats per token, lower is better{correction}"
    return Table(columns=columns, rows=rows, title=title, notes=[comparison.signature])


def _language_table(comparison: XferBenchComparison) -> Table:
    against = "the second source" if comparison.baseline is None else comparison.baseline.name
    columns = [*_sources(comparison), *(number_column(target, target) for target in comparison.targets)]
    rows = [
        row_of(
            *_names(comparison, each),
            *(
                number(each.details["by_target"][target], DIGITS, is_bare=True)
                for target in comparison.targets
            ),
        )
        for each in comparison.differences
    ]
    return Table(columns=columns, rows=rows, title=f"Difference to {against} by language, nats per token")


def _pair_table(comparison: XferBenchComparison) -> Table:
    rows = [
        row_of(*_names(comparison, each), *_difference(each), p_value(each.p_holm))
        for each in comparison.differences
    ]
    title = "All pairs: first minus second; better: the first is better" + _correction(comparison)
    columns = (*_sources(comparison), *_DIFFERENCE, number_column("p"))
    return Table(columns=columns, rows=rows, title=title)


def _correction(comparison: XferBenchComparison) -> str:
    """Number of comparisons and their correction."""
    number = comparison.num_comparisons
    return f"; {number} comparisons, corrected by Holm's procedure" if number > 1 else ""


def _sources(comparison: XferBenchComparison) -> list[Column]:
    """Columns with the names of the compared sources: two without a baseline."""
    if comparison.baseline is not None:
        return [name_column("source")]
    return [name_column("source"), name_column("baseline", "minus")]


def _names(comparison: XferBenchComparison, each: Difference) -> list[str]:
    return [each.source] if comparison.baseline is not None else [each.source, each.baseline]


_DIFFERENCE = [
    number_column("difference", "difference [95 %]", parts=INTERVAL),
    Column("conclusion", wraps=True),
]


def _difference(each: Difference) -> list[Cell]:
    words = in_words(each)
    role = ROLES.get(words, "dim")
    if role != "dim" and each.details["seed_error"] is None:
        words, role = f"{words} (these models)", "dim"
    return [interval(each.mean, each.ci95, DIGITS), text(words, role=role)]


def _writing_table(matrix: WritingMatrix, kind: str) -> Table:
    """Mean normalised scores of human sources by writing system of source and target."""
    columns = [name_column("source"), *(number_column(target, target) for target in matrix.targets)]
    rows = [
        row_of(source, *(number(float(value), 2) for value in values))
        for source, values in zip(matrix.sources, matrix.values, strict=True)
    ]
    title = f"Human sources (rows) and targets (columns) by {kind}: normalised scores, lower is better"
    return Table(columns=columns, rows=rows, title=title)


def draw_comparison(comparison: XferBenchComparison, *paths: Path) -> None:
    """Draw a row per source, best first, as in the paper's figure 2.

    The left panel shows the score of each source, its seeds as small marks, and the interval of the paper's procedure
    as computed by the authors' program, among comparable published scores. With a baseline, the right panel shows the
    difference for each language, their mean, and its interval.

    Raises:
        ConfigError: If matplotlib is missing, or a file is not .svg, .pdf or .png.
    """
    scores = sorted(_scores(comparison), key=lambda point: point.value or 0.0)
    panels = [Panel(points=scores, axis="XferBench, nats per token (lower is better)")]
    if comparison.baseline is not None and comparison.differences:
        axis = f"difference to {comparison.baseline.name}"
        panels.append(Panel(points=list(_differences(comparison)), axis=axis, single_name="one language"))
    has_intervals = any(point.low is not None for point in scores)
    note = "lines in the first panel: 95 % CI of the paper's program" if has_intervals else ""
    save(intervals(*panels, title=_title(comparison), notes=[note]), *paths)


def _scores(comparison: XferBenchComparison) -> Iterator[Point]:
    """Scores of the compared sources, then comparable published scores."""
    anchors = anchors_for(comparison.signature)
    bounds = {each.name: each.program for each in comparison.normalised}
    for result in comparison.results:
        low, high = bounds.get(result.name) or (None, None)
        yield Point(
            row=result.name,
            value=result.score,
            low=low,
            high=high,
            series="scored here" if anchors else "",
            single=result.seed_scores.tolist(),
        )
    for name, score in anchors.items():
        yield Point(row=f"{name} (published)", value=score, series="published")


def _differences(comparison: XferBenchComparison) -> Iterator[Point]:
    """Differences to the baseline, with a series per conclusion."""
    of_source = {each.source: each for each in comparison.differences}
    for result in comparison.results:
        if (each := of_source.get(result.name)) is None:
            yield Point(row=result.name, value=0.0, text="baseline", is_faint=True)
            continue
        low, high = each.ci95 or (None, None)
        yield Point(
            row=result.name,
            value=each.mean,
            low=low,
            high=high,
            series=in_words(each),
            single=tuple(each.details["by_target"].values()),
            is_faint=in_words(each) in FAINT,
        )


def _title(comparison: XferBenchComparison) -> str:
    parts = Signature(comparison.signature).options
    settings = [parts[key] for key in ("preset", "protocol") if parts.get(key)]
    number = len(comparison.results)
    sources = comparison.results[0].name if number == 1 else f"{number} sources, best first"
    return f"XferBench ({', '.join(settings)}): {sources}" if settings else f"XferBench: {sources}"


def compare_sources(
    sources: Results,
    names: Sequence[str] | None,
    baseline: str | None,
    *,
    by: Sequence[str] | None,
    with_incomplete: bool,
    sizes: EqualSizes,
) -> Report:
    """Compare sources, and report the comparison: in XferBench alone over languages and seeds, otherwise by one rule.

    Several trainings of one game are compared in XferBench as in every other score. See `Results.compare`.
    """
    if names == [XFERBENCH] or (names is None and sources.common_scores()[0] == [XFERBENCH]):
        counted = Results(each for each in sources if each.counts(with_incomplete=with_incomplete))
        groups = {each.group or str(number) for number, each in enumerate(counted)}
        if by is None and 0 < len(counted) == len(groups):
            return report(compare(samples_of(counted, XFERBENCH), baseline))
    compared = sources.compare(names, baseline, by=by, with_incomplete=with_incomplete, sizes=sizes)
    is_one = names is not None and len(names) == 1
    return views.report_one(compared) if is_one else views.report(compared)
