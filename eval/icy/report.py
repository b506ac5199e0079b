"""Reports of studies: a table for each protocol, with the paper's figures in faint type, and notes below it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ecsuite.eval.icy.budget import GREEN_ABOVE, RED_BELOW, BudgetCell, BudgetRow
from ecsuite.eval.icy.drawing import draw_bars, draw_curves, draw_rows
from ecsuite.eval.icy.end_to_end import MEASURES as PAIR_MEASURES
from ecsuite.eval.icy.end_to_end import PUBLISHED_STEPS, PairCell, PairRow
from ecsuite.eval.icy.grammar_metrics import MetricRow
from ecsuite.eval.icy.measures import MEASURES
from ecsuite.eval.icy.published import CAP as PUBLISHED_CAP
from ecsuite.eval.icy.resolved import BASIS, Study
from ecsuite.eval.icy.result import IcyResult
from ecsuite.eval.icy.rows import Cell, Row
from ecsuite.eval.reports.console import Report
from ecsuite.eval.statistics.t_intervals import seeds_text
from ecsuite.tables.cells import COUNTED, INTERVAL, Role, estimate, nothing, number, text
from ecsuite.tables.cells import Cell as TableCell
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

HERE, PAPER = "here", "the paper"
"""Where the figures of a row are from."""
ORIGIN = Column("origin", is_shown=False)
"""The column that says so, in CSV and frames."""


def report(result: IcyResult) -> Report:
    """The report of a study."""
    study, protocol = result.study, result.study.config.protocol
    rows: Any = result.rows  # of the class of the protocol
    notes: list[str] = []
    draw: Callable[[Path], None] | None = None
    if protocol == "metrics":
        table, draw = metrics_table(study, rows), partial(draw_bars, result)
    elif protocol == "budget":
        table, notes, draw = budget_table(rows), budget_notes(rows), partial(draw_rows, result)
    elif protocol == "end-to-end":
        table, notes = pairs_table(rows), pairs_notes(rows)
        draw = partial(draw_curves, rows[0]) if len(rows) == 1 else None
    else:
        table, notes, draw = rows_table(study, rows), rows_notes(study, rows), partial(draw_rows, result)
    notes = [*result.failures, *notes, *precision_notes(study)]
    return Report(tables=(table,), notes=tuple(notes), data=result.to_json(), draw=draw)


def precision_notes(study: Study) -> list[str]:
    """What was computed where it is not what was asked for."""
    asked, used = study.config.precision, study.training.precision
    if asked == used:
        return []
    return [f"--precision {asked}: this {study.device} device computed in {used}, which the signature says."]


def rows_table(study: Study, rows: Sequence[Row]) -> Table:
    """Means and half-widths of the 95 % interval."""
    columns = [name_column("model"), ORIGIN, number_column("params"), number_column("CONCAT", parts=INTERVAL)]
    columns += [number_column(cell.grammar, cell.grammar.upper(), parts=INTERVAL) for cell in rows[0].cells]
    shown = []
    for each in rows:
        steps = _ratio(each.concat_steps["mean"], each.concat_steps["half_width"])
        cells = (row_cell(cell, study.cap) for cell in each.cells)
        shown.append(
            row_of(each.model, HERE, each.parameters, steps, *cells, ends_section=not each.published)
        )
        if each.published:
            published = (_published_ratio(each.published.get(cell.grammar)) for cell in each.cells)
            model = text(each.model, shown=f"  {PAPER}")
            shown.append(row_of(model, PAPER, None, None, *published, role="dim", ends_section=True))
    return Table(columns=columns, rows=shown)


def row_cell(cell: Cell, cap: float) -> TableCell:
    """Red if no run reached the target, green if the mean is below a third of the cap (section 4.4)."""
    if cell.mean is None:
        return nothing("none")
    if cell.num_censored == len(cell.runs):
        return nothing("stopped early" if cell.is_early else f">{cap:g}", role="bad")
    if cell.num_censored:
        how = "stopped" if cell.is_early else "capped"
        lines = (f"≥{_ratio(cell.mean, None).text}", f"{cell.num_censored}/{len(cell.runs)} {how}")
        return TableCell(value=cell.mean, lines=lines)
    return _ratio(cell.mean, cell.half_width, role="good" if cell.mean < cap / 3 else "")


def rows_notes(study: Study, rows: Sequence[Row]) -> list[str]:
    """Explanations below the table of `rows_table`."""
    spread = "; ± is the half-width of the 95 % interval of the mean" if len(rows[0].seeds) > 1 else ""
    lines = [
        f"{seeds_text(rows[0].seeds)}, protocol {study.training.name}: updates to accuracy "
        f"{study.training.target:g}, relative to CONCAT with the same seed{spread}."
    ]
    for row in rows:
        baseline = "always the most frequent symbol" if row.role == "sender" else "chance level"
        for cell in row.cells:
            if cell.num_censored:
                stopped = [run for run in cell.runs if not run["reached"]]
                accuracy, floor = _mean(stopped, "accuracy"), _mean(stopped, "floor")
                how = "early (early_stop)" if cell.is_early else f"at {study.cap:g} x CONCAT"
                lines.append(
                    f"{row.model} {cell.grammar.upper()}: {cell.num_censored} of {len(cell.runs)} runs stopped {how}, "
                    f"at accuracy {accuracy:.3f} ({baseline}: {floor:.3f}){_as_published(row, cell)}."
                )
        runs = [(BASIS, row.concat_steps["runs"]), *((cell.grammar, cell.runs) for cell in row.cells)]
        if study.training.held_out:
            means = [(grammar, _mean(each, "held_out")) for grammar, each in runs if each]
            lines.append(f"{row.model}, accuracy on held-out meanings at the end: {_by_grammar(means)}.")
    return [*lines, *(f"{row.model}: {row.signature}" for row in rows)]


def _as_published(row: Row, cell: Cell) -> str:
    """Whether the paper's runs were stopped as well."""
    mean, _ = row.published.get(cell.grammar, (0.0, 0.0))
    return f"; as expected: the paper's are >{PUBLISHED_CAP:g}" if mean >= PUBLISHED_CAP else ""


def budget_table(rows: Sequence[BudgetRow]) -> Table:
    """Mean and half-width of the 95 % interval; the last row: floors."""
    columns = [
        name_column("model"),
        Column("channel", heading="over"),
        ORIGIN,
        number_column("params"),
        number_column("steps"),
    ]
    columns += [number_column(cell.grammar, cell.grammar.upper(), parts=INTERVAL) for cell in rows[0].cells]
    shown = []
    for each in rows:
        steps = nothing("never", role="bad") if each.steps is None else number(each.steps, 0)
        cells = (_budget_cell(cell) for cell in each.cells)
        about = (each.model, str(each.channel), HERE, each.parameters, steps)
        shown.append(row_of(*about, *cells, ends_section=not each.published))
        if each.published:
            figures = [_figure(each.published.get(cell.grammar)) for cell in each.cells]
            label = text(each.model, shown=f"  {PAPER}")
            over = text(str(each.channel), shown="")
            shown.append(row_of(label, over, PAPER, None, None, *figures, role="dim", ends_section=True))
    what = "most frequent" if rows[0].role == "sender" else "chance level"
    floors = (number(cell.floor, 3) for cell in rows[0].cells)
    shown.append(row_of(what, None, HERE, None, None, *floors, role="dim"))
    return Table(columns=columns, rows=shown)


def budget_notes(rows: Sequence[BudgetRow]) -> list[str]:
    """Explanations below the table of `budget_table`."""
    unit = "symbols" if rows[0].role == "sender" else "attributes"
    lines = [
        f"{seeds_text(rows[0].seeds)}: accuracy of {unit} after the updates that CONCAT needed with the same seed; "
        f"red below {RED_BELOW:g}, green above {GREEN_ABOVE:g}."
    ]
    lines += [f"{row.model} over {row.channel}: {row.reason}." for row in rows if row.reason]
    for row in rows:
        held_out = [(cell.grammar, cell.held_out) for cell in row.cells if cell.held_out is not None]
        if held_out:
            lines.append(
                f"{row.model} over {row.channel}, accuracy on held-out meanings: {_by_grammar(held_out)}."
            )
    return [*lines, *(row.signature for row in rows)]


def pairs_table(rows: Sequence[PairRow]) -> Table:
    """Final accuracies: mean ± half-width of the 95 % interval."""
    columns = [name_column(name, merges=True) for name in ("sender", "receiver", "over")]
    columns += [Column("updates", align="right", merges=True), ORIGIN, Column("accuracy")]
    columns += [number_column(cell.grammar, cell.grammar.upper(), parts=INTERVAL) for cell in rows[0].cells]
    shown = []
    for each in rows:
        about = (each.sender, each.receiver, str(each.channel), each.max_steps)
        for name in PAIR_MEASURES:
            figures = (_pair_cell(cell, name) for cell in each.cells)
            is_last = name == list(PAIR_MEASURES)[-1] and not each.published
            shown.append(row_of(*about, HERE, name.replace("_", " "), *figures, ends_section=is_last))
        if each.published:
            published = (_figure(each.published.get(cell.grammar)) for cell in each.cells)
            after = "" if each.max_steps == PUBLISHED_STEPS else f", {PUBLISHED_STEPS:,}"
            label = text("paper", shown=f"paper{after}")
            shown.append(row_of(*about, PAPER, label, *published, role="dim", ends_section=True))
    for role, what in (("sender", "most frequent symbol"), ("receiver", "chance level")):
        floors = (number(cell.floors[role], 3) for cell in rows[0].cells)
        shown.append(row_of(what, None, None, None, HERE, role, *floors, role="dim"))
    return Table(columns=columns, rows=shown)


def pairs_notes(rows: Sequence[PairRow]) -> list[str]:
    """Explanations below the table of `pairs_table`."""
    lines = [
        f"{seeds_text(rows[0].seeds)}. "
        + "; ".join(f"{name.replace('_', ' ')}: {what}" for name, what in PAIR_MEASURES.items())
    ]
    for row in rows:
        for cell in row.cells:
            pair = f"{row.sender} and {row.receiver} over {row.channel}, {cell.grammar.upper()}"
            reasons = [f"seed {run['seed']}: {run['reason']}" for run in cell.runs if run["reason"]]
            if reasons:
                lines.append(
                    f"{pair}: {cell.num_masked} of {len(cell.runs)} runs left out ({'; '.join(reasons)})."
                )
            held_out = [run for run in cell.runs if run.get("held_out") is not None]
            if held_out:
                lines.append(f"{pair}, greedy on held-out meanings: {_mean(held_out, 'held_out'):.3f}.")
    return [*lines, *(row.signature for row in rows)]


def metrics_table(study: Study, rows: Sequence[MetricRow]) -> Table:
    """A row per grammar, a column per metric: mean ± 95 % CI; below it the paper's figures."""
    columns = [name_column("grammar"), ORIGIN]
    for name in study.metrics:
        sign = "↓" if MEASURES[name].low_is_compositional else "↑"
        columns.append(number_column(name, f"{name.replace('_', ' ')} {sign}", parts=COUNTED))
    by_name = {(each.grammar, each.measure): each for each in rows}
    shown = []
    for grammar in dict.fromkeys(each.grammar for each in rows):
        figures = [by_name[grammar, name] for name in study.metrics]
        has_published = any(each.published is not None for each in figures)
        shown.append(row_of(grammar, HERE, *map(_metric_cell, figures), ends_section=not has_published))
        if has_published:
            published = (_figure(each.published, 4) for each in figures)
            label = text(grammar, shown=f"  {PAPER}")
            shown.append(row_of(label, PAPER, *published, role="dim", ends_section=True))
    seeds = "1 seed" if len(study.seeds) == 1 else f"{len(study.seeds)} seeds"
    arrows = "↑ high is compositional, ↓ low is compositional"
    note = f"{study.geometry}, {seeds}, mean ± 95 % CI; {arrows}"
    return Table(columns=columns, rows=shown, title=study.config.about or "", notes=[note])


def _mean(runs: Sequence[Any], key: str) -> float:
    return float(sum(run[key] for run in runs) / len(runs))


def _by_grammar(accuracies: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{grammar.upper()} {accuracy:.3f}" for grammar, accuracy in accuracies)


def _ratio(mean: float, half_width: float | None, *, role: Role = "") -> TableCell:
    digits = 0 if mean >= 100 else 1 if mean >= 10 else 2
    return estimate(mean, half_width, digits, role=role, is_stacked=True)


def _published_ratio(figures: tuple[float, float] | None) -> TableCell:
    if figures is None:
        return nothing()
    mean, half_width = figures
    if mean >= PUBLISHED_CAP:
        return nothing(f">{PUBLISHED_CAP:g}")
    cell = estimate(mean, half_width)
    return replace(cell, lines=(f"{mean:g}", f"±{half_width:g}"))


def _budget_cell(cell: BudgetCell) -> TableCell:
    if cell.mean is None:
        return nothing("none")
    return estimate(cell.mean, cell.half_width, 3, role=cell.outcome, is_stacked=True)


def _pair_cell(cell: PairCell, name: str) -> TableCell:
    found = cell.figures[name]
    return estimate(*found, 3, is_stacked=True) if found else nothing("left out")


def _metric_cell(each: MetricRow) -> TableCell:
    """Mean ± half-width, and the number of defined seeds if not all."""
    if each.mean is None:
        return nothing("none")
    defined = sum(value is not None for value in each.values)
    cell = estimate(each.mean, each.ci95, 4 if each.mean < 10 else 2, num_values=defined, is_stacked=True)
    partly = () if defined == len(each.values) else (f"{defined} of {len(each.values)}",)
    return replace(cell, lines=(*cell.lines, *partly))


def _figure(value: float | None, digits: int = 3) -> TableCell:
    """A published figure; nothing where there is none."""
    return nothing() if value is None else number(value, digits)
