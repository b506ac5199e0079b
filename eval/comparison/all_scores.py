"""Several sources side by side in every score that two of them have, corrected for all pairs and scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ecsuite.eval.comparison.differences import (
    choose_baseline,
    compare,
    require_comparable,
)
from ecsuite.eval.comparison.equal_sizes import EqualSizes
from ecsuite.eval.comparison.gathering import results_of
from ecsuite.eval.comparison.results import Result
from ecsuite.eval.metrics import table_order, traits_of
from ecsuite.eval.metrics.traits import Direction
from ecsuite.eval.records.source import Source
from ecsuite.eval.statistics.differences import Difference, corrected, num_comparisons
from ecsuite.runtime.errors import ConfigError

ONLY_IN_ONE = "only in one"
"""Why a score is left out that a single source has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedScore:
    """One score of all sources."""

    name: str
    """Name of the score."""
    direction: Direction | None
    """Which way is better; None: neither, or unknown."""
    results: Mapping[str, Result]
    """By source."""
    differences: tuple[Difference, ...]
    """Differences of pairs; none if they are not comparable."""
    reason: str | None
    """Why the sources are not comparable in it."""

    def to_json(self) -> dict[str, Any]:
        """The score as JSON-ready data."""
        return {
            "name": self.name,
            "direction": self.direction,
            "sources": [
                result.to_json() | {"ci95": None if result.ci95 is None else list(result.ci95)}
                for result in self.results.values()
            ],
            "differences": [each.to_json() for each in self.differences],
            "reason": self.reason,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedScores:
    """All scores that the sources have in common."""

    sources: tuple[str, ...]
    """Names of the sources, in the order in which they were given."""
    scores: tuple[ComparedScore, ...]
    """The scores, in the order of tables."""
    left_out: Mapping[str, str]
    """By the name of a score, why it is not compared."""
    without: Mapping[str, str]
    """By the name of a source that has a value of none, why it has not the first one; it is not among the sources."""

    @property
    def num_comparisons(self) -> int:
        """Number of differences for which Holm's correction was made."""
        return sum(num_comparisons(score.differences) for score in self.scores)

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        return {
            "sources": list(self.sources),
            "scores": [score.to_json() for score in self.scores],
            "left_out": dict(self.left_out),
            "correction": {"method": "Holm", "comparisons": self.num_comparisons},
        }


def compare_scores(
    sources: Sequence[Source],
    metrics: Sequence[str] | None = None,
    baseline: str | None = None,
    *,
    distinct: bool = False,
    sizes: EqualSizes | None = None,
) -> ComparedScores:
    """Compare sources in every score that at least two of them have.

    Runs of one game that differ only in their seed are one source, unless there would be no other source.

    Args:
        sources: See `ecsuite.eval.records.reading.read_sources`.
        metrics: Names of scores; None: all but sizes and entropies.
        baseline: Name of the source that the others are compared with; None: all pairs are compared.
        distinct: Whether runs that differ only in their seed are sources of their own.
        sizes: See `differences.compare`.

    Raises:
        ConfigError: If a source has no scores, or there is no score that all have.
    """
    names, left_out = _common(sources) if metrics is None else (list(metrics), {})
    if not names:
        why = "; ".join(f"{name}: {reason}" for name, reason in islice(left_out.items(), 3))
        is_scored = left_out and ONLY_IN_ONE not in left_out.values()
        advice = "" if is_scored else "; run `ecsuite score` on each"
        raise ConfigError(f"no score that two of them have{': ' if why else ''}{why}{advice}")
    sizes = sizes or EqualSizes()
    merges_seeds = not distinct and _num_sources(sources, names[0]) > 1
    compared = [_compared(sources, name, baseline, sizes, merges_seeds=merges_seeds) for name in names]
    flat = iter(corrected([each for score in compared for each in score.differences]))
    scores = tuple(
        ComparedScore(
            name=score.name,
            direction=score.direction,
            results=score.results,
            differences=tuple(islice(flat, len(score.differences))),
            reason=score.reason,
        )
        for score in compared
    )
    fullest = max(scores, key=lambda score: len(score.results))
    return ComparedScores(
        sources=tuple(dict.fromkeys(name for score in (fullest, *scores) for name in score.results)),
        scores=scores,
        left_out=left_out,
        without={
            source.name: f"{names[0]}: {_reasons(source).get(names[0]) or 'not in it'}"
            for source in sources
            if all(_reasons(source).get(name, "") is not None for name in names)
        },
    )


def _num_sources(sources: Sequence[Source], name: str) -> int:
    """The number of sources where runs that differ only in their seed are one."""
    return len({result.name for result in results_of(_having(sources, name), name)})


def _having(sources: Sequence[Source], name: str) -> list[Source]:
    """The sources with a value of a score; all if none has one, so that reading them says so."""
    return [source for source in sources if _reasons(source).get(name, "") is None] or list(sources)


def _compared(
    sources: Sequence[Source], name: str, baseline: str | None, sizes: EqualSizes, *, merges_seeds: bool
) -> ComparedScore:
    """One score of the sources that have it, before the correction."""
    results = results_of(_having(sources, name), name, merges_seeds=merges_seeds)
    choose_baseline(results, baseline)  # an unknown name is refused
    reason: str | None = None
    differences: tuple[Difference, ...] = ()
    try:
        require_comparable(results)
        differences = compare(results, name, baseline, sizes).differences
    except ConfigError as error:
        reason = str(error)
    direction = traits_of(name).direction
    by_name = {result.name: result for result in results}
    return ComparedScore(
        name=name, direction=direction, results=by_name, differences=differences, reason=reason
    )


def common_scores(sources: Sequence[Source]) -> list[str]:
    """Names of the scores that at least two sources have (or the only one), without sizes and entropies."""
    return _common(sources)[0]


def _common(sources: Sequence[Source]) -> tuple[list[str], dict[str, str]]:
    """Names of the scores that can be compared, in the order of tables, and why others are left out."""
    per_source = [_reasons(source) for source in sources]
    every = dict.fromkeys(name for names in per_source for name in names)
    common, left_out = [], {}
    for name in sorted(every, key=table_order):
        if traits_of(name).question == "sizes":
            continue
        if sum(name in names and names[name] is None for names in per_source) >= min(2, len(sources)):
            common.append(name)
        else:
            reasons = [names[name] or ONLY_IN_ONE for names in per_source if name in names]
            left_out[name] = reasons[0]
    return common, left_out


def _reasons(source: Source) -> dict[str, str | None]:
    """By the name of each score of a source, why it is undefined; None for a score with a value."""
    return {record.score: record.reason for record in source.records if not record.is_measure}
