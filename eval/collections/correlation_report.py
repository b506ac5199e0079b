"""Correlations of metrics as tables, notes and a picture."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.collections.correlations import CUT, Correlations, Pair
from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.correlation import Explained, Relation
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.tables.cells import INTERVAL, UNDEFINED, Cell, interval, nothing, number, p_text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

FEW_GROUPS = 10
"""With fewer groups, the percentiles of a bootstrap over groups are too narrow."""


def report(found: Correlations) -> Report:
    """The output of a command."""
    lines = notes(found)
    return Report(
        tables=[_table(found)],
        notes=tuple(lines),
        data=found.to_json() | {"notes": lines},
        draw=lambda file: draw(found, file),
    )


def _table(found: Correlations) -> Table:
    """A row a metric: how much the sizes explain, and the metric that is nearest to it."""
    columns = [name_column("metric"), number_column("n")]
    if found.given:
        columns.append(number_column("explained", ("explained", "by sizes"), parts=("r2", "chance", "p")))
    if found.between_seeds:
        columns.append(number_column("between_seeds", ("between", "seeds"), parts=INTERVAL))
    columns += [Column("nearest_metric"), number_column("rho", parts=INTERVAL)]
    if found.given:
        columns.append(number_column("rho_given", ("rho given", "the sizes"), parts=INTERVAL))
    corrected = dict(zip(found.sizes, found.sizes_p_holm, strict=True))
    rows = []
    for name in found.metrics:
        cells: list[Cell | str] = []
        if found.given:
            cells.append(_explained(found.sizes[name], corrected[name]))
        if found.between_seeds:
            cells.append(_relation(found.between_seeds[name]))
        pair = _nearest(found, name)
        if pair is None:
            cells += [nothing(UNDEFINED), nothing(), *([nothing()] if found.given else [])]
        else:
            cells += [pair.second if pair.first == name else pair.first, _relation(pair.plain)]
            cells += [_relation(pair.partial)] if found.given else []
        rows.append(row_of(name, int(np.isfinite(found.table.column(name)).sum()), *cells))
    return Table(columns=columns, rows=rows)


def _nearest(found: Correlations, name: str) -> Pair | None:
    """The pair of a metric with the highest |correlation|."""
    pairs = [
        pair for pair in found.pairs if name in (pair.first, pair.second) and pair.plain.value is not None
    ]
    return max(pairs, key=lambda pair: abs(pair.plain.value or 0.0), default=None)


def _relation(each: Relation | None) -> Cell:
    """A correlation, and below it its interval."""
    if each is None:
        return nothing()
    return interval(each.value, each.ci95, 2, is_stacked=True)


def _explained(each: Explained, p_holm: float | None) -> Cell:
    """Adjusted R², and below it R² with its chance level, and the corrected p."""
    cell = number(each.adjusted, 2)
    if each.adjusted is None:
        return cell
    lines = [f"R² {number(each.share, 2).text}, chance {number(each.chance, 2).text}"]
    lines += [] if p_holm is None else [f"p {p_text(p_holm)}"]
    return replace(
        cell, lines=(*cell.lines, *lines), parts={"r2": each.share, "chance": each.chance, "p": p_holm}
    )


def notes(found: Correlations) -> list[str]:
    """Clusters, how many correlations are clear, and how intervals were made."""
    num_sources = len(found.table.sources)
    num_corpora = sum(len(source.corpora) for source in found.table.sources)
    lines = [f"{num_sources} sources of {num_corpora} corpora" + (
        "; runs that differ only in their seeds are one source, with the means over the seeds."
        if num_corpora > num_sources
        else "."
    )]  # fmt: skip
    lines += _cluster_lines(f"Clusters (mean |rho| of at least {CUT})", found.clusters, found.stability)
    if found.given:
        lines += _cluster_lines("Clusters given the sizes", found.clusters_given)
    lines.append(
        _count_line("rho", [pair.plain for pair in found.pairs], [pair.p_holm for pair in found.pairs])
    )
    if found.given:
        partial = [pair.partial for pair in found.pairs if pair.partial is not None]
        lines.append(
            _count_line("rho given the sizes", partial, [pair.partial_p_holm for pair in found.pairs])
        )
        lines.append(
            f"Sizes: {', '.join(found.given)}. Explained: R² of the ranks on theirs less what chance explains"
            " (adjusted R²); p: permutations, Holm's correction."
        )
    if found.between_seeds:
        what = "rho given the sizes" if found.given else "rho"
        lines.append(f"Between seeds: {what} of a metric in the first and the second corpus of each source.")
    groups = found.num_groups
    if groups is None:
        lines.append(
            "rho: Spearman; 95 % intervals: Fisher's (Bonett and Wright); p: permutations, Holm's correction."
        )
    else:
        lines.append(
            f"rho: Spearman; 95 % intervals: percentiles of a bootstrap that draws whole systems ({groups})."
        )
        if groups < FEW_GROUPS:
            lines.append(f"With fewer than {FEW_GROUPS} systems, these intervals are too narrow.")
    if found.table.differing:
        shared = [name for name in found.metrics if name in found.table.differing]
        if shared:
            lines.append(f"Signatures differ between corpora: {', '.join(shared)}.")
    sized = [name for name in found.metrics if name in found.table.sized]
    if sized:
        given = "" if "num_messages" in found.given else "; --given num_messages holds them fixed"
        lines.append(f"Depend on the sizes of corpora, which differ{given}: {', '.join(sized)}.")
    lines += [f"{name}: left out, {why}." for name, why in found.left_out.items()]
    return lines


def _cluster_lines(
    what: str, clusters: Sequence[Sequence[str]], shares: Sequence[float | None] = ()
) -> list[str]:
    told = [None] * len(clusters) if not shares else shares
    together = [
        ", ".join(names) + ("" if share is None else f" (together in {share:.0%} of resamples)")
        for names, share in zip(clusters, told, strict=True)
        if len(names) > 1
    ]
    alone = [names[0] for names in clusters if len(names) == 1]
    lines = [f"{what}:", *(f"  {line}" for line in together)]
    return [*lines, f"  alone: {', '.join(alone)}"] if alone else lines


def _count_line(what: str, relations: Sequence[Relation], p_values: Sequence[float | None]) -> str:
    defined = [each for each in relations if each.value is not None]
    clear = sum(each.is_clear for each in defined)
    line = f"{what}: the interval excludes 0 in {clear} of {len(defined)} pairs"
    tested = [p for p in p_values if p is not None]
    return line + (f"; p < .05 after correction in {sum(p < 0.05 for p in tested)}." if tested else ".")


def draw(found: Correlations, *files: Path) -> None:
    """Draw all correlations as a heat map: below the diagonal plain ones, above it those given the sizes.

    A number stands where the 95 % interval excludes 0.

    Args:
        found: The correlations.
        *files: Output files, .svg or .png.

    Raises:
        ConfigError: If matplotlib is missing.
    """
    values, is_clear = _both_halves(found)
    texts = [
        [_short(value) if clear else "" for value, clear in zip(*row, strict=True)]
        for row in zip(values, is_clear, strict=True)
    ]
    below = f"below the diagonal: plain; above: given {', '.join(found.given)}"
    groups = [names for names in found.clusters if len(names) > 1]
    firsts = [min(found.metrics.index(name) for name in names) for names in groups]
    figure = heat_map(
        values,
        found.metrics,
        found.metrics,
        texts=texts,
        limits=(-1, 1),
        scale="rho",
        outlined=[
            (first, first, len(names), len(names)) for first, names in zip(firsts, groups, strict=True)
        ],
        title="Spearman's rho of metrics over corpora; numbers: the 95 % interval excludes 0",
        notes=[below if found.given else "both halves: the same"],
    )
    save(figure, *files)


def _short(value: float) -> str:
    """A correlation without the zero before its point."""
    return f"{value:.2f}".replace("0.", ".").replace("1.00", "1")


def _both_halves(found: Correlations) -> tuple[Floats, Any]:
    """Plain correlations below the diagonal and partial ones above it, and where the interval excludes 0."""
    number = len(found.metrics)
    values, is_clear = np.full((number, number), np.nan), np.zeros((number, number), bool)
    place = {name: index for index, name in enumerate(found.metrics)}
    for pair in found.pairs:
        low, high = sorted((place[pair.first], place[pair.second]))
        for row, column, each in ((high, low, pair.plain), (low, high, pair.partial or pair.plain)):
            if each.value is not None:
                values[row, column], is_clear[row, column] = each.value, each.is_clear
    np.fill_diagonal(values, 1.0)
    return values, is_clear
