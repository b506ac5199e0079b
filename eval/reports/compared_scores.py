"""The table of several sources in every score that two of them have."""

from dataclasses import replace
from functools import partial
from textwrap import shorten

from ecsuite.eval.metrics.preset_limits import limits_of
from ecsuite.eval.reports.comparison_chart import draw_comparison
from ecsuite.eval.results.comparison import ComparedScore, ComparedScores
from ecsuite.eval.results.files import XFERBENCH
from ecsuite.eval.results.samples import EQUAL_SIZES, noise_between, repetition
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.score_tables import ARROWS
from ecsuite.tables.cells import INTERVAL, Cell, interval, nothing, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of


def report(compared: ComparedScores) -> Report:
    """The output of a command: a row a score, a column a source, notes and JSON data."""
    lines = notes(compared)
    tables = [_table(compared)]
    if len(compared.sources) > 2 and any(
        each.is_clear for score in compared.scores for each in score.differences
    ):
        tables.append(_clear_differences(compared))
    results = {score.name: list(score.results.values()) for score in compared.scores}
    return Report(
        tables=tables,
        notes=tuple(lines),
        data=compared.to_json() | {"notes": lines},
        draw=partial(draw_comparison, results),
    )


def notes(compared: ComparedScores) -> list[str]:
    """What was corrected, what differs between more than two sources, and what is left out."""
    differences = [each for score in compared.scores for each in score.differences]
    lines = []
    if len(compared.sources) > 2:
        num_clear = sum(each.is_clear for each in differences)
        lines.append(f"{num_clear} of {len(differences)} differences are outside the noise.")
    elif len(compared.sources) == 1:
        lines.append("One source only: no comparison.")
    bases = dict.fromkeys(each.basis for each in differences if each.p_value is not None)
    if bases:
        number = compared.num_comparisons
        corrected = f"with Holm's correction for {number} comparisons, " if number > 1 else ""
        lines.append(f"p: {corrected}from {'; '.join(bases)}.")
    if any(basis.startswith("intervals of the scores") for basis in bases):
        lines.append(noise_between(result for score in compared.scores for result in score.results.values()))
    of_reason: dict[str, list[str]] = {}
    for score in compared.scores:
        if score.reason:
            of_reason.setdefault(score.reason, []).append(score.name)
    lines += [f"{', '.join(names)}: {reason}" for reason, names in of_reason.items()]
    unequal = [repetition(list(score.results.values())) for score in compared.scores]
    lines += [f"{XFERBENCH}: {why}; {EQUAL_SIZES}." for why in unequal if why]
    signatures = [result.signature for score in compared.scores for result in score.results.values()]
    lines += [f"{XFERBENCH}: {limits}." for limits in dict.fromkeys(map(limits_of, signatures)) if limits]
    lines += [f"{source} has none of these scores: {why}." for source, why in compared.without.items()]
    if compared.left_out:
        names = shorten(", ".join(compared.left_out), 60, placeholder=" …")
        lines.append(f"{len(compared.left_out)} left out, as undefined: {names} (--json says why).")
    return lines


def _table(compared: ComparedScores) -> Table:
    """A row a score, a column a source; of two sources also the difference."""
    is_pair = len(compared.sources) == 2
    columns = [name_column("score"), Column("better", heading="")]
    columns += [number_column(name, heading=name, parts=INTERVAL) for name in compared.sources]
    if is_pair:
        columns += [
            number_column("difference", "diff.", parts=INTERVAL),
            number_column("p"),
            Column("conclusion", wraps=True),
        ]
    rows = []
    for score in compared.scores:
        arrow = text(score.direction, shown=ARROWS[score.direction])
        values = [_value(score, name) for name in compared.sources]
        rows.append(
            row_of(score.name, arrow, *values, *(_difference(score, compared.sources) if is_pair else []))
        )
    return Table(columns=columns, rows=rows)


def _clear_differences(compared: ComparedScores) -> Table:
    """A row a difference of two sources that is outside the noise."""
    columns = (
        name_column("score"),
        name_column("first"),
        name_column("second", "minus"),
        number_column("difference", parts=INTERVAL),
        number_column("p"),
        Column("conclusion", wraps=True),
    )
    rows = [
        row_of(
            score.name,
            each.source,
            each.baseline,
            interval(each.mean, each.ci95),
            p_value(each.p_holm),
            text(each.conclusion, role="good"),
        )
        for score in compared.scores
        for each in score.differences
        if each.is_clear
    ]
    return Table(columns=columns, rows=rows, title="Differences outside the noise")


def _value(score: ComparedScore, source: str) -> Cell:
    """The score of a source; its interval, if it has one, is in CSV and frames."""
    result = score.results.get(source)
    cell = number(None if result is None else result.score)
    bounds = None if result is None else result.ci95
    return cell if bounds is None else replace(cell, parts=dict(zip(INTERVAL, bounds, strict=True)))


def _difference(score: ComparedScore, sources: tuple[str, ...]) -> list[Cell]:
    """First minus second, whatever the order of the scores."""
    if not score.differences:
        return [nothing(), nothing(), text("not comparable", role="dim")]
    [each] = score.differences
    sign = 1 if each.source == sources[0] else -1
    mean = sign * each.mean
    bounds = () if each.ci95 is None else sorted(sign * bound for bound in each.ci95)
    cells = [replace(number(mean), parts=dict(zip(INTERVAL, bounds))), p_value(each.p_holm)]  # noqa: B905
    if not each.is_clear:
        return [*cells, text(each.conclusion, role="dim")]
    higher, lower = sources if mean > 0 else reversed(sources)
    better = {"higher": higher, "lower": lower}.get(score.direction or "")
    return [*cells, text(f"{higher} higher" if better is None else f"{better} better", role="good")]
