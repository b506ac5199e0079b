"""Correlations of metrics over the corpora of a collection, plain and given the sizes of the corpora.

Scores are read from files of `ecsuite score` or folders of scored runs. Runs of one game that differ only in their
seeds are one source, with the means over the seeds. Corpora with equal names and scores count once.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from ecsuite.eval.metrics import table_order
from ecsuite.eval.metrics.score import Signature, is_number
from ecsuite.eval.results.results import Results
from ecsuite.eval.results.samples import OF_A_SOURCE
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.contingency import Floats, Ints
from ecsuite.eval.statistics.correlation import (
    FEWEST,
    NUM_PERMUTATIONS,
    NUM_RESAMPLES,
    SEED,
    Explained,
    Relation,
    clusters,
    explained,
    relation,
    stability,
)
from ecsuite.eval.statistics.estimates import holm
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.tables.cells import INTERVAL, UNDEFINED, Cell, interval, nothing, number, p_words
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

SIZES = ("Token Count", "Line Count", "Unique Lines", "Unique Tokens", "EoS Token Present", "EoS Padding")
"""Scores that are counts in a corpus: correlated only if they are named."""
FEWEST_SOURCES = 5
"""Minimum number of sources of a collection."""


@dataclass(frozen=True, kw_only=True)
class GroupedSource:
    """A corpus, or the corpora of runs that differ only in their seeds."""

    name: str
    """Name in tables."""
    system: str | None
    """The system that produced it, in the layout of ELCC."""
    corpora: tuple[Mapping[str, float], ...]
    """Scores and sizes of each corpus by name."""

    @cached_property
    def values(self) -> dict[str, float]:
        """Scores and sizes by name, means over the corpora that have them."""
        names = dict.fromkeys(name for corpus in self.corpora for name in corpus)
        found = {name: [corpus[name] for corpus in self.corpora if name in corpus] for name in names}
        return {name: math.fsum(values) / len(values) for name, values in found.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreTable:
    """The scores of a collection."""

    sources: tuple[GroupedSource, ...]
    """The sources in input order."""
    metrics: tuple[str, ...]
    """Names of all scores, in the order of tables."""
    sizes: tuple[str, ...]
    """Names of the sizes of corpora, and `accuracy`."""
    differing: tuple[str, ...]
    """Scores whose signatures show different settings between sources."""
    sized: tuple[str, ...]
    """Scores that depend on the size of the corpus, if sizes differ."""

    def column(self, name: str) -> Floats:
        """A score or size of each source, shape (num_sources,), NaN where it is undefined.

        Raises:
            ConfigError: If no score or size has this name.
        """
        look_up("score or size", name, dict.fromkeys((*self.metrics, *self.sizes)))
        return np.array([source.values.get(name, np.nan) for source in self.sources])

    def two_corpora(self, name: str) -> Floats:
        """A score in the first two corpora of each source, shape (2, num_sources); NaN if missing."""
        pairs = [[each.get(name, np.nan) for each in source.corpora[:2]] for source in self.sources]
        return np.array([[*pair, np.nan, np.nan][:2] for pair in pairs]).T

    def groups(self) -> Ints | None:
        """Index of the system of each source; None unless all sources have a system, some with several sources."""
        systems = [source.system for source in self.sources]
        if None in systems or len(set(systems)) == len(systems):
            return None
        return np.unique([str(system) for system in systems], return_inverse=True)[1]


def read_table(paths: Iterable[Path]) -> ScoreTable:
    """Read a collection.

    Args:
        paths: See `ecsuite.eval.results.results.Results.read`.

    Raises:
        ConfigError: If a path cannot be read, has no scores, or there are fewer than `FEWEST_SOURCES` sources.
    """
    groups: dict[str, list[Source]] = {}
    known: set[tuple[str, str]] = set()  # names with scores: a corpus that was read twice counts once
    for index, source in enumerate(Results.read(paths).merged()):
        has_scores = not all(record.is_measure for record in source.records)
        if source.is_run and not source.counts():
            continue  # as in comparisons
        if (source.is_run or not source.group) and not has_scores:
            raise ConfigError(
                f"{source.file}: expected the JSON of `ecsuite score CORPORA --out FILE.json`, with `scores`"
            )
        content = (source.name, json.dumps(_values(source), sort_keys=True))
        if content not in known:
            known.add(content)
            groups.setdefault(source.group or f"{source.file} {index}", []).append(source)
    signatures: dict[str, set[str]] = {}
    read: dict[str, set[str]] = {}  # sample sizes by score, if they change its value
    for record in (record for group in groups.values() for source in group for record in source.records):
        if record.value is not None and not record.is_measure:
            signature = Signature(record.signature)
            signatures.setdefault(record.name, set()).add(signature.without(*OF_A_SOURCE))
            read.setdefault(record.name, set()).update(
                signature.options[key] for key in ("n", "passes") if key in signature.options
            )
    sources = [
        GroupedSource(name=group[0].name, system=group[0].system, corpora=tuple(map(_values, group)))
        for group in groups.values()
    ]
    if len(sources) < FEWEST_SOURCES:
        raise ConfigError(
            f"correlations: expected at least {FEWEST_SOURCES} corpora of different games, got {len(sources)}"
        )
    metrics = sorted(signatures, key=table_order)
    sizes = dict.fromkeys(name for source in sources for name in source.values if name not in signatures)
    return ScoreTable(
        sources=tuple(sources),
        metrics=tuple(metrics),
        sizes=tuple(sizes),
        differing=tuple(name for name in metrics if len(signatures[name]) > 1),
        sized=tuple(name for name in metrics if len(read[name]) > 1),
    )


def _values(source: Source) -> dict[str, float]:
    """Sizes of a corpus, the accuracy of its run, and its numeric scores by name; later scores replace earlier ones."""
    scores = {record.name: record.value for record in source.records if not record.is_measure}
    numbers = {name: float(value) for name, value in scores.items() if is_number(value)}
    return {**source.sizes, **numbers}


GIVEN = ("num_messages", "num_distinct_meanings")
"""Default covariates: the sizes of the corpus and of the set of its meanings."""
CUT = 0.7
"""Minimum mean |correlation| between the parts of a cluster."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricPair:
    """Two metrics."""

    first: str
    """The first metric."""
    second: str
    """The second metric."""
    plain: Relation
    """Their correlation."""
    partial: Relation | None
    """Their partial correlation, given the sizes; None without covariates."""
    p_holm: float | None
    """The p-value of `plain` with Holm's correction for all pairs."""
    partial_p_holm: float | None
    """The p-value of `partial` with Holm's correction."""

    def to_json(self) -> dict[str, Any]:
        """The pair as JSON-ready data."""
        given = None if self.partial is None else _relation_json(self.partial, self.partial_p_holm)
        return {
            "first": self.first,
            "second": self.second,
            **_relation_json(self.plain, self.p_holm),
            "given_sizes": given,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Correlations:
    """The correlations of all metrics of a collection."""

    table: ScoreTable
    """The scores."""
    metrics: tuple[str, ...]
    """The metrics, with correlated metrics next to each other."""
    given: tuple[str, ...]
    """The covariates."""
    pairs: tuple[MetricPair, ...]
    """All pairs of metrics."""
    sizes: Mapping[str, Explained]
    """Share of the variance of the ranks of each metric that the sizes explain; empty without covariates."""
    sizes_p_holm: tuple[float | None, ...]
    """The p-values of `sizes` with Holm's correction."""
    between_seeds: Mapping[str, Relation]
    """Correlation of each metric between the first two seeds, given the sizes; empty if no source has two seeds."""
    clusters: tuple[tuple[str, ...], ...]
    """Clusters of correlated metrics."""
    stability: tuple[float | None, ...]
    """Mean share of bootstrap resamples in which two metrics of a cluster stay together; None for a single metric."""
    clusters_given: tuple[tuple[str, ...], ...]
    """Clusters by partial correlations; empty without covariates."""
    left_out: Mapping[str, str]
    """Reason by metric that has no correlations."""

    @property
    def num_groups(self) -> int | None:
        """Number of systems that the bootstrap resamples as a whole; None: corpora are independent."""
        groups = self.table.groups()
        return None if groups is None else len(np.unique(groups))

    def matrix(self, *, partial: bool = False) -> list[list[Relation | None]]:
        """The relations of all pairs of metrics; None on the diagonal."""
        by_pair = {
            frozenset((pair.first, pair.second)): pair.partial if partial else pair.plain
            for pair in self.pairs
        }
        return [[by_pair.get(frozenset((one, other))) for other in self.metrics] for one in self.metrics]

    def to_json(self) -> dict[str, Any]:
        """The correlations as JSON-ready data."""
        groups = self.num_groups
        return {
            "sources": [
                {"name": source.name, "system": source.system, "num_corpora": len(source.corpora)}
                for source in self.table.sources
            ],
            "metrics": list(self.metrics),
            "given": list(self.given),
            "pairs": [pair.to_json() for pair in self.pairs],
            "sizes": {
                name: {
                    "n": each.num_sources,
                    "share": each.share,
                    "chance": each.chance,
                    "adjusted": each.adjusted,
                    "p_value": each.p_value,
                    "p_holm": p_holm,
                    "reason": each.reason,
                }
                for (name, each), p_holm in zip(self.sizes.items(), self.sizes_p_holm, strict=True)
            },
            "between_seeds": {name: _relation_json(each, None) for name, each in self.between_seeds.items()},
            "clusters": [list(names) for names in self.clusters],
            "stability": list(self.stability),
            "clusters_given_sizes": [list(names) for names in self.clusters_given],
            "left_out": dict(self.left_out),
            "different_settings": list(self.table.differing),
            "of_different_sizes": list(self.table.sized),
            "method": {
                "coefficient": "Spearman",
                "interval": "Fisher, Bonett and Wright" if groups is None else "bootstrap over systems",
                "num_systems": groups,
                "permutations": NUM_PERMUTATIONS if groups is None else None,
                "resamples": NUM_RESAMPLES,
                "seed": SEED,
                "correction": "Holm",
                "linkage": "average, 1 - |correlation|",
                "cut": CUT,
            },
        }


def correlate(
    table: ScoreTable, metrics: Sequence[str] | None = None, given: Sequence[str] | None = None
) -> Correlations:
    """Correlate the metrics of a collection over its sources.

    Args:
        table: The scores.
        metrics: Names of scores or sizes; None: all scores that are no counts, see `SIZES`.
        given: Names of covariates; empty: none; None: the names in `GIVEN` whose values differ between sources.

    Raises:
        ConfigError: If a name is unknown or given twice, a metric is among the given ones, or fewer than two metrics
            are left.
    """
    chosen_given = list(GIVEN) if given is None else list(given)
    if given is None:
        known = [name for name in chosen_given if name in table.sizes and name not in (metrics or ())]
        chosen_given = [name for name in known if _why_not(table.column(name)) is None]
    names = [name for name in table.metrics if name not in SIZES] if metrics is None else list(metrics)
    if metrics is None:
        names = [name for name in names if name not in chosen_given]
    for what, listed in (
        ("--metrics", names),
        ("--given", chosen_given),
        ("--metrics, --given", names + chosen_given),
    ):
        twice = [name for name in dict.fromkeys(listed) if listed.count(name) > 1]
        if twice:
            raise ConfigError(f"{what}: {twice[0]} is named twice")
    controls = np.array([table.column(name) for name in chosen_given]).reshape(
        len(chosen_given), len(table.sources)
    )
    for name, column in zip(chosen_given, controls, strict=True):
        if (why := _why_not(column)) is not None:
            raise ConfigError(f"--given {name}: {why}")
    columns = {name: table.column(name) for name in names}
    left_out = {name: why for name, column in columns.items() if (why := _why_not(column)) is not None}
    columns = {name: column for name, column in columns.items() if name not in left_out}
    if len(columns) < 2:
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        raise ConfigError(f"expected two metrics that differ between corpora, got {len(columns)} ({why})")
    groups = table.groups()
    nothing = np.zeros((0, len(table.sources)))
    found = [
        (one, other, relation(columns[one], columns[other], nothing, groups),
         relation(columns[one], columns[other], controls, groups) if chosen_given else None)
        for one, other in combinations(columns, 2)
    ]  # fmt: skip
    corrected = holm([plain.p_value for _, _, plain, _ in found])
    corrected_partial = holm([None if each is None else each.p_value for _, _, _, each in found])
    pairs = [
        MetricPair(first=one, second=other, plain=plain, partial=partial, p_holm=p, partial_p_holm=partial_p)
        for (one, other, plain, partial), p, partial_p in zip(
            found, corrected, corrected_partial, strict=True
        )
    ]
    grouped, order = _clustered(list(columns), {(p.first, p.second): p.plain for p in pairs})
    by_partial = {(pair.first, pair.second): pair.partial for pair in pairs if pair.partial is not None}
    has_seeds = any(len(source.corpora) > 1 for source in table.sources)
    sizes = {name: explained(columns[name], controls, groups) for name in order} if chosen_given else {}
    return Correlations(
        table=table,
        metrics=tuple(order),
        given=tuple(chosen_given),
        pairs=tuple(pairs),
        sizes=sizes,
        sizes_p_holm=tuple(holm([each.p_value for each in sizes.values()])),
        between_seeds={name: _between_seeds(table, name, chosen_given) for name in order}
        if has_seeds
        else {},
        clusters=grouped,
        stability=_stability(grouped, columns, groups),
        clusters_given=_clustered(list(columns), by_partial)[0] if chosen_given else (),
        left_out=left_out,
    )


def _between_seeds(table: ScoreTable, name: str, given: Sequence[str]) -> Relation:
    """Correlation of a metric between the first and the second corpus of each source, given both corpora's sizes."""
    first, second = table.two_corpora(name)
    controls = [column for each in given for column in table.two_corpora(each)]
    return relation(first, second, np.array(controls).reshape(len(controls), len(table.sources)))


def _why_not(column: Floats) -> str | None:
    """Reason for which a column has no correlations, if any."""
    defined = column[~np.isnan(column)]
    if len(defined) < FEWEST:
        return f"defined for {len(defined)} of {len(column)} sources, expected at least {FEWEST}"
    return "the same for all sources" if np.ptp(defined) == 0 else None


def _clustered(
    names: Sequence[str], relations: Mapping[tuple[str, str], Relation]
) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """The clusters of metrics, and all metrics in the order of the tree."""
    index = {name: index for index, name in enumerate(names)}
    values = np.eye(len(names))
    for (one, other), each in relations.items():
        value = np.nan if each.value is None else each.value
        values[index[one], index[other]] = values[index[other], index[one]] = value
    found, order = clusters(values, CUT)
    return tuple(tuple(names[index] for index in each) for each in found), [names[index] for index in order]


def _stability(
    grouped: Sequence[Sequence[str]], columns: Mapping[str, Floats], groups: Ints | None
) -> tuple[float | None, ...]:
    """Mean share of resamples in which two metrics of a cluster stay together; None for a single metric."""
    together = stability(np.array(list(columns.values())), CUT, groups)
    index = {name: index for index, name in enumerate(columns)}
    shares = [
        [together[index[one], index[other]] for one, other in combinations(names, 2)] for names in grouped
    ]
    return tuple(float(np.mean(each)) if each else None for each in shares)


def _relation_json(each: Relation, p_holm: float | None) -> dict[str, Any]:
    """A relation as JSON-ready data."""
    return {
        "n": each.num_sources,
        "value": each.value,
        "ci95": None if each.ci95 is None else list(each.ci95),
        "p_value": each.p_value,
        "p_holm": p_holm,
        "reason": each.reason,
    }


FEW_GROUPS = 10
"""With fewer groups, the percentiles of a bootstrap over groups are too narrow."""


def correlation_report(result: Correlations) -> Report:
    """The report of correlations."""
    lines = notes(result)
    return Report(
        tables=[_table(result)],
        notes=tuple(lines),
        data=result.to_json() | {"notes": lines},
        draw=lambda file: draw(result, file),
    )


def _table(result: Correlations) -> Table:
    """A row per metric: the variance that sizes explain, and the metric with the highest |correlation|."""
    columns = [name_column("metric"), number_column("n")]
    if result.given:
        columns.append(number_column("explained", ("explained", "by sizes"), parts=("r2", "chance", "p")))
    if result.between_seeds:
        columns.append(number_column("between_seeds", ("between", "seeds"), parts=INTERVAL))
    columns += [Column("nearest_metric"), number_column("rho", parts=INTERVAL)]
    if result.given:
        columns.append(number_column("rho_given", ("rho given", "the sizes"), parts=INTERVAL))
    corrected = dict(zip(result.sizes, result.sizes_p_holm, strict=True))
    rows = []
    for name in result.metrics:
        cells: list[Cell | str] = []
        if result.given:
            cells.append(_explained(result.sizes[name], corrected[name]))
        if result.between_seeds:
            cells.append(_relation(result.between_seeds[name]))
        pair = _nearest(result, name)
        if pair is None:
            cells += [nothing(UNDEFINED), nothing(), *([nothing()] if result.given else [])]
        else:
            cells += [pair.second if pair.first == name else pair.first, _relation(pair.plain)]
            cells += [_relation(pair.partial)] if result.given else []
        rows.append(row_of(name, int(np.isfinite(result.table.column(name)).sum()), *cells))
    return Table(columns=columns, rows=rows)


def _nearest(result: Correlations, name: str) -> MetricPair | None:
    """The pair of a metric with the highest |correlation|."""
    pairs = [
        pair for pair in result.pairs if name in (pair.first, pair.second) and pair.plain.value is not None
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
    lines += [] if p_holm is None else [p_words(p_holm)]
    return replace(
        cell, lines=(*cell.lines, *lines), parts={"r2": each.share, "chance": each.chance, "p": p_holm}
    )


def notes(result: Correlations) -> list[str]:
    """Clusters, number of significant correlations, and methods of the intervals."""
    num_sources = len(result.table.sources)
    num_corpora = sum(len(source.corpora) for source in result.table.sources)
    lines = [f"{num_sources} sources of {num_corpora} corpora" + (
        "; runs that differ only in their seeds are one source, with the means over the seeds."
        if num_corpora > num_sources
        else "."
    )]  # fmt: skip
    lines += _cluster_lines(f"Clusters (mean |rho| of at least {CUT})", result.clusters, result.stability)
    if result.given:
        lines += _cluster_lines("Clusters given the sizes", result.clusters_given)
    lines.append(
        _count_line("rho", [pair.plain for pair in result.pairs], [pair.p_holm for pair in result.pairs])
    )
    if result.given:
        partial = [pair.partial for pair in result.pairs if pair.partial is not None]
        lines.append(
            _count_line("rho given the sizes", partial, [pair.partial_p_holm for pair in result.pairs])
        )
        lines.append(
            f"Sizes: {', '.join(result.given)}. Explained: R² of the ranks on the sizes' ranks, minus chance"
            " (adjusted R²); p: permutations, Holm's correction."
        )
    if result.between_seeds:
        what = "rho given the sizes" if result.given else "rho"
        lines.append(f"Between seeds: {what} of a metric in the first and the second corpus of each source.")
    groups = result.num_groups
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
    if result.table.differing:
        shared = [name for name in result.metrics if name in result.table.differing]
        if shared:
            lines.append(f"Signatures differ between corpora: {', '.join(shared)}.")
    sized = [name for name in result.metrics if name in result.table.sized]
    if sized:
        given = "" if "num_messages" in result.given else "; --given num_messages controls for them"
        lines.append(f"Depend on the sizes of corpora, which differ{given}: {', '.join(sized)}.")
    lines += [f"{name}: left out, {why}." for name, why in result.left_out.items()]
    return lines


def _cluster_lines(
    what: str, clusters: Sequence[Sequence[str]], shares: Sequence[float | None] = ()
) -> list[str]:
    joint_shares = [None] * len(clusters) if not shares else shares
    together = [
        ", ".join(names) + ("" if share is None else f" (together in {share:.0%} of resamples)")
        for names, share in zip(clusters, joint_shares, strict=True)
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


def draw(result: Correlations, *files: Path) -> None:
    """Draw all correlations as a heat map: plain below the diagonal, partial above it.

    Numbers are printed where the 95 % interval excludes 0.

    Args:
        result: The correlations.
        *files: Output files, .svg, .pdf or .png.

    Raises:
        ConfigError: If matplotlib is missing.
    """
    values, is_clear = _both_halves(result)
    texts = [
        [_short(value) if clear else "" for value, clear in zip(*row, strict=True)]
        for row in zip(values, is_clear, strict=True)
    ]
    below = f"below the diagonal: plain; above: given {', '.join(result.given)}"
    groups = [names for names in result.clusters if len(names) > 1]
    firsts = [min(result.metrics.index(name) for name in names) for names in groups]
    figure = heat_map(
        values,
        result.metrics,
        result.metrics,
        texts=texts,
        limits=(-1, 1),
        scale="rho",
        outlined=[
            (first, first, len(names), len(names)) for first, names in zip(firsts, groups, strict=True)
        ],
        title="Spearman's rho of metrics over corpora; numbers: the 95 % interval excludes 0",
        notes=[below if result.given else "both halves are equal"],
    )
    save(figure, *files)


def _short(value: float) -> str:
    """A correlation without the leading zero."""
    return f"{value:.2f}".replace("0.", ".").replace("1.00", "1")


def _both_halves(result: Correlations) -> tuple[Floats, Any]:
    """Plain correlations below the diagonal and partial ones above it, and a mask: the interval excludes 0."""
    number = len(result.metrics)
    values, is_clear = np.full((number, number), np.nan), np.zeros((number, number), bool)
    index = {name: index for index, name in enumerate(result.metrics)}
    for pair in result.pairs:
        low, high = sorted((index[pair.first], index[pair.second]))
        for row, column, each in ((high, low, pair.plain), (low, high, pair.partial or pair.plain)):
            if each.value is not None:
                values[row, column], is_clear[row, column] = each.value, each.is_clear
    np.fill_diagonal(values, 1.0)
    return values, is_clear
