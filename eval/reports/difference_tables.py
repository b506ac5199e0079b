"""Tables of the scores of several sources, and of their differences."""

from collections.abc import Mapping
from functools import partial

from ecsuite.eval.reports.comparison_chart import draw_comparison
from ecsuite.eval.results.comparison import Comparison
from ecsuite.eval.results.samples import noise_between
from ecsuite.eval.views.console import Report
from ecsuite.tables.cells import INTERVAL, Role, interval, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

ROLES: Mapping[str, Role] = {"higher": "good", "lower": "bad"}
"""Roles of conclusions; whether higher is better depends on the metric."""
DIGITS = 4
"""Decimals of scores and differences."""


def report(comparison: Comparison) -> Report:
    """The output of a command: tables, notes and JSON data."""
    lines = notes(comparison)
    tables = [score_table(comparison)]
    if comparison.differences:
        tables.append(difference_table(comparison))
    return Report(
        tables=tables,
        notes=tuple(lines),
        data=comparison.to_json() | {"notes": lines},
        draw=partial(draw_comparison, {comparison.metric: comparison.results}),
    )


def notes(comparison: Comparison) -> list[str]:
    """Notes on what the differences are based on, and on the correction."""
    if not comparison.differences:
        return ["One source only: no comparison."]
    found = dict.fromkeys(each.basis for each in comparison.differences)
    lines = [f"95 % CI and p: {'; '.join(found)}."]
    if comparison.num_comparisons > 1:
        lines.append(
            f"p: with Holm's correction for {comparison.num_comparisons} comparisons; higher or lower: below .05."
        )
    if any(each.hedges_g is not None for each in comparison.differences):
        lines.append(
            "g: Hedges' g, the difference in standard deviations over seeds, with its 95 % interval."
        )
    if any(basis.startswith("intervals of the scores") for basis in found):
        lines.append(noise_between(comparison.results))
    return lines


def score_table(comparison: Comparison) -> Table:
    """Scores with their intervals and, over seeds, standard deviations."""
    has_seeds = any(each.deviation is not None for each in comparison.results)
    columns = (
        name_column("source"),
        number_column("score", parts=INTERVAL),
        number_column("sd", "SD of seeds", is_shown=has_seeds),
        number_column("seeds"),
    )
    rows = [
        row_of(
            each.name,
            interval(each.score, each.ci95, DIGITS),
            number(each.deviation, DIGITS),
            len(each.seeds),
        )
        for each in comparison.results
    ]
    return Table(
        columns=columns,
        rows=rows,
        title=f"{comparison.metric}, 95 % intervals: {comparison.results[0].signature}",
    )


def difference_table(comparison: Comparison) -> Table:
    """Differences to the baseline, or of all pairs."""
    which = "All pairs" if comparison.baseline is None else "Differences to the baseline"
    how_many = f", {len(comparison.differences)} comparisons" if len(comparison.differences) > 1 else ""
    has_effect = any(each.hedges_g is not None for each in comparison.differences)
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
            interval(each.mean, each.ci95, DIGITS),
            p_value(each.p_holm),
            interval(each.hedges_g, each.hedges_g_ci95, 2),
            text(each.conclusion, role=ROLES.get(each.conclusion, "dim")),
        )
        for each in comparison.differences
    ]
    return Table(columns=columns, rows=rows, title=f"{which}: first minus second{how_many}")
