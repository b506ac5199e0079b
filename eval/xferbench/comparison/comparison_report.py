"""Tables of a comparison: scores, differences (to a baseline or of each pair; by language), writing systems."""

from collections.abc import Mapping

from ecsuite.eval.statistics.differences import Difference
from ecsuite.eval.views.console import Report
from ecsuite.eval.xferbench.comparison.comparison import Comparison
from ecsuite.eval.xferbench.comparison.differences import in_words
from ecsuite.eval.xferbench.comparison.drawing import draw_comparison
from ecsuite.eval.xferbench.comparison.writing_systems import WritingMatrix
from ecsuite.tables.cells import INTERVAL, Cell, Role, interval, nothing, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

DIGITS = 3
"""Decimals of scores and differences."""
ROLES: Mapping[str, Role] = {"better": "good", "worse": "bad"}
"""What conclusions stand for."""


def report(comparison: Comparison) -> Report:
    """The output of a command: tables, notes, JSON data and figure."""
    return Report(
        tables=tables(comparison),
        notes=tuple(comparison.notes),
        data=comparison.to_json(),
        draw=lambda file: draw_comparison(comparison, file),
    )


def tables(comparison: Comparison) -> list[Table]:
    """All tables: scores, pairs (without a baseline), differences by language, writing systems."""
    tables = [score_table(comparison)]
    if comparison.baseline is None and comparison.differences:
        tables.append(_pair_table(comparison))
    if comparison.differences:
        tables.append(_language_table(comparison))
    for matrix, what in ((comparison.scripts, "script"), (comparison.kinds, "type of writing system")):
        if matrix is not None:
            tables.append(_writing_table(matrix, what))
    return tables


def score_table(comparison: Comparison) -> Table:
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
    correction = "" if comparison.baseline is None else _how_many(comparison)
    title = f"XferBench, nats per token, lower is better{correction}"
    return Table(columns=columns, rows=rows, title=title, notes=[comparison.signature])


def _language_table(comparison: Comparison) -> Table:
    """Differences by language."""
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


def _pair_table(comparison: Comparison) -> Table:
    """Differences of all pairs of sources."""
    rows = [
        row_of(*_names(comparison, each), *_difference(each), p_value(each.p_holm))
        for each in comparison.differences
    ]
    title = "All pairs: first minus second; better: the first is better" + _how_many(comparison)
    columns = (*_sources(comparison), *_DIFFERENCE, number_column("p"))
    return Table(columns=columns, rows=rows, title=title)


def _how_many(comparison: Comparison) -> str:
    """Number of comparisons and their correction, for a title."""
    number = comparison.num_comparisons
    return f"; {number} comparisons, corrected by Holm's procedure" if number > 1 else ""


def _sources(comparison: Comparison) -> list[Column]:
    """The columns of the names: of each pair without a baseline."""
    if comparison.baseline is not None:
        return [name_column("source")]
    return [name_column("source"), name_column("baseline", "minus")]


def _names(comparison: Comparison, each: Difference) -> list[str]:
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


def _writing_table(matrix: WritingMatrix, what: str) -> Table:
    """Mean normalised scores of human sources by writing system of source and target."""
    columns = [name_column("source"), *(number_column(target, target) for target in matrix.targets)]
    rows = [
        row_of(source, *(number(float(value), 2) for value in values))
        for source, values in zip(matrix.sources, matrix.values, strict=True)
    ]
    title = f"Human sources (rows) and targets (columns) by {what}: normalised scores, lower is better"
    return Table(columns=columns, rows=rows, title=title)
