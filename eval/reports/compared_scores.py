"""The table of several sources in every score that two of them have."""

from functools import partial
from textwrap import shorten

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from ecsuite.eval.comparison.all_scores import ComparedScore, ComparedScores
from ecsuite.eval.comparison.results import EQUAL_SIZES, repetition
from ecsuite.eval.metrics.preset_limits import limits_of
from ecsuite.eval.records.documents import XFERBENCH
from ecsuite.eval.reports.comparison_chart import draw_comparison
from ecsuite.eval.reports.console import Report
from ecsuite.eval.reports.difference_tables import p_value_text
from ecsuite.eval.reports.short_table import ARROWS, shown
from ecsuite.eval.statistics.differences import Difference

NAME_WIDTH = 16
"""Most columns of a source's name."""


def report(compared: ComparedScores) -> Report:
    """The output of a command: a row a score, a column a source, notes and JSON data."""
    lines = notes(compared)
    tables = [_table(compared)]
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
        clear = [(score, each) for score in compared.scores for each in score.differences if each.is_clear]
        lines.append(f"{len(clear)} of {len(differences)} differences are outside the noise:")
        lines += [
            f"  {score.name}: {each.source} {each.conclusion} than {each.baseline} ({p_text(each)})"
            for score, each in clear
        ]
    elif len(compared.sources) == 1:
        lines.append("One source only: no comparison.")
    bases = dict.fromkeys(each.basis for each in differences if each.p_value is not None)
    if bases:
        lines.append(
            f"p: with Holm's correction for {compared.num_comparisons} comparisons, from {'; '.join(bases)}."
        )
    if any(basis.startswith("intervals of the scores") for basis in bases):
        lines.append("Noise between seeds is not in these intervals: train each source with several seeds.")
    lines += [f"{score.name}: {score.reason}" for score in compared.scores if score.reason]
    unequal = [repetition(list(score.results.values())) for score in compared.scores]
    lines += [f"{XFERBENCH}: {why}; {EQUAL_SIZES}." for why in unequal if why]
    signatures = [result.signature for score in compared.scores for result in score.results.values()]
    lines += [f"{XFERBENCH}: {limits}." for limits in dict.fromkeys(map(limits_of, signatures)) if limits]
    if compared.left_out:
        names = shorten(", ".join(compared.left_out), 60, placeholder=" …")
        lines.append(f"{len(compared.left_out)} left out, as undefined: {names} (--json says why).")
    return lines


def p_text(each: Difference) -> str:
    """A corrected p-value: `p .012`, `p <.001`."""
    return f"p {p_value_text(each.p_holm)}"


def _table(compared: ComparedScores) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("score", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in compared.sources:
        width = min(len(name), NAME_WIDTH)
        table.add_column(Text(name), justify="right", min_width=width, max_width=NAME_WIDTH, overflow="fold")
    is_pair = len(compared.sources) == 2
    if is_pair:
        for heading in ("diff.", "p"):
            table.add_column(heading, justify="right", no_wrap=True)
        table.add_column("conclusion", overflow="fold")
    for score in compared.scores:
        values = [
            shown(score.results[name].score) if name in score.results else "-" for name in compared.sources
        ]
        cells = _difference_cells(score, compared.sources) if is_pair else []
        table.add_row(score.name, ARROWS[score.direction], *values, *cells)
    return table


def _difference_cells(score: ComparedScore, sources: tuple[str, ...]) -> list[str | Text]:
    """First minus second, whatever the order of the scores."""
    if not score.differences:
        return ["", "", Text("not comparable", "dim")]
    [each] = score.differences
    is_swapped = each.source != sources[0]
    mean = -each.mean if is_swapped else each.mean
    if not each.is_clear:
        return [shown(mean), p_value_text(each.p_holm), Text(each.conclusion, "dim")]
    higher = sources[0] if mean > 0 else sources[1]
    lower = sources[1] if mean > 0 else sources[0]
    better = {"higher": higher, "lower": lower}.get(score.direction or "")
    words = f"{higher} higher" if better is None else f"{better} better"
    return [shown(mean), p_value_text(each.p_holm), Text(words, "green")]
