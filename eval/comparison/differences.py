"""Comparison of two sources: paired differences by language, their interval, and seed noise.

A difference can be due to two kinds of chance. Other languages would give another mean: this is measured by a bootstrap
over languages of the paired differences, which removes the difficulty of each language. Another seed would give another
model: this is measured by the standard deviation over seeds. Intervals over languages do not include seed noise, as all
languages share one pretrained model. A source is better or worse only if the difference exceeds both, if known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from ecsuite.config import ConfigError, look_up
from ecsuite.eval.comparison.results import UNSIGNED, Result, require_same_targets
from ecsuite.eval.statistics.intervals import FEWEST, Interval, mean_interval

Verdict = Literal["better", "worse", "inside the noise", "unknown"]
_WORDS = {"v": "version"}
"""Readable names of signature parts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedNoise:
    """Variation of a score over seeds."""

    sd: float
    """Standard deviation over seeds of a score (a mean over targets), nats per token."""
    degrees: int
    """Degrees of freedom of `sd`."""
    origin: str
    """Origin of the estimate."""

    def error(self, *num_seeds: int) -> float:
        """Standard error of a difference of means, given the number of seeds of each."""
        return self.sd * float(np.sqrt(sum(1 / number for number in num_seeds)))

    @property
    def factor(self) -> float:
        """Number of standard errors that a difference must exceed: 2, or more for few seeds (Student's t)."""
        return max(2.0, float(stats.t.ppf(0.975, self.degrees)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """Difference of a source and a baseline; below 0 the source is better."""

    source: str
    """Name of the source."""
    baseline: str
    """Name of the baseline."""
    by_target: Mapping[str, float]
    """Difference of cross-entropy by target, nats per token, means over seeds."""
    mean: float
    """Mean over targets: the difference of the scores."""
    ci95: Interval | None
    """Paired bootstrap over languages."""
    ci_reason: str | None
    """Reason for a missing interval."""
    seed_error: float | None
    """Standard error of the mean due to seed noise; None if unknown."""
    seed_threshold: float | None
    """Absolute value that the mean must exceed to be larger than seed noise."""
    verdict: Verdict
    why: str
    """Reason for the verdict."""


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
    return parts[key].partition(":")[2] or "given" if key in parts else "none"


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


def seed_noise(results: Sequence[Result]) -> SeedNoise | None:
    """Pool the standard deviation over seeds of all sources' scores; None if no source has two seeds."""
    scores = [result.values().mean(1) for result in results if len(result.seeds) > 1]
    degrees = sum(len(of_source) - 1 for of_source in scores)
    if not degrees:
        return None
    squares = sum(float(((of_source - of_source.mean()) ** 2).sum()) for of_source in scores)
    sources = "1 source" if len(scores) == 1 else f"{len(scores)} sources"
    return SeedNoise(sd=float(np.sqrt(squares / degrees)), degrees=degrees, origin=f"pooled over {sources}")


def difference(result: Result, baseline: Result, noise: SeedNoise | None) -> Difference:
    """Compare a source with a baseline.

    Args:
        result: The source.
        baseline: The baseline, with the same targets.
        noise: From `seed_noise`, or published for the preset; None if unknown.
    """
    targets = result.targets
    gaps = result.values(targets).mean(0) - baseline.values(targets).mean(0)
    mean = float(gaps.mean())
    ci95 = mean_interval(gaps, expanded=True)
    few = f"{len(gaps)} target{'' if len(gaps) == 1 else 's'}, an interval needs at least {FEWEST}"
    error = None if noise is None else noise.error(len(result.seeds), len(baseline.seeds))
    threshold = None if noise is None or error is None else error * noise.factor
    verdict, why = judge(mean, ci95, threshold)
    return Difference(
        source=result.name,
        baseline=baseline.name,
        by_target=dict(zip(targets, gaps.tolist(), strict=True)),
        mean=mean,
        ci95=ci95,
        ci_reason=few
        if len(gaps) < FEWEST
        else None
        if ci95
        else "the bootstrap gives no interval for these values",
        seed_error=error,
        seed_threshold=threshold,
        verdict=verdict,
        why=why,
    )


def judge(mean: float, ci95: Interval | None, threshold: float | None) -> tuple[Verdict, str]:
    """The verdict on a difference, with the reason.

    Args:
        mean: Difference of the scores; below 0 is better.
        ci95: Its interval over languages, if there is one.
        threshold: Absolute value above which it is larger than seed noise, if known.
    """
    by_languages = ci95 is not None and ci95[0] <= 0 <= ci95[1]
    by_seeds = threshold is not None and abs(mean) <= threshold
    if by_languages or by_seeds:
        reasons = ["its interval over languages includes 0"] * by_languages + [
            "it is not larger than seed noise"
        ] * by_seeds
        return "inside the noise", " and ".join(reasons)
    if ci95 is None and threshold is None:
        return "unknown", f"one seed per source and fewer than {FEWEST} targets"
    exceeded = ["the spread over languages"] * (ci95 is not None) + ["seed noise"] * (threshold is not None)
    return "better" if mean < 0 else "worse", f"exceeds {' and '.join(exceeded)}"
