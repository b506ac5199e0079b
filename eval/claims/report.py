"""What came of a claim as tables, lines and JSON."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ecsuite.eval.claims.arms import Compared
from ecsuite.eval.claims.claim import Claim, small_seeds
from ecsuite.eval.claims.criterion import Criterion
from ecsuite.eval.claims.drawing import draw_claim
from ecsuite.eval.claims.figures import arm_figures
from ecsuite.eval.claims.outcome import Outcome
from ecsuite.eval.claims.verdict import Judged, Verdict, apply, judge
from ecsuite.eval.reports.console import Report
from ecsuite.eval.statistics.estimates import seeds_text
from ecsuite.tables.cells import COUNTED, INTERVAL, estimate, interval, number, p_value
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of


def report_of(claim: Claim, outcome: Outcome) -> Report:
    """The verdict, the differences that it rests on, and the arms with all seeds."""
    if outcome.is_small:
        claim = replace(claim, seeds=small_seeds(claim))
    verdict, judged = judge(claim, outcome.runs, is_small=outcome.is_small)
    others = [(each.about, each, apply(claim, each, outcome.runs)) for each in claim.descriptive]
    further = differences_table(others, title="Descriptive, which decides nothing")
    return Report(
        tables=(
            differences_table([("", claim.criterion, judged)], title=claim.criterion.statistic.name),
            arms_table(claim, outcome),
            *([further] if others else []),
        ),
        notes=(f"{claim.name}: {headline(verdict, judged)}", *notes_of(claim, outcome, judged)),
        data={
            "verdict": verdict,
            "criterion": judged.to_json(),
            "other_runs": _by_other_rule(claim, outcome).to_json(),
            "descriptive": [{"about": about, **judged.to_json()} for about, _, judged in others],
            "settings": dict(claim.decides),
            **outcome.to_json(),
        },
        draw=lambda file: draw_claim(claim, outcome, file),
    )


def headline(verdict: Verdict, judged: Judged) -> str:
    """The verdict in a line, with its reason where it is that of the rule."""
    return verdict if verdict == "can't tell at this size" else f"{verdict}: {judged.reason}"


def notes_of(claim: Claim, outcome: Outcome, judged: Judged) -> list[str]:
    """What the runs say at their size, how many failed, and what the paper's own rule makes of them."""
    lines = []
    if claim.size == "other" or outcome.is_small:
        said = f"{judged.answer}: {judged.reason}"
        lines.append(f"At this size, which is not the published one, the rule says: {said}.")
    failed = sum(run.failure is not None for run in outcome.runs)
    capped = sum(run.status == "capped" for run in outcome.runs)
    seeds = seeds_text(sorted({run.seed for run in outcome.runs})) if outcome.runs else "no seed"
    seeds = "a corpus each" if claim.is_of_corpora else seeds
    lines.append(f"{len(outcome.runs)} runs with {seeds}; {failed} failed, {capped} were capped.")
    if claim.success is not None:
        counted = sum(run.is_successful(claim.success) for run in outcome.runs)
        line = f"By the paper's rule ({claim.success.about}) {counted} of {len(outcome.runs)} runs count"
        if not outcome.is_small:
            other = _by_other_rule(claim, outcome)
            which = "of these alone" if claim.criterion.runs == "all" else "of all runs"
            line += f"; {which} the criterion says: {other.answer}{_first_difference(other)}"
        lines.append(f"{line}.")
    return lines


def differences_table(criteria: Iterable[tuple[str, Criterion, Judged]], title: str = "") -> Table:
    """A row for each difference of criteria, each with what it asks, and for each of their controls."""
    rows = []
    for about, criterion, judged in criteria:
        name = f"{about}: {criterion.statistic.name}" if about else criterion.statistic.name
        published = criterion.published_differences or []
        for place, each in enumerate(judged.compared):
            size = published[min(place, len(published) - 1)] if published else None
            rows.append(_difference_row(name, each, size))
        rows += [_difference_row(control, each, None) for control, each in judged.controls.items()]
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


def _difference_row(name: str, compared: Compared, published: float | None) -> Any:
    difference = compared.difference
    if difference is None:
        return row_of(name, None, None, None, number(published), None, None, f"{compared.num_seeds} seeds")
    p = difference.p_value if difference.p_holm is None else difference.p_holm
    return row_of(
        name,
        difference.source,
        difference.baseline,
        interval(difference.mean, difference.ci95),
        None if published is None else number(published),
        p_value(p),
        None if difference.hedges_g is None else number(difference.hedges_g, 2),
        difference.basis,
    )


def arms_table(claim: Claim, outcome: Outcome) -> Table:
    """A row for each arm of the criterion: the mean over seeds, and the value of each seed."""
    rows = [
        row_of(
            each.figure,
            each.arm,
            estimate(each.mean, each.half_width, num_values=len(each.defined)),
            ", ".join("-" if value is None else f"{value:.3g}" for value in each.by_seed.values()),
        )
        for each in arm_figures(claim, outcome)
    ]
    columns = (
        Column("figure", merges=True),
        name_column("arm"),
        number_column("mean", parts=COUNTED),
        Column("by_seed", wraps=True),
    )
    return Table(title="Each seed", columns=columns, rows=rows)


def _by_other_rule(claim: Claim, outcome: Outcome) -> Judged:
    """The criterion of the runs that the paper's own rule counts; where it decides, that of all runs."""
    which = "success" if claim.criterion.runs == "all" else "all"
    return apply(claim, claim.criterion, outcome.runs, which)  # type: ignore[arg-type]


def _first_difference(judged: Judged) -> str:
    difference = judged.compared[0].difference if judged.compared else None
    return "" if difference is None else f" ({interval(difference.mean, difference.ci95).text})"
