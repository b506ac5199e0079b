"""Differences between sources in any metric, with intervals and a correction for many pairs.

Sources with the same seeds are compared seed by seed (Student's interval, paired t test), other sources with several
seeds by Welch's. Two scores of one seed each are compared by their own intervals, which show how a score varies with
another corpus of the same language, and not with another seed. The p-values of all differences that are shown are
corrected together by Holm's procedure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from textwrap import shorten
from typing import Any

from ecsuite.eval.metrics import place_of, traits_of
from ecsuite.eval.metrics.traits import Direction
from ecsuite.eval.results.equal_sizes import EqualSizes
from ecsuite.eval.results.samples import (
    UNSIGNED,
    Sample,
    has_runs,
    repetition,
    require_same_targets,
    results_of,
)
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.differences import (
    Difference,
    corrected,
    difference_of_estimates,
    num_comparisons,
    paired_difference,
    unpaired_difference,
    with_effect,
)
from ecsuite.runtime.errors import ConfigError, look_up

_WORDS = {"v": "version"}
"""Readable names of signature parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Comparison of sources in one metric."""

    metric: str
    results: tuple[Sample, ...]
    """The sources, highest score first."""
    baseline: Sample | None
    """The baseline of all differences; None if each pair of sources is compared."""
    differences: tuple[Difference, ...]

    @property
    def num_comparisons(self) -> int:
        """Number of differences for which Holm's correction was made."""
        return num_comparisons(self.differences)

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        return {
            "metric": self.metric,
            "signature": self.results[0].signature,
            "baseline": None if self.baseline is None else self.baseline.name,
            "sources": [
                result.to_json() | {"ci95": None if result.ci95 is None else list(result.ci95)}
                for result in self.results
            ],
            "differences": [each.to_json() for each in self.differences],
            "correction": {"method": "Holm", "comparisons": self.num_comparisons},
        }


def compare(
    results: Sequence[Sample],
    metric: str,
    baseline: str | None = None,
    sizes: EqualSizes | None = None,
) -> Comparison:
    """Compare sources that were measured with the same settings.

    Args:
        results: The sources, see `score_files.gather`.
        metric: Name of the score.
        baseline: Name of the source that the others are compared with; None: all pairs are compared.
        sizes: Draws from the larger of two corpora where the score depends on their sizes; None: with those of its own.

    Raises:
        ConfigError: If there are no results, their settings differ, no pair can be compared, or no source has the
            baseline's name.
    """
    if not results:
        raise ConfigError(f"no {metric} score: expected at least one")
    require_comparable(results)
    sources = sorted(results, key=lambda result: (-result.score, result.name))
    chosen = choose_baseline(sources, baseline)
    differences = corrected(_differences(pairs_of(sources, chosen), metric, sizes or EqualSizes()))
    return Comparison(metric=metric, results=tuple(sources), baseline=chosen, differences=tuple(differences))


UNRELIABLE_INTERVALS = ("has", "ncnpmi")
"""Scores whose 95 % intervals cover more often than they say: nothing is concluded from them.

See docs/evidence/how_many_messages.md.
"""


def _differences(pairs: Sequence[tuple[Sample, Sample]], metric: str, sizes: EqualSizes) -> list[Difference]:
    """The differences of pairs, each at one size, before the correction."""
    differences: list[Difference] = []
    reasons = []
    for first, second in pairs:
        try:
            one, other, at_size = sizes.of_pair(first, second, metric)
        except ConfigError as error:
            sizes_of = [size for each in (first, second) for size in dict.fromkeys(each.sizes) if size]
            told = f"of {' and '.join(sizes_of)} messages, and "
            reasons.append(f"{first.name} cannot be compared with {second.name}: {told}{error}")
            differences.append(
                _named(Difference(mean=first.score - second.score), first, second, reasons[-1])
            )
            continue
        measured = difference(one, other)
        differences.append(replace(measured, basis=measured.basis + at_size))
    if reasons and len(reasons) == len(pairs):
        raise ConfigError(reasons[0])
    return differences


def _named(measured: Difference, first: Sample, second: Sample, basis: str) -> Difference:
    return replace(measured, source=first.name, baseline=second.name, basis=basis)


def difference(first: Sample, second: Sample) -> Difference:
    """The difference of two sources whose scores are of one size, before the correction."""
    one, other = first.seed_scores, second.seed_scores
    has_seeds = min(len(one), len(other)) > 1
    is_paired = has_seeds and first.seeds == second.seeds
    unclear = Difference(mean=first.score - second.score)
    why = repetition((first, second))
    if why is not None:
        measured, basis = unclear, why
    elif is_paired:
        measured, basis = paired_difference(one - other), f"paired by {len(one)} seeds"
    elif has_seeds:
        measured, basis = unpaired_difference(one, other), f"{len(one)} and {len(other)} seeds, unpaired"
    elif first.signature.partition("|")[0] in UNRELIABLE_INTERVALS:
        advice = ": train several seeds" if has_runs((first, second)) else ""
        measured, basis = unclear, f"its intervals are too wide{advice}"
    elif first.ci95 is not None and second.ci95 is not None:
        measured = difference_of_estimates(first.score, first.ci95, second.score, second.ci95)
        basis = "intervals of the scores"
    else:
        measured, basis = unclear, "no interval"
    if has_seeds and why is None:
        measured = with_effect(measured, one, other, is_paired=is_paired)
    return _named(measured, first, second, basis)


def require_comparable(results: Sequence[Sample]) -> None:
    """Raise an error if results were measured with different settings.

    Raises:
        ConfigError: If signatures or targets differ; the message names the part or the languages.
    """
    first, *others = results
    for other in others:
        if other.signature != first.signature:
            apart = differing_parts(first.signature, other.signature)
            one, two = (first.name, other.name) if first.name != other.name else (first.source, other.source)
            raise ConfigError(f"{two} cannot be compared with {one}: {apart}")
        require_same_targets(first.targets, other.targets, other.name, first.name)
    names = [result.name for result in results]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name}: expected unique names of sources, got this name more than once")


def differing_parts(first: str, second: str) -> str:
    """Differences between two signatures: `preset mini, not full`."""
    if UNSIGNED in (first, second):
        return "one of them is unsigned (from another program), so its settings are unknown"
    parts, others = ({part.partition(":")[0]: part for part in line.split("|")} for line in (first, second))
    apart = [
        f"{_WORDS.get(key, key)} {_value(others, key)}, not {_value(parts, key)}"
        for key in dict.fromkeys([*parts, *others])
        if parts.get(key) != others.get(key)
    ]
    return "; ".join(apart) or "the order of the signature parts differs"


def _value(parts: Mapping[str, str], key: str) -> str:
    value = parts[key].partition(":")[2] or "given" if key in parts else "none"
    return shorten(value, 60, placeholder="…")


def choose_baseline(results: Sequence[Sample], name: str | None) -> Sample | None:
    """The source with which all others are compared.

    Args:
        results: All sources.
        name: Name given by the user; None: the source without pretraining, if there is one.

    Raises:
        ConfigError: If no source has this name.
    """
    if name is not None:
        return look_up("baseline", name, {result.name: result for result in results})
    return next((result for result in results if result.is_baseline), None)


def pairs_of(results: Sequence[Sample], baseline: Sample | None) -> list[tuple[Sample, Sample]]:
    """The pairs of sources to compare: each other source with the baseline, or all pairs."""
    if baseline is None:
        return list(combinations(results, 2))
    return [(each, baseline) for each in results if each is not baseline]


ONLY_IN_ONE = "only in one"
"""Why a score is left out that a single source has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedScore:
    """One score of all sources."""

    name: str
    """Name of the score."""
    direction: Direction | None
    """Which way is better; None: neither, or unknown."""
    results: Mapping[str, Sample]
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
        sources: See `ecsuite.eval.results.reading.read_sources`.
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
    for name in sorted(every, key=place_of):
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
