"""Differences between sources in any metric, with intervals and a correction for many pairs.

Sources with the same seeds are compared seed by seed (Student's interval, paired t test), other sources with several
seeds by Welch's. Two scores of one seed each are compared by their own intervals, which show how a score varies with
another corpus of the same language, and not with another seed. The p-values of all differences that are shown are
corrected together by Holm's procedure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from textwrap import shorten
from typing import Any, Literal

from ecsuite.eval.comparison.results import UNSIGNED, Result, repetition, require_same_targets
from ecsuite.eval.statistics.corrections import holm
from ecsuite.eval.statistics.differences import (
    ALPHA,
    NO_SPREAD,
    Interval,
    MeanDifference,
    difference_of_estimates,
    paired_difference,
    unpaired_difference,
)
from ecsuite.runtime.errors import ConfigError, look_up

Conclusion = Literal["higher", "lower", "inside the noise", "unknown"]
_WORDS = {"v": "version"}
"""Readable names of signature parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """The score of a source minus that of another."""

    source: str
    """Name of the source."""
    baseline: str
    """Name of the other source."""
    mean: float
    """Difference of the mean scores."""
    ci95: Interval | None
    """Its interval; None if neither has several seeds or an interval."""
    p_value: float | None
    """Two-sided p-value of no difference."""
    p_holm: float | None
    """p-value with Holm's correction for all differences that are shown."""
    basis: str
    """What the interval and the p-value are computed from."""
    conclusion: Conclusion


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
        return sum(each.p_value is not None for each in self.differences)

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
            "differences": [asdict(each) for each in self.differences],
            "correction": {"method": "Holm", "comparisons": self.num_comparisons},
        }


def compare(results: Sequence[Result], metric: str, baseline: str | None = None) -> Comparison:
    """Compare sources that were measured with the same settings.

    Args:
        results: The sources, see `score_files.gather`.
        metric: Name of the score.
        baseline: Name of the source that the others are compared with; None: all pairs are compared.

    Raises:
        ConfigError: If there are no results, their settings differ, or no source has the baseline's name.
    """
    if not results:
        raise ConfigError(f"no {metric} score: expected at least one")
    require_comparable(results)
    sources = sorted(results, key=lambda result: (-result.score, result.name))
    chosen = choose_baseline(sources, baseline)
    pairs = pairs_of(sources, chosen)
    found = [_difference(*pair) for pair in pairs]
    p_values = holm_of_known(each.p_value for each, _ in found)
    differences = tuple(
        _with_conclusion(*pair, *each, p_holm)
        for pair, each, p_holm in zip(pairs, found, p_values, strict=True)
    )
    return Comparison(metric=metric, results=tuple(sources), baseline=chosen, differences=differences)


def holm_of_known(p_values: Iterable[float | None]) -> list[float | None]:
    """Holm's correction of the p-values that are not None."""
    p_values = list(p_values)
    known = iter(holm([p_value for p_value in p_values if p_value is not None]))
    return [None if p_value is None else next(known) for p_value in p_values]


UNRELIABLE_INTERVALS = ("has", "ncnpmi")
"""Scores whose 95 % intervals cover more often than they say (docs/error_rates.md): nothing is concluded from them."""


def _difference(first: Result, second: Result) -> tuple[MeanDifference, str]:
    """The difference of two sources, and what it is computed from."""
    one, other = first.seed_scores, second.seed_scores
    why = repetition((first, second))
    if why is not None:
        return MeanDifference(mean=first.score - second.score, ci95=None, p_value=None), why
    if len(one) > 1 and first.seeds == second.seeds:
        return paired_difference(one - other), f"paired by {len(one)} seeds"
    if len(one) > 1 and len(other) > 1:
        return unpaired_difference(one, other), f"{len(one)} and {len(other)} seeds, unpaired"
    if first.signature.partition("|")[0] in UNRELIABLE_INTERVALS:
        mean = first.score - second.score
        return MeanDifference(
            mean=mean, ci95=None, p_value=None
        ), "its intervals are too wide: train several seeds"
    if first.ci95 is not None and second.ci95 is not None:
        return (
            difference_of_estimates(first.score, first.ci95, second.score, second.ci95),
            "intervals of the scores",
        )
    return MeanDifference(mean=first.score - second.score, ci95=None, p_value=None), "no interval"


def _with_conclusion(
    first: Result, second: Result, found: MeanDifference, basis: str, p_holm: float | None
) -> Difference:
    """The difference with its conclusion after the correction."""
    return Difference(
        source=first.name,
        baseline=second.name,
        mean=found.mean,
        ci95=found.ci95,
        p_value=found.p_value,
        p_holm=p_holm,
        basis=basis,
        conclusion=_conclusion(found.mean, found.ci95, p_holm),
    )


def _conclusion(mean: float, ci95: Interval | None, p_holm: float | None) -> Conclusion:
    if p_holm is not None:
        return "inside the noise" if p_holm >= ALPHA else "higher" if mean > 0 else "lower"
    # an interval without a p-value has no spread
    return "inside the noise" if ci95 is not None and abs(mean) < NO_SPREAD else "unknown"


def corrected(differences: Sequence[Difference]) -> list[Difference]:
    """Differences of several metrics with Holm's correction for all of them together."""
    p_values = holm_of_known(each.p_value for each in differences)
    return [
        replace(each, p_holm=p_holm, conclusion=_conclusion(each.mean, each.ci95, p_holm))
        for each, p_holm in zip(differences, p_values, strict=True)
    ]


def require_comparable(results: Sequence[Result]) -> None:
    """Raise an error if results were measured with different settings.

    Raises:
        ConfigError: If signatures or targets differ; the message names the part or the languages.
    """
    first, *others = results
    for other in others:
        if other.signature != first.signature:
            apart = differing_parts(first.signature, other.signature)
            raise ConfigError(f"{other.name} cannot be compared with {first.name}: {apart}")
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
