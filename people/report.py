"""The report of a study: Tables 2, 21 and 22 beside the paper's figures, tests, and learning curves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.files.format_numbers import with_format
from ecsuite.people.findings import BLOCK, Condition, Findings, Mean
from ecsuite.people.published import PUBLISHED, SOURCE
from ecsuite.people.records import RULES, Record
from ecsuite.people.study import ANY_NUMBER, Study
from ecsuite.tables.cells import INTERVAL, Cell, estimate, nothing, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

SIMULATED = (
    "SIMULATED participants: nothing here is of people, and none of it belongs beside the paper's figures."
)


def report_tables(study: Study, findings: Sequence[Findings]) -> list[Table]:
    """For each rule of who counts: means, tests between languages, and learning curves.

    Args:
        study: The study.
        findings: By rule.
    """
    settings = {"min_score": study.min_score, "min_accuracy": study.min_accuracy}
    tables = []
    for found in findings:
        rule = f"counted by the rule {found.rule}: {RULES[found.rule][0].format(**settings)}"
        title = f"Study {study.name}, protocol {study.protocol}; {rule}"
        tables.append(_means(study, found.conditions, title))
        tables += [_tests(found)] if found.differences else []
        tables += [_curves(found.conditions)] if found.conditions else []
    return tables


def _means(study: Study, conditions: Sequence[Condition], title: str) -> Table:
    """Tables 21 and 22, and in its last column Table 2, with the paper's figures below ours."""
    columns = [*LANGUAGE, Column("origin", heading=""), number_column("N")]
    columns += [number_column(name, heading, parts=INTERVAL) for name, (heading, _) in COLUMNS.items()]
    rows = []
    for each in conditions:
        figures = PUBLISHED.get((each.dataset, each.grammar))
        has_published = figures is not None and not study.simulated
        cells = [mean_cell(each.means.get(name), digits) for name, (_, digits) in COLUMNS.items()]
        about = (each.dataset, each.grammar)
        rows.append(row_of(*about, "here", each.participants, *cells, ends_section=not has_published))
        if figures is not None and has_published:
            published = [_published(*figures[name]) for name in COLUMNS]
            cells = [text("paper"), number(figures["participants"]), *published]
            rows.append(row_of(*about, *cells, role="dim", ends_section=True))
    notes = ["mean ± half of its 95 % interval (Student's t); held out: accuracy on held-out objects"]
    notes.append(SIMULATED if study.simulated else f"paper: {SOURCE}")
    reasons = Counter[str]()
    for each in conditions:
        reasons.update(each.left_out)
    left_out = [f"{count} {reason}" for reason, count in sorted(reasons.items())]
    notes += [f"left out: {', '.join(left_out)}"] if left_out else []
    notes += [] if conditions else ["nobody has taken part yet"]
    return Table(columns=columns, rows=rows, title=title, notes=notes)


LANGUAGE = (name_column("dataset", merges=True), name_column("grammar", merges=True))
"""The columns that name a language."""
COLUMNS = {"minutes": ("minutes", 1), "score": ("score", 0), "held_out_accuracy": ("held out", 2)}
"""The measures, their headings and digits."""


def mean_cell(mean: Mean | None, digits: int) -> Cell:
    """A mean over participants with its interval."""
    return nothing("-") if mean is None else estimate(mean.mean, mean.half_width, digits)


def _published(mean: float, half_width: float) -> Cell:
    """A mean with its interval, in the digits of the paper."""
    return replace(estimate(mean, half_width), lines=(f"{mean} ± {half_width}",))


def _tests(found: Findings) -> Table:
    """Held-out accuracy of each two languages."""
    columns = (
        name_column("dataset", merges=True),
        name_column("source", "language"),
        name_column("baseline", "minus"),
        number_column("difference"),
        number_column("p"),
        number_column("corrected"),
    )
    rows = [
        row_of(
            str(each.details["dataset"]),
            each.source,
            each.baseline,
            number(each.mean, 2),
            p_value(each.p_value),
            p_value(each.p_holm),
        )
        for each in found.differences
    ]
    title = "Held-out accuracy between languages (permutation test of participants; p corrected after Holm)"
    return Table(columns=columns, rows=rows, title=title)


def _curves(conditions: Sequence[Condition]) -> Table:
    """Share of right answers by block of examples."""
    num_blocks = max(len(each.curve) for each in conditions)
    columns = [*LANGUAGE, *(number_column(blocks_name(block, BLOCK)) for block in range(num_blocks))]
    rows = [
        row_of(each.dataset, each.grammar, *(number(value, 2) for value in _filled(each.curve, num_blocks)))
        for each in conditions
    ]
    return Table(columns=columns, rows=rows, title=f"Share of right answers by {BLOCK} examples")


def _filled(curve: Sequence[float | None], num_blocks: int) -> list[float | None]:
    """A curve with nothing for the blocks that it does not have."""
    return [*curve, *[None] * (num_blocks - len(curve))]


def blocks_name(block: int, size: int) -> str:
    """The examples of a block: 11-20."""
    return f"{size * block + 1}-{size * (block + 1)}"


def as_result(study: Study, findings: Sequence[Findings]) -> dict[str, Any]:
    """The report, JSON-ready."""
    content = {
        "study": study.name,
        "protocol": study.protocol,
        "simulated": study.simulated,
        "source_of_published": SOURCE,
        "rules": [found.as_json() for found in findings],
    }
    return with_format("result", content)


def status_rows(study: Study, records: Sequence[Record], now: float) -> list[dict[str, Any]]:
    """How far a study is: by condition, how many have finished, are at work, have stopped and are missing.

    Args:
        study: The study.
        records: All participants.
        now: Seconds since 1970.
    """
    rows = []
    for dataset, grammar in study.conditions:
        of = [each for each in records if (each.row["dataset"], each.row["grammar"]) == (dataset, grammar)]
        finished = sum(each.has_finished for each in of)
        at_work = sum(not each.has_finished and study.keeps_place(each.row, now) for each in of)
        counts = {"finished": finished, "at_work": at_work, "stopped": len(of) - finished - at_work}
        missing = max(0, study.wanted - finished)
        rows.append({"dataset": dataset, "grammar": grammar, **counts, "missing": missing})
    return rows


def status_table(study: Study, records: Sequence[Record], now: float) -> Table:
    """`status_rows` as a table."""
    wanted = f"{study.wanted} participants wanted"
    if study.participants == ANY_NUMBER:
        wanted = "any number of participants"
    of = "role" if study.run else "game" if study.play else "language of a dataset"
    columns = (*LANGUAGE, *map(number_column, ("finished", "at_work", "stopped", "missing")))
    return Table(
        columns=columns,
        rows=[row_of(*each.values()) for each in status_rows(study, records, now)],
        title=f"Study {study.name}: {wanted} for each {of}",
        notes=[SIMULATED] if study.simulated else [],
    )


def draw_curves(study: Study, found: Findings, file: Path) -> None:
    """Draw the learning curves, a panel a dataset and a line a language."""
    lines = [
        Curve(
            x=[BLOCK * (block + 1) for block in range(len(each.curve))],
            y=each.curve,
            name=f"{each.dataset} {each.grammar} (N={each.participants})",
            panel=f"{each.dataset}{' (simulated)' if study.simulated else ''}",
        )
        for dataset in study.datasets
        for each in found.conditions
        if each.dataset == dataset and each.curve
    ]
    save(curves(lines, x="examples", y="share of right answers", limits=(0, 1)), file)
