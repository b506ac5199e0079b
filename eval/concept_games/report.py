"""Tables of a study: measured values, and below each row the paper's values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from ecsuite.eval.concept_games.findings import check_findings
from ecsuite.eval.concept_games.published import MISPRINTS
from ecsuite.eval.concept_games.result import MeasuredRow, sensitivity_curves
from ecsuite.eval.concept_games.study import Study
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.corpora import draw_sensitivity
from ecsuite.tables.cells import Cell, estimate, nothing, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

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
    shown = []
    for measured in rows:
        name, published = measured.row.name, measured.row.published
        cells = (_cell(measure, measured.mean(measure), measured.deviation(measure)) for measure in columns)
        shown.append(row_of(name, "here", *cells, ends_section=not published))
        if published:
            values = (
                _cell(measure, published[measure]) if measure in published else nothing()
                for measure in columns
            )
            paper = text(name, shown="  the paper")
            shown.append(row_of(paper, "the paper", *values, role="dim", ends_section=True))
    figures = [number_column(measure, heading, parts=("sd",)) for measure, heading in columns.items()]
    return Table(columns=(name_column("game"), Column("origin", is_shown=False), *figures), rows=shown)


def notes(study: Study, rows: Sequence[MeasuredRow]) -> list[str]:
    """Notes on seeds, columns, stopped runs, misprints and signatures."""
    seeds = ", ".join(map(str, study.header.seeds))
    runs = [run for measured in rows for run in measured.runs]
    levels = [run["chance"]["accuracy"] for run in runs if "accuracy" in run["chance"]]
    chance = f"; chance level of acc: {levels[0]:.2f}" if levels else ""
    spread = "means, ± standard deviation; " if len(study.header.seeds) > 1 else ""
    lines = [
        f"{spread}seed{'s' if len(study.header.seeds) > 1 else ''} {seeds}{chance}. "
        "acc: candidates classified correctly; set: rounds without an "
        "error; TopS: topographic similarity as in the paper; ours: as in `ecsuite score`; unm: unmatched concepts, as "
        "in the paper's program; other columns as in the paper."
    ]
    lines += [
        f"{measured.row.name}, seed {seed}: left out: {reason}."
        for measured in rows
        for seed, reason in measured.failures.items()
    ]
    removed = sum(run["folder"] is None for run in runs)
    if removed:
        lines.append(
            f"{removed} of {len(runs)} run folders are not there; their figures are kept in {study.folder}."
        )
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


def _cell(measure: str, mean: float | None, deviation: float | None = None) -> Cell:
    """The mean with the standard deviation below; counts as integers, others with two decimals and no leading zero."""
    if mean is None:
        return nothing("none")
    digits = 0 if _is_count(measure) else 2
    cell = estimate(mean, deviation, digits, is_bare=True, is_stacked=True)
    return replace(cell, parts={"sd": deviation})
