"""Results of a claim: tables, notes and JSON, a figure of its arms, and pages in Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ecsuite.eval.experiments.claims.arms import (
    ArmDifference,
    ArmFigure,
    ClaimOutcome,
    arm_figures,
    is_successful,
    seeds_of,
)
from ecsuite.eval.experiments.claims.claim import Claim, Criterion
from ecsuite.eval.experiments.claims.verdict import (
    CriterionResult,
    VerdictRow,
    apply_criterion,
    judge,
    outdated_remark,
)
from ecsuite.eval.results.samples import FormedProtocols
from ecsuite.eval.statistics.estimates import seeds_text
from ecsuite.eval.views.citations import reference
from ecsuite.eval.views.comparison import formed_cell, formed_column, formed_notes
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.views.means import equal_notes, mean_cell
from ecsuite.runtime.time_left import duration_text
from ecsuite.tables.cells import (
    COUNTED,
    INTERVAL,
    MARKS,
    UNDEFINED,
    bounded,
    interval,
    number,
    p_value,
)
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

READ = {
    "paper": "read in the paper",
    "program": "read in the authors' program",
    "secondary": "as cited in another paper",
    "memory": "not read: no text was available",
}
"""Texts for `CitedWork.read` on pages."""


def report_of(claim: Claim, outcome: ClaimOutcome) -> Report:
    """The verdict, the compared differences, and the arms with all seeds."""
    if outcome.is_small:
        claim = replace(claim, seeds=claim.small_seeds)
    verdict, result = judge(claim, outcome.runs, is_small=outcome.is_small)
    # the runs of the paper's own rule, or all runs if that rule decides
    which: Literal["all", "success"] = "success" if claim.criterion.runs == "all" else "all"
    by_other_rule = apply_criterion(claim, claim.criterion, outcome.runs, which)
    others = [(each.about, each, apply_criterion(claim, each, outcome.runs)) for each in claim.descriptive]
    further = _differences_table(others, title="Descriptive, without effect on the verdict")
    return Report(
        tables=(
            _differences_table([("", claim.criterion, result)], title=claim.criterion.statistic.name),
            _arms_table(claim, outcome),
            *([further] if others else []),
        ),
        notes=(f"{claim.name}: {verdict}: {result.reason}", *_notes(claim, outcome, result, by_other_rule)),
        data={
            "verdict": verdict,
            "rerun": claim.criterion.rerun,
            "scope": claim.scope,
            "criterion": result.to_json(),
            "other_runs": by_other_rule.to_json(),
            "descriptive": [{"about": about, **other.to_json()} for about, _, other in others],
            "settings": dict(claim.decides),
            **outcome.to_json(),
        },
        draw=lambda file: draw_claim(claim, outcome, file),
    )


def _notes(
    claim: Claim, outcome: ClaimOutcome, result: CriterionResult, by_other_rule: CriterionResult
) -> list[str]:
    """Lines on kind and setting, failed and capped runs, and the result by the paper's own rule."""
    decides = {
        "figure re-run": "a published figure decides",
        "direction re-run": "only a direction was published, and our own threshold or margin decides",
    }[claim.criterion.rerun]
    where = "at" if claim.scope == "another size" else "in"
    lines = [f"A {claim.criterion.rerun} {where} {claim.scope}: {decides}."]
    failed = sum(run.failure is not None for run in outcome.runs)
    capped = sum(run.status == "capped" for run in outcome.runs)
    seeds = seeds_text(seeds_of(outcome.runs)) if outcome.runs else "no seed"
    seeds = "a corpus each" if claim.is_of_corpora else seeds
    lines.append(f"{len(outcome.runs)} runs with {seeds}; {failed} failed, {capped} were capped.")
    if claim.success is not None:
        counted = sum(is_successful(run, claim.success) for run in outcome.runs)
        line = f"By the paper's rule ({claim.success.about}) {counted} of {len(outcome.runs)} runs count"
        if not outcome.is_small:
            difference = by_other_rule.compared[0].difference if by_other_rule.compared else None
            effect = "" if difference is None else f" ({interval(difference.mean, difference.ci95).text})"
            which = "these runs alone" if claim.criterion.runs == "all" else "all runs"
            line += f"; with {which} the answer is: {by_other_rule.answer}{effect}"
        lines.append(f"{line}.")
    return lines


def _differences_table(criteria: Iterable[tuple[str, Criterion, CriterionResult]], title: str = "") -> Table:
    """A row for each difference and each control of criteria, with the question of the criterion."""
    rows = []
    for about, criterion, result in criteria:
        name = f"{about}: {criterion.statistic.name}" if about else criterion.statistic.name
        published = criterion.published_differences or []
        for index, each in enumerate(result.compared):
            size = published[min(index, len(published) - 1)] if published else None
            rows.append(_difference_row(name, each, size))
        rows += [_difference_row(control, each, None) for control, each in result.controls.items()]
    columns = (
        Column("statistic", wraps=True),
        name_column("arm"),
        name_column("baseline"),
        number_column("difference", parts=INTERVAL),
        number_column("published"),
        number_column("p"),
        number_column("hedges_g", "g"),
        Column("basis"),
    )
    return Table(title=title, columns=columns, rows=rows)


def _difference_row(name: str, compared: ArmDifference, published: float | None) -> Any:
    difference = compared.difference
    if difference is None:
        return row_of(name, None, None, None, number(published), None, None, f"{compared.num_seeds} seeds")
    p = difference.p_value if difference.p_holm is None else difference.p_holm
    return row_of(
        name,
        difference.source,
        difference.baseline,
        bounded(interval(difference.mean, difference.ci95), difference.bound),
        None if published is None else number(published),
        p_value(p),
        None if difference.hedges_g is None else number(difference.hedges_g, 2),
        difference.basis,
    )


def _arms_table(claim: Claim, outcome: ClaimOutcome) -> Table:
    """A row for each arm of the criterion: the mean over seeds, and the value of each seed."""
    figures = list(arm_figures(claim, outcome))
    formed = [FormedProtocols.of_runs(each.runs) for each in figures]
    rows = [
        row_of(
            each.figure,
            each.arm,
            formed_cell(own),
            mean_cell(each.mean),
            ", ".join(
                UNDEFINED if one is None else f"{MARKS[one.bound]}{one.value:.3g}"
                for one in each.by_seed.values()
            ),
        )
        for each, own in zip(figures, formed, strict=True)
    ]
    columns = (
        Column("figure", merges=True),
        name_column("arm"),
        formed_column(formed),
        number_column("mean", parts=COUNTED),
        Column("by_seed", wraps=True),
    )
    notes = [*formed_notes(formed), *equal_notes(each.mean for each in figures)]
    return Table(title="Each seed", columns=columns, rows=rows, notes=notes)


def draw_claim(claim: Claim, outcome: ClaimOutcome, file: Path) -> None:
    """Draw a panel for each figure, with a row for each arm: the mean, its 95 % interval, and each seed.

    Raises:
        ConfigError: If the file is not an SVG or PNG, or matplotlib is not installed.
    """
    by_figure: dict[str, list[ArmFigure]] = {}
    for each in arm_figures(claim, outcome):
        by_figure.setdefault(each.figure, []).append(each)
    panels = [
        Panel(axis=figure, points=[_point(each) for each in arms]) for figure, arms in by_figure.items()
    ]
    save(intervals(*panels, title=claim.name), file)


def _point(each: ArmFigure) -> Point:
    low, high = each.mean.ci95 or (None, None)
    mean = None if FormedProtocols.is_split(each.runs) else each.mean.mean
    return Point(row=each.arm, value=mean, low=low, high=high, single=each.defined, bound=each.mean.bound)


def list_rows(rows: Sequence[VerdictRow]) -> list[str]:
    """The tables of re-runs of figures and of directions, with a line per claim."""
    headings = {
        "figure re-run": ("Figures that were published", "published"),
        "direction re-run": ("Directions that were published", "our threshold or margin"),
    }
    lines = []
    for rerun, (heading, decides) in headings.items():
        lines += [f"## {heading}", "", f"| claim | verdict | effect, 95 % interval | {decides} | seeds |"]
        lines += ["|---|---|---|---|---|"]
        lines += [_list_row(row) for row in rows if row.rerun == rerun]
        lines += [""]
    return lines[:-1]


def _list_row(row: VerdictRow) -> str:
    is_run = row.verdict != "not run"
    file = f"benchmarks/results/claims/{row.claim}.json" if is_run else f"configs/claims/{row.claim}.yaml"
    hours = "" if is_run or row.hours is None else f" ({duration_text(3600 * row.hours)})"
    effect = bounded(interval(row.effect, row.ci95), row.bound).text if row.effect is not None else ""
    cells = (
        f"[{row.about}](../{file})",
        f"{row.verdict}{hours}",
        "; ".join(filter(None, (f"{effect}: {row.unit}" if effect else "", row.remark))),
        row.criterion.removeprefix("published: ")
        .removeprefix("our threshold: ")
        .removeprefix("our margin: "),
        str(row.num_seeds or ""),
    )
    return f"| {' | '.join(cells)} |"


def claim_page(claim: Claim, outcome: ClaimOutcome | None, picture: str | None) -> str:
    """The page of a claim.

    Args:
        claim: The claim.
        outcome: Results of the claim; None: it was not run.
        picture: Link of the page to the figure; None: no figure.
    """
    report = None if outcome is None else report_of(claim, outcome)
    hours = "" if claim.hours is None else f": {duration_text(3600 * claim.hours)} of one core"
    verdict = f"not run{hours}" if report is None else report.notes[0].partition(": ")[2]
    settings = [
        f"| {key} | {_text(claim.published.get(key))} | {_text(claim.ours.get(key))} |"
        for key in dict.fromkeys((*claim.published, *claim.ours))
    ]
    parts = [
        f"# {claim.about}",
        f"{claim.claim.strip()} {reference(claim.source.work)} ({claim.source.place}; {READ[claim.source.read]}).",
        f"**{verdict[0].upper()}{verdict[1:]}.**",
        *([f"![Arms with all seeds]({picture})"] if picture else []),
        "\n".join(["| setting | published | here |", "|---|---|---|", *settings]),
        "\n".join(f"- {kind}: {text}" for each in claim.differences for kind, text in each.items()),
        "\n".join(f"Corrected after runs, with the same seeds: {each}." for each in claim.corrections),
        f"The {outdated_remark(claim)}." if claim.outdated else "",
        _criterion(claim),
    ]
    if report is not None and outcome is not None:
        parts += [table.markdown() for table in report.tables]
        parts += ["\n".join(f"- {note}" for note in report.notes[1:])]
        commit = "" if outcome.commit is None else f"({outcome.commit[:10]})"
        parts.append(
            f"{duration_text(3600 * outcome.hours)} on {outcome.processor}, ecsuite {outcome.version} {commit}."
        )
    if claim.published_figures:
        rows = [f"| {key} | {_text(value)} |" for key, value in claim.published_figures.items()]
        parts.append("\n".join(["| published figure | value |", "|---|---|", *rows]))
    parts.append(f"```sh\necsuite reproduce {claim.name}\n```")
    return "\n\n".join(filter(None, parts)) + "\n"


def _criterion(claim: Claim) -> str:
    """The criterion in words."""
    criterion = claim.criterion
    sizes, eye = criterion.published_differences, criterion.read_by_eye
    parts = {
        "published": "" if sizes is None else ", ".join(number(size).text for size in sizes),
        "from": criterion.published_from,
        "read from a figure by eye, error": "" if eye is None else f"± {eye:g}",
        "our threshold": f"{criterion.threshold:g}, {criterion.threshold_from}"
        if criterion.threshold
        else "",
        "our margin": "" if criterion.margin is None else f"{criterion.margin:g}, {criterion.margin_from}",
    }
    given = "; ".join(f"{key}: {text}" for key, text in parts.items() if text)
    pilots = f"{claim.pilots.runs} pilot runs with seeds {', '.join(map(str, claim.pilots.seeds))}"
    before = pilots if claim.pilots.runs else "no pilot runs"
    subject = f"{criterion.kind} of {criterion.statistic.name}"
    return f"Criterion, fixed before the runs: {subject}; {given}. Before the criterion: {before}."


def _text(value: Any) -> str:
    return "" if value is None else str(value).replace("|", "\\|")
