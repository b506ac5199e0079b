"""How metrics correlate over the corpora of a collection: plainly, and given the sizes of the corpora."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ecsuite.eval.collections.score_table import SIZES, ScoreTable
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
from ecsuite.runtime.errors import ConfigError

GIVEN = ("num_messages", "num_distinct_meanings")
"""What is given if the user names nothing: the size of the corpus, and of what it is about."""
CUT = 0.7
"""Mean |correlation| between the parts of a cluster, at least."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two metrics."""

    first: str
    """A metric."""
    second: str
    """Another one."""
    plain: Relation
    """Their correlation."""
    partial: Relation | None
    """Their correlation, given the sizes; None if nothing is given."""
    p_holm: float | None
    """The p-value of `plain` with Holm's correction for all pairs."""
    partial_p_holm: float | None
    """The same of `partial`."""

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
    """The metrics, those that correlate next to each other."""
    given: tuple[str, ...]
    """The variables that are given."""
    pairs: tuple[Pair, ...]
    """All pairs of metrics."""
    sizes: Mapping[str, Explained]
    """By metric, how much of the variance of its ranks the sizes explain; empty if nothing is given."""
    sizes_p_holm: tuple[float | None, ...]
    """The p-values of `sizes` with Holm's correction."""
    between_seeds: Mapping[str, Relation]
    """By metric, its correlation between the first two seeds, given the sizes; empty if no source has two."""
    clusters: tuple[tuple[str, ...], ...]
    """Metrics that correlate with each other."""
    stability: tuple[float | None, ...]
    """Of each cluster, the mean share of bootstrap resamples in which two of its metrics are in one; None of one."""
    clusters_given: tuple[tuple[str, ...], ...]
    """The same with partial correlations; empty if nothing is given."""
    left_out: Mapping[str, str]
    """By metric, why it has no correlations."""

    @property
    def num_groups(self) -> int | None:
        """Number of systems whose corpora are drawn together for intervals; None: corpora are independent."""
        groups = self.table.groups()
        return None if groups is None else len(np.unique(groups))

    def matrix(self, *, partial: bool = False) -> list[list[Relation | None]]:
        """The relations of all metrics with each other, None of a metric with itself."""
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
        metrics: Names of scores or sizes; None: all scores that do not just count, see `SIZES`.
        given: Names of scores or sizes; empty: none; None: those of `GIVEN` that differ between the sources.

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
        Pair(first=one, second=other, plain=plain, partial=partial, p_holm=p, partial_p_holm=partial_p)
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
    """The correlation of a metric in the first corpus of each source with that in the second, given those of both."""
    first, second = table.two_corpora(name)
    controls = [column for each in given for column in table.two_corpora(each)]
    return relation(first, second, np.array(controls).reshape(len(controls), len(table.sources)))


def _why_not(column: Floats) -> str | None:
    """Why a column has no correlations."""
    defined = column[~np.isnan(column)]
    if len(defined) < FEWEST:
        return f"defined for {len(defined)} of {len(column)} sources, expected at least {FEWEST}"
    return "the same for all sources" if np.ptp(defined) == 0 else None


def _clustered(
    names: Sequence[str], relations: Mapping[tuple[str, str], Relation]
) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """The clusters of metrics, and all of them in the order of the tree."""
    place = {name: index for index, name in enumerate(names)}
    values = np.eye(len(names))
    for (one, other), each in relations.items():
        value = np.nan if each.value is None else each.value
        values[place[one], place[other]] = values[place[other], place[one]] = value
    found, order = clusters(values, CUT)
    return tuple(tuple(names[index] for index in each) for each in found), [names[index] for index in order]


def _stability(
    grouped: Sequence[Sequence[str]], columns: Mapping[str, Floats], groups: Ints | None
) -> tuple[float | None, ...]:
    """How often the metrics of a cluster are in one in resamples of the sources; None of a metric alone."""
    together = stability(np.array(list(columns.values())), CUT, groups)
    place = {name: index for index, name in enumerate(columns)}
    shares = [
        [together[place[one], place[other]] for one, other in combinations(names, 2)] for names in grouped
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
