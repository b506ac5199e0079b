"""The report of a study in text: Tables 2, 21 and 22 beside the paper's figures, tests, and learning curves."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.curves import Curve, curves
from ecsuite.files.format_numbers import with_format
from ecsuite.people.findings import BLOCK, Condition, Findings, Mean
from ecsuite.people.published import PUBLISHED, SOURCE
from ecsuite.people.records import RULES, Record
from ecsuite.people.study import ANY_NUMBER, Study

SIMULATED = (
    "SIMULATED participants: nothing here is of people, and none of it belongs beside the paper's figures."
)


def report_lines(study: Study, findings: Sequence[Findings]) -> list[str]:
    """The report, line by line.

    Args:
        study: The study.
        findings: By rule.
    """
    lines = [f"Study {study.name}, protocol {study.protocol}"]
    if study.simulated:
        lines += [SIMULATED]
    for found in findings:
        settings = {"min_score": study.min_score, "min_accuracy": study.min_accuracy}
        lines += ["", f"Counted by the rule {found.rule}: {RULES[found.rule][0].format(**settings)}"]
        if not found.conditions:
            lines += ["  nobody has taken part yet"]
            continue
        lines += _table(study, found.conditions)
        lines += _left_out(found.conditions)
        lines += _tests(found)
        lines += _curves(found.conditions)
    return lines


def _table(study: Study, conditions: Sequence[Condition]) -> list[str]:
    """Tables 21 and 22, and in its last column Table 2, with the paper's figures below ours."""
    lines = ["", f"  {'dataset':8}{'grammar':12}{'':8}{'N':>4}{'minutes':>14}{'score':>14}{'held out':>14}"]
    for each in conditions:
        cells = [_cell(each.means.get(measure), digits) for measure, digits in COLUMNS]
        lines.append(_row(each.dataset, each.grammar, "here", each.participants, cells))
        figures = PUBLISHED.get((each.dataset, each.grammar))
        if figures and not study.simulated:
            cells = ["{} ± {}".format(*figures[measure]) for measure, _ in COLUMNS]
            lines.append(_row("", "", "paper", figures["participants"], cells))
    lines += ["  mean ± half of its 95 % interval (Student's t); held out: accuracy on held-out objects"]
    return [*lines, *([] if study.simulated else [f"  paper: {SOURCE}"])]


def _row(dataset: str, grammar: str, origin: str, participants: int, cells: Sequence[str]) -> str:
    return f"  {dataset:8}{grammar:12}{origin:8}{participants:>4}" + "".join(f"{cell:>14}" for cell in cells)


COLUMNS = (("minutes", 1), ("score", 0), ("held_out_accuracy", 2))
"""The measures and their digits."""


def _cell(mean: Mean | None, digits: int) -> str:
    if mean is None:
        return "-"
    spread = "" if mean.half_width is None else f" ± {mean.half_width:.{digits}f}"
    return f"{mean.mean:.{digits}f}{spread}"


def _left_out(conditions: Sequence[Condition]) -> list[str]:
    reasons = Counter[str]()
    for each in conditions:
        reasons.update(each.left_out)
    if not reasons:
        return []
    return ["  left out: " + ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))]


def _tests(found: Findings) -> list[str]:
    if not found.differences:
        return []
    lines = [
        "",
        "  Held-out accuracy between languages (permutation test of participants; p corrected after Holm)",
    ]
    for each in found.differences:
        lines.append(
            f"  {each.details['dataset']:8}{each.source} - {each.baseline}".ljust(32)
            + f"{each.mean:+.2f}   p {each.p_value:.4f}   corrected {each.p_holm:.4f}"
        )
    return lines


def _curves(conditions: Sequence[Condition]) -> list[str]:
    lines = ["", f"  Share of right answers by {BLOCK} examples"]
    for each in conditions:
        values = "  ".join("  - " if value is None else f"{value:.2f}" for value in each.curve)
        lines.append(f"  {each.dataset:8}{each.grammar:10}{values}")
    return lines


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
    active_since = now - 60 * study.idle_minutes
    for dataset, grammar in study.conditions:
        of = [each for each in records if (each.row["dataset"], each.row["grammar"]) == (dataset, grammar)]
        finished = sum(each.has_finished for each in of)
        at_work = sum(not each.has_finished and each.row["last_seen"] >= active_since for each in of)
        counts = {"finished": finished, "at_work": at_work, "stopped": len(of) - finished - at_work}
        missing = max(0, study.participants - finished)
        rows.append({"dataset": dataset, "grammar": grammar, **counts, "missing": missing})
    return rows


def status_lines(study: Study, records: Sequence[Record], now: float) -> list[str]:
    """`status_rows` as text."""
    wanted = f"{study.participants} participants wanted"
    if study.participants == ANY_NUMBER:
        wanted = "any number of participants"
    of = "role" if study.run else "language of a dataset"
    lines = [f"Study {study.name}: {wanted} for each {of}"]
    lines += [f"  {'dataset':8}{'grammar':12}{'finished':>9}{'at work':>9}{'stopped':>9}{'missing':>9}"]
    for row in status_rows(study, records, now):
        dataset, grammar, *counts = row.values()
        lines.append(f"  {dataset:8}{grammar:12}" + "".join(f"{count:>9}" for count in counts))
    return [*lines, *([SIMULATED] if study.simulated else [])]


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
