"""Tables of the scores of several sources, and of their differences."""

from functools import partial

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.eval.comparison.differences import Comparison
from ecsuite.eval.reports.comparison_chart import draw_comparison
from ecsuite.eval.reports.console import Report
from ecsuite.eval.statistics.differences import Difference

NAME_WIDTH = 24
"""Maximum width of source names."""
COLOURS = {"higher": "green", "lower": "red"}
"""Colours of conclusions; whether higher is better depends on the metric."""


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
    if any(basis.startswith("intervals of the scores") for basis in found):
        lines.append(
            "Intervals of scores do not include noise between seeds: train each source with several seeds."
        )
    return lines


def score_table(comparison: Comparison) -> Table:
    """Scores with their intervals or standard deviations over seeds."""
    table = _new_table(f"{comparison.metric}\n{comparison.results[0].signature}")
    table.add_column("source", max_width=NAME_WIDTH, overflow="fold")
    for heading in ("score", "95 %", "seeds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in comparison.results:
        spread = "" if result.deviation is None else f" ±{result.deviation:.4f}"
        bounds = "" if result.ci95 is None else f"{result.ci95[0]:.4f} … {result.ci95[1]:.4f}"
        table.add_row(Text(result.name), f"{result.score:.4f}{spread}", bounds, str(len(result.seeds)))
    return table


def difference_table(comparison: Comparison) -> Table:
    """Differences to the baseline, or of all pairs."""
    number = len(comparison.differences)
    which = "All pairs" if comparison.baseline is None else "Differences to the baseline"
    table = _new_table(f"{which}: first minus second" + (f", {number} comparisons" if number > 1 else ""))
    table.add_column("sources", max_width=NAME_WIDTH + 8, overflow="fold")
    table.add_column("difference", justify="right", no_wrap=True)
    for heading in ("95 % CI", "p", "conclusion"):
        table.add_column(heading, no_wrap=True)
    for each in comparison.differences:
        table.add_row(Text(f"{each.source} - {each.baseline}"), *_cells(each))
    return table


def _cells(each: Difference) -> list[str | Text]:
    bounds = "" if each.ci95 is None else f"{each.ci95[0]:.4f} … {each.ci95[1]:.4f}"
    conclusion = Text(each.conclusion, COLOURS.get(each.conclusion, "dim"))
    return [f"{each.mean:.4f}", bounds, p_value_text(each.p_holm), conclusion]


def p_value_text(p_value: float | None) -> str:
    """A p-value in a table: `.012`, `<.001`."""
    if p_value is None:
        return ""
    return "<.001" if p_value < 0.001 else f"{p_value:.3f}".removeprefix("0")


def _new_table(title: str) -> Table:
    return Table(
        title=Text(title),
        title_justify="left",
        title_style="",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
