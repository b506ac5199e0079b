"""Tables of a comparison: scores, differences (to a baseline or of each pair; by language), writing systems."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.eval.reports.console import Report
from ecsuite.eval.reports.difference_tables import p_value_text
from ecsuite.eval.statistics.differences import Difference, Interval
from ecsuite.eval.xferbench.comparison.comparison import Comparison
from ecsuite.eval.xferbench.comparison.differences import in_words
from ecsuite.eval.xferbench.comparison.drawing import draw_comparison
from ecsuite.eval.xferbench.comparison.writing_systems import WritingMatrix

WIDTH = 80
"""Width of a terminal in characters."""
NAME_WIDTH = 24
"""Maximum width of source names in tables."""
NARROW_NAME_WIDTH = 19
"""The same in tables of ten languages."""


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
        tables += language_tables(comparison)
    for matrix, what in ((comparison.scripts, "script"), (comparison.kinds, "type of writing system")):
        if matrix is not None:
            tables.append(_writing_table(matrix, what))
    return tables


def score_table(comparison: Comparison) -> Table:
    """Scores, and differences to the baseline with their conclusions."""
    table = _new_table("source", NAME_WIDTH, ("score", "seeds"))
    if comparison.baseline is not None:
        _add_difference_columns(table)
    of_source = {each.source: each for each in comparison.differences}
    for result in comparison.results:
        spread = "" if result.deviation is None else f" ±{_short(result.deviation)}"
        cells: list[str | Text] = [f"{result.score:.3f}{spread}", str(len(result.seeds))]
        if result is comparison.baseline:
            cells += [Text("baseline", "dim"), "", ""]
        elif comparison.baseline is not None:
            cells += _difference_cells(of_source[result.name])
        table.add_row(Text(result.name), *cells)
    correction = "" if comparison.baseline is None else _how_many(comparison)
    return _titled(f"XferBench, nats per token, lower is better\n{comparison.signature}{correction}", table)


def language_tables(comparison: Comparison) -> list[Table]:
    """Differences by language; several tables if a terminal is too narrow for all languages."""
    against = "the second source" if comparison.baseline is None else comparison.baseline.name
    rows = {
        target: [_short(each.details["by_target"][target]) for each in comparison.differences]
        for target in comparison.targets
    }
    width = 1 + max(len(text) for target, cells in rows.items() for text in (target, *cells))
    at_once = max(1, (WIDTH - NARROW_NAME_WIDTH) // width)
    tables = []
    for start in range(0, len(comparison.targets), at_once):
        targets = comparison.targets[start : start + at_once]
        table = _new_table("source", NARROW_NAME_WIDTH, targets, gap=1)
        for number, each in enumerate(comparison.differences):
            table.add_row(_label(comparison, each), *(rows[target][number] for target in targets))
        tables.append(_titled(f"Difference to {against} by language, nats per token", table))
    return tables


def _pair_table(comparison: Comparison) -> Table:
    """Differences of all pairs of sources."""
    table = _new_table("sources", NAME_WIDTH + 12)
    _add_difference_columns(table)
    table.add_column("p", justify="right", no_wrap=True)
    for each in comparison.differences:
        table.add_row(_label(comparison, each), *_difference_cells(each), p_value_text(each.p_holm))
    return _titled(
        "All pairs: first minus second; better: the first is better" + _how_many(comparison), table
    )


def _how_many(comparison: Comparison) -> str:
    """Number of comparisons and their correction, for a title."""
    number = comparison.num_comparisons
    return f"\n{number} comparisons, corrected by Holm's procedure" if number > 1 else ""


def _label(comparison: Comparison, each: Difference) -> Text:
    return Text(each.source if comparison.baseline is not None else f"{each.source} - {each.baseline}")


def _new_table(first: str, width: int, numbers: Sequence[str] = (), *, gap: int = 2) -> Table:
    """A table with a column of names, at most `width` wide, columns of numbers, and `gap` spaces between columns."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap - 1, 0, 0))
    table.add_column(first, max_width=width, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _titled(title: str, table: Table) -> Table:
    """A table with a title, which may be wider than the table, and an empty line below."""
    whole = Table.grid()
    whole.add_row(Text(title, overflow="fold"))
    whole.add_row(table)
    whole.add_row("")
    return whole


def _add_difference_columns(table: Table) -> None:
    table.add_column("difference", justify="right", no_wrap=True)
    table.add_column("95 % CI", no_wrap=True)
    table.add_column("conclusion", no_wrap=True)


def _difference_cells(each: Difference) -> list[str | Text]:
    words = in_words(each)
    style = {"better": "green", "worse": "red"}.get(words, "dim")
    if style != "dim" and each.details["seed_error"] is None:
        words, style = f"{words} (these models)", "dim"
    return [_short(each.mean), _interval(each.ci95), Text(words, style)]


def _writing_table(matrix: WritingMatrix, what: str) -> Table:
    """Mean normalised scores of human sources by writing system of source and target."""
    table = _new_table("source", NAME_WIDTH, matrix.targets)
    for source, row in zip(matrix.sources, matrix.values, strict=True):
        table.add_row(source, *(f"{value:.2f}" for value in row))
    return _titled(
        f"Human sources (rows) and targets (columns) by {what}: normalised scores, lower is better", table
    )


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else f"{_short(interval[0])} … {_short(interval[1])}"


def _short(value: float) -> str:
    """Three decimals without a leading zero: -.035."""
    text = f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"
    return ".000" if text == "-.000" else text
