"""The tables of a study: our figures, and below each row the paper's."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.eval.concept_games.findings import check_findings
from ecsuite.eval.concept_games.measuring import MeasuredRow, sensitivity_curves
from ecsuite.eval.concept_games.published import MISPRINTS
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
"""The columns of the paper's Table 1 and ours, by measure."""

TABLE4: Mapping[str, str] = {
    "unique_messages": "#m",
    "unique_words": "#w",
    "unique_phrases": "phrs",
    "unique_concepts": "con",
    "total_edges": "edges",
    "good_edges": "good",
    "ambiguous_edges": "amb",
    "paraphrase_edges": "para",
    "total_concepts": "said",
    "unmatched_concepts": "unm",
    "precision": "prec",
    "recall": "recall",
}
"""The columns of the paper's Table 4, which are counts but for the last two."""


def report(study: Study, rows: Sequence[MeasuredRow]) -> Report:
    """All that a study found."""
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
        draw=lambda path: _draw(rows, path),
    )


def make_table(rows: Sequence[MeasuredRow], columns: Mapping[str, str]) -> Table:
    """Rows for people: the mean over seeds, the standard deviation below it, and in faint type what the paper has."""
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
            theirs = [_published(measured, measure) for measure in columns]
            table.add_row(Text("  the paper"), *theirs, style="dim", end_section=True)
    return table


def notes(study: Study, rows: Sequence[MeasuredRow]) -> list[str]:
    """What a reader of the tables has to know."""
    seeds = ", ".join(map(str, study.header.seeds))
    spread = "means, ± standard deviation; " if len(study.header.seeds) > 1 else ""
    lines = [
        f"{spread}seed{'s' if len(study.header.seeds) > 1 else ''} {seeds}; by chance acc is "
        f"{rows[0].runs[0]['chance']['accuracy']:.2f}. acc: candidates told right; set: rounds without a fault; TopS: "
        "topographic similarity as the paper has it; ours: as `ecsuite score` has it; unm: concepts left over where "
        "words are fewer, as in the paper's program; else as in the paper."
    ]
    stopped = {
        measured.row.name: [run["seed"] for run in measured.runs if run["stopped"] == "minutes"]
        for measured in rows
    }
    lines += [
        f"{name}: time was up before all epochs were done, seed {', '.join(map(str, seeds))}."
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
    return [*lines, f"{seconds / 60:.1f} minutes of training in all; {'  '.join(signatures)}"]


def _is_count(measure: str) -> bool:
    """Whether a measure is a number of things."""
    return measure.startswith(("unique_", "total_")) or measure.endswith(("_edges", "_concepts"))


def _text(mean: float | None, deviation: float | None, *, counts: bool) -> str:
    """A figure as people write it, with its spread below."""
    if mean is None:
        return "none"
    text = _digits(mean, counts)
    return text if deviation is None else f"{text}\n±{_digits(deviation, counts)}"


def _digits(value: float, counts: bool) -> str:
    """A number without what a narrow column has no room for."""
    return f"{value:.0f}" if counts else f"{value:.2f}".replace("0.", ".", 1)


def _published(measured: MeasuredRow, measure: str) -> str:
    """The paper's figure, where it has one."""
    value = measured.row.published.get(measure)
    return "" if value is None else _text(value, None, counts=_is_count(measure))


def _draw(rows: Sequence[MeasuredRow], path: Path) -> None:
    """The match against the number of samples (figure 4), of each row's first seed."""
    draw_sensitivity(sensitivity_curves(rows), path)
