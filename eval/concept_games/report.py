"""Tables of a study: measured values, and below each row the paper's values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.eval.concept_games.findings import check_findings
from ecsuite.eval.concept_games.published import MISPRINTS
from ecsuite.eval.concept_games.result import MeasuredRow, sensitivity_curves
from ecsuite.eval.concept_games.study import Study
from ecsuite.eval.reports.console import Report
from ecsuite.eval.reports.corpus_plots import draw_sensitivity

TABLE1: Mapping[str, str] = {
    "accuracy": "acc",
    "set_accuracy": "set",
    "unique_concepts": "con",
    "unique_phrases": "phrs",
    "unique_words": "#w",
    "unique_messages": "#m",
    "topsim_published": "TopS",
    "topsim": "ours",
    "ami": "AMI",
    "cbm": "CBM",
    "ambiguity": "amb",
    "paraphrase": "para",
    "unmatched": "unm",
}
"""Column headings by measure: those of the paper's Table 1, and further ones."""

TABLE4: Mapping[str, str] = {
    "unique_messages": "#m",
    "unique_words": "#w",
    "unique_phrases": "phrs",
    "unique_concepts": "con",
    "total_edges": "edges",
    "good_edges": "good",
    "ambiguous_edges": "amb",
    "paraphrase_edges": "para",
    "total_concepts": "tot",
    "unmatched_concepts": "unm",
    "precision": "prec",
    "recall": "recall",
}
"""Column headings of the paper's Table 4 by measure; all but the last two are counts."""


def report(study: Study, rows: Sequence[MeasuredRow]) -> Report:
    """The output of a study: tables, notes, JSON data and figure."""
    tables = [make_table(rows, TABLE1)]
    if study.header.published == "table3":
        tables.append(make_table(rows, TABLE4))
    findings = check_findings(rows) if study.header.published == "table1" else []
    return Report(
        tables=tables,
        notes=(*notes(study, rows), *map(str, findings)),
        data={
            "study": asdict(study.header),
            "rows": [measured.to_json() for measured in rows],
            "findings": [asdict(finding) for finding in findings],
        },
        draw=lambda path: draw_sensitivity(sensitivity_curves(rows), path),
    )


def make_table(rows: Sequence[MeasuredRow], columns: Mapping[str, str]) -> Table:
    """A table with means over seeds, standard deviations below them, and the paper's values in dim type."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=0)
    table.add_column("game", no_wrap=True)
    for heading in columns.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for measured in rows:
        texts = [
            _text(measured.mean(measure), measured.deviation(measure), counts=_is_count(measure))
            for measure in columns
        ]
        table.add_row(measured.row.name, *texts, end_section=not measured.row.published)
        if measured.row.published:
            known = measured.row.published
            paper_values = [
                _text(known[measure], None, counts=_is_count(measure)) if measure in known else ""
                for measure in columns
            ]
            table.add_row(Text("  the paper"), *paper_values, style="dim", end_section=True)
    return table


def notes(study: Study, rows: Sequence[MeasuredRow]) -> list[str]:
    """Notes on seeds, columns, stopped runs, misprints and signatures."""
    seeds = ", ".join(map(str, study.header.seeds))
    chance = next(run["chance"]["accuracy"] for measured in rows for run in measured.runs)
    spread = "means, ± standard deviation; " if len(study.header.seeds) > 1 else ""
    lines = [
        f"{spread}seed{'s' if len(study.header.seeds) > 1 else ''} {seeds}; chance level of acc: "
        f"{chance:.2f}. acc: candidates classified correctly; set: rounds without an "
        "error; TopS: topographic similarity as in the paper; ours: as in `ecsuite score`; unm: unmatched concepts, as "
        "in the paper's program; other columns as in the paper."
    ]
    lines += [
        f"{measured.row.name}, seed {seed}: left out: {reason}."
        for measured in rows
        for seed, reason in measured.failures.items()
    ]
    stopped = {
        measured.row.name: [run["seed"] for run in measured.runs if run["stopped"] == "minutes"]
        for measured in rows
    }
    lines += [
        f"{name}: time limit reached before the last epoch, seed {', '.join(map(str, seeds))}."
        for name, seeds in stopped.items()
        if seeds
    ]
    lines += [
        f"{measured.row.name}: {MISPRINTS[measured.row.name]}."
        for measured in rows
        if measured.row.published and measured.row.name in MISPRINTS
    ]
    signatures = sorted(
        {signature for measured in rows for run in measured.runs for signature in run["signatures"].values()}
    )
    seconds = sum(run["seconds"] for measured in rows for run in measured.runs)
    return [*lines, f"{seconds / 60:.1f} minutes of training in total; {'  '.join(signatures)}"]


def _is_count(measure: str) -> bool:
    """Whether a measure is a count."""
    return measure.startswith(("unique_", "total_")) or measure.endswith(("_edges", "_concepts"))


def _text(mean: float | None, deviation: float | None, *, counts: bool) -> str:
    """Text of a table cell: the mean, with the standard deviation below."""
    if mean is None:
        return "none"
    text = _digits(mean, counts)
    return text if deviation is None else f"{text}\n±{_digits(deviation, counts)}"


def _digits(value: float, counts: bool) -> str:
    """A count as integer; other numbers with two decimals and without a leading zero."""
    return f"{value:.0f}" if counts else f"{value:.2f}".replace("0.", ".", 1)
