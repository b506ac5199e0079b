"""What came of an audit, as a table, a picture, JSON, and a sentence."""

from functools import partial
from pathlib import Path

from ecsuite.eval.figures.canvas import save
from ecsuite.eval.figures.intervals import Panel, Point, intervals
from ecsuite.eval.run_metrics.audit import CONDITIONS, Audit
from ecsuite.eval.views.console import Report
from ecsuite.tables.cells import estimate, nothing, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

USUAL = "as said"
"""The condition in which nothing is changed."""


def report(found: Audit) -> Report:
    """The rewards, what messages tell, and what follows."""
    notes = [
        found.conclusion,
        f"{found.num_episodes:,} episodes, the same in each row; ±: 95 % interval; lost: as said minus the row",
        "told: mutual information in bits, influence too; reading: share that a linear model of the last two messages "
        "gets right in other episodes; outsider: what fresh listeners get right, who hear the last four",
        "shuffled: the mean over shuffles of whole episodes; an influence of 0 is exact, without shuffles",
    ]
    if found.conditions[0].cost is not None:
        notes.append("cost: of the symbols that are said, which is neither in the reward nor in what is lost")
    if found.scripted is not None:
        notes.insert(2, f"scripted agents of this world get {found.scripted:.4g} an episode")
    return Report(
        tables=[_rewards(found), _told(found)],
        notes=tuple(notes),
        data=found.to_json(),
        draw=partial(_draw, found),
    )


def _rewards(found: Audit) -> Table:
    rows = []
    for each in found.conditions:
        lost = nothing()
        if each.loss is not None:
            width = None if each.loss.ci95 is None else (each.loss.ci95[1] - each.loss.ci95[0]) / 2
            lost = estimate(each.loss.mean, width)
        name, _, place = each.name.partition(", ")
        what = CONDITIONS.get(name, "what is said") + (", of this part alone" if place else "")
        p = nothing() if each.loss is None else p_value(each.loss.p_holm)
        paid = [] if each.cost is None else [number(each.cost), number(each.reward - each.cost)]
        rows.append(row_of(each.name, estimate(each.reward, each.half_width), *paid, lost, p, text(what)))
    has_costs = found.conditions[0].cost is not None
    costs = (number_column("cost"), number_column("net", heading="less cost")) if has_costs else ()
    columns = (
        name_column("heard"),
        number_column("reward", heading="reward an episode"),
        *costs,
        number_column("lost"),
        number_column("p", heading="p (Holm)"),
        Column("what", heading="what is heard", wraps=True),
    )
    return Table(columns=columns, rows=rows, title="reward")


def _told(found: Audit) -> Table:
    rows = [
        row_of(
            each.kind,
            text(each.about),
            number(each.value),
            nothing("0 exactly") if each.null is None else number(each.null),
            nothing() if each.p_holm is None else p_value(each.p_holm),
        )
        for each in found.told
    ]
    columns = (
        name_column("measure"),
        Column("of", wraps=True),
        number_column("value"),
        number_column("shuffled"),
        number_column("p", heading="p (Holm)"),
    )
    return Table(columns=columns, rows=rows, title="told")


def _draw(found: Audit, *paths: Path) -> None:
    points = [
        Point(
            row=each.name,
            value=each.reward,
            low=None if each.half_width is None else each.reward - each.half_width,
            high=None if each.half_width is None else each.reward + each.half_width,
        )
        for each in found.conditions
    ]
    usual = found.conditions[0].reward
    lines = {USUAL: usual} | ({} if found.scripted is None else {"scripted agents": found.scripted})
    panel = Panel(points=points, axis="reward of an episode", lines=lines)
    save(intervals(panel, title="reward by what is heard", notes=[found.conclusion]), *paths)
