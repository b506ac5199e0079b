"""Reports of studies: a table for each protocol, with the paper's figures in faint type, and notes below it."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

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
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("model")
    for heading in ("params", "CONCAT", *(cell.grammar.upper() for cell in rows[0].cells)):
        table.add_column(heading, justify="right")
    for row in rows:
        texts = [Text(row.model), Text(f"{row.parameters:,}")]
        texts.append(Text(_ratio(row.concat_steps["mean"], row.concat_steps["half_width"])))
        texts += [row_cell(cell, study.cap) for cell in row.cells]
        table.add_row(*texts, end_section=not row.published)
        if row.published:
            published = (_published_ratio(row.published.get(cell.grammar)) for cell in row.cells)
            table.add_row("  the paper", "", "", *published, style="dim", end_section=True)
    return table


def row_cell(cell: Cell, cap: float) -> Text:
    """Red if no run reached the target, green if the mean is below a third of the cap (section 4.4)."""
    if cell.mean is None:
        return Text("none", "dim")
    if cell.num_censored == len(cell.runs):
        return Text("stopped early" if cell.is_early else f">{cap:g}", "red")
    if cell.num_censored:
        how = "stopped" if cell.is_early else "capped"
        return Text(f"≥{_ratio(cell.mean, None)}\n{cell.num_censored}/{len(cell.runs)} {how}")
    return Text(_ratio(cell.mean, cell.half_width), "green" if cell.mean < cap / 3 else "")


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
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("model")
    for heading in ("steps", *(cell.grammar.upper() for cell in rows[0].cells)):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        steps = Text("never", "red") if row.steps is None else Text(f"{row.steps:.0f}")
        cells = [_budget_cell(cell, row.published.get(cell.grammar)) for cell in row.cells]
        about = f"\n{row.parameters:,} params\nover {row.channel}"
        table.add_row(Text.assemble(row.model, (about, "dim")), steps, *cells, end_section=True)
    what = "most frequent" if rows[0].role == "sender" else "chance level"
    table.add_row(Text(what), "", *(f"{cell.floor:.3f}" for cell in rows[0].cells), style="dim")
    return table


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
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_lines=True)
    table.add_column("sender, receiver", no_wrap=True)
    table.add_column("accuracy", no_wrap=True)
    for cell in rows[0].cells:
        table.add_column(cell.grammar.upper(), justify="right", no_wrap=True)
    for row in rows:
        about = f"\nover {row.channel}\n{row.max_steps:,} updates"
        labels = Text("\n".join(name.replace("_", " ") for name in PAIR_MEASURES))
        if row.published:
            after = "" if row.max_steps == PUBLISHED_STEPS else f", {PUBLISHED_STEPS:,}"
            labels.append(f"\npaper{after}", "dim")
        table.add_row(
            Text.assemble(f"{row.sender}\n{row.receiver}", (about, "dim")),
            labels,
            *(_pair_cell(cell, row) for cell in row.cells),
        )
    for role, what in (("sender", "most frequent symbol"), ("receiver", "chance level")):
        table.add_row(what, role, *(f"{cell.floors[role]:.3f}" for cell in rows[0].cells), style="dim")
    return table


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
    """A row per grammar, a column per metric: mean ± 95 % CI."""
    about = study.config.about or None
    table = Table(title=about, title_justify="left", title_style="", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("grammar", no_wrap=True)
    for name in study.metrics:
        sign = "↓" if MEASURES[name].low_is_compositional else "↑"
        table.add_column(f"{name.replace('_', ' ')} {sign}", justify="right")
    cells = {(row.grammar, row.measure): _metric_cell(row) for row in rows}
    for grammar in dict.fromkeys(row.grammar for row in rows):
        table.add_row(grammar, *(cells[grammar, name] for name in study.metrics))
    arrows = "↑ high is compositional, ↓ low is compositional"
    printed = ", faint: the paper's" if any(row.published is not None for row in rows) else ""
    seeds = "1 seed" if len(study.seeds) == 1 else f"{len(study.seeds)} seeds"
    table.caption = Text(f"{study.geometry}, {seeds}, mean ± 95 % CI{printed}; {arrows}", "dim")
    table.caption_justify = "left"
    return table


def _mean(runs: Sequence[Any], key: str) -> float:
    return float(sum(run[key] for run in runs) / len(runs))


def _by_grammar(accuracies: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{grammar.upper()} {accuracy:.3f}" for grammar, accuracy in accuracies)


def _ratio(mean: float, half_width: float | None) -> str:
    digits = 0 if mean >= 100 else 1 if mean >= 10 else 2
    text = f"{mean:.{digits}f}"
    return text if half_width is None else f"{text}\n±{half_width:.{digits}f}"


def _published_ratio(figures: tuple[float, float] | None) -> str:
    if figures is None:
        return ""
    mean, half_width = figures
    return f">{PUBLISHED_CAP:g}" if mean >= PUBLISHED_CAP else f"{mean:g}\n±{half_width:g}"


def _budget_cell(cell: BudgetCell, published: float | None) -> Text:
    if cell.mean is None:
        return Text("none", "dim")
    lines = [(f"{cell.mean:.3f}", cell.style)]
    if cell.half_width is not None:
        lines.append((f"\n±{cell.half_width:.3f}", ""))
    if published is not None:
        lines.append((f"\n{published:.3f}", "dim"))
    return Text.assemble(*lines)


def _pair_cell(cell: PairCell, row: PairRow) -> Text:
    texts = []
    for figure in (cell.figures[name] for name in PAIR_MEASURES):
        spread = f" ± {figure[1]:.3f}" if figure and figure[1] is not None else ""
        texts.append(Text(f"{figure[0]:.3f}{spread}") if figure else Text("left out", "dim"))
    if row.published:
        value = row.published.get(cell.grammar)
        texts.append(Text("" if value is None else f"{value:.3f}", "dim"))
    return Text("\n").join(texts)


def _metric_cell(row: MetricRow) -> Text:
    """Mean ± half-width, number of defined seeds if not all, and the paper's figure."""
    if row.mean is None:
        return Text("none", "dim")
    digits = 4 if row.mean < 10 else 2
    spread = "" if row.ci95 is None else f"\n±{row.ci95:.{digits}f}"
    num_defined = sum(value is not None for value in row.values)
    partly = "" if num_defined == len(row.values) else f"\n{num_defined} of {len(row.values)}"
    paper = "" if row.published is None else f"\n{row.published:.4f}"
    return Text.assemble(f"{row.mean:.{digits}f}{spread}{partly}", (paper, "dim"))
