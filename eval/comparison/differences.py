"""Differences between sources in any metric, with intervals and a correction for many pairs.

Sources with the same seeds are compared seed by seed (Student's interval, paired t test), other sources with several
seeds by Welch's. Two scores of one seed each are compared by their own intervals, which show how a score varies with
another corpus of the same language, and not with another seed. The p-values of all differences that are shown are
corrected together by Holm's procedure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from textwrap import shorten
from typing import Any

from ecsuite.eval.comparison.equal_sizes import EqualSizes
from ecsuite.eval.comparison.results import UNSIGNED, Result, has_runs, repetition, require_same_targets
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
    results: tuple[Result, ...]
    """The sources, highest score first."""
    baseline: Result | None
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
    results: Sequence[Result],
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


def _differences(pairs: Sequence[tuple[Result, Result]], metric: str, sizes: EqualSizes) -> list[Difference]:
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


def _named(measured: Difference, first: Result, second: Result, basis: str) -> Difference:
    return replace(measured, source=first.name, baseline=second.name, basis=basis)


def difference(first: Result, second: Result) -> Difference:
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


def require_comparable(results: Sequence[Result]) -> None:
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


def choose_baseline(results: Sequence[Result], name: str | None) -> Result | None:
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


def pairs_of(results: Sequence[Result], baseline: Result | None) -> list[tuple[Result, Result]]:
    """The pairs of sources to compare: each other source with the baseline, or all pairs."""
    if baseline is None:
        return list(combinations(results, 2))
    return [(each, baseline) for each in results if each is not baseline]
