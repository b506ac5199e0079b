"""Whether one source is better than another: paired differences by language, their interval, and seed noise.

Two things can make a difference by chance. Other languages would have given another mean: told by a bootstrap over
languages of the paired differences, which takes out how hard each language is. Another seed would have given another
model: told by the standard deviation over seeds, which intervals over languages do not see, since all languages share
one pretrained model. A source is called better or worse only if the difference exceeds both, as far as they are known.
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
"""What parts of a signature are called, where their own name is too short."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeedNoise:
    """How much a score varies from seed to seed."""

    sd: float
    """Standard deviation of a score (a mean over targets) with one seed, nats per token."""
    degrees: int
    """Degrees of freedom it was measured with."""
    origin: str
    """Where it is from."""

    def error(self, *num_seeds: int) -> float:
        """Standard error of a difference of means of so many seeds."""
        return self.sd * float(np.sqrt(sum(1 / number for number in num_seeds)))

    @property
    def factor(self) -> float:
        """Standard errors that a difference must exceed: 2, and more where few seeds told them (Student)."""
        return max(2.0, float(stats.t.ppf(0.975, self.degrees)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A source against another; below 0 it is the better one."""

    source: str
    """Its name."""
    baseline: str
    """The other's."""
    by_target: Mapping[str, float]
    """Differences of cross-entropy, nats per token, means over seeds."""
    mean: float
    """Their mean: the difference of the scores."""
    ci95: Interval | None
    """Paired bootstrap over languages."""
    ci_reason: str | None
    """Why there is no interval."""
    seed_error: float | None
    """Standard error of the mean by seed noise; None where that is unknown."""
    seed_threshold: float | None
    """What the mean must exceed to be more than seed noise."""
    verdict: Verdict
    why: str
    """The verdict's reason."""


def require_comparable(results: Sequence[Result]) -> None:
    """Refuse results that were not measured alike.

    Raises:
        ConfigError: If signatures or targets differ; the line names the part, or the languages.
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
            raise ConfigError(f"{name}: more than one source has this name")


def differing_parts(first: str, second: str) -> str:
    """What differs between two signatures: `preset mini, not full`."""
    if UNSIGNED in (first, second):
        return "one of them is unsigned (of another program), so nobody can tell what it was measured with"
    parts, others = ({part.partition(":")[0]: part for part in line.split("|")} for line in (first, second))
    apart = [
        f"{_WORDS.get(key, key)} {_value(others, key)}, not {_value(parts, key)}"
        for key in dict.fromkeys([*parts, *others])
        if parts.get(key) != others.get(key)
    ]
    return "; ".join(apart) or "the parts of their signatures have another order"


def _value(parts: Mapping[str, str], key: str) -> str:
    return parts[key].partition(":")[2] or "given" if key in parts else "none"


def choose_baseline(results: Sequence[Result], name: str | None) -> Result | None:
    """The source that all others are compared with.

    Args:
        results: All sources.
        name: As the user gave it; None means the source without pretraining, if it is there.

    Raises:
        ConfigError: If no source has the name.
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
    """Compare a source with another.

    Args:
        result: The source.
        baseline: The other one, with the same targets.
        noise: From `seed_noise`, or published for the preset.
    """
    targets = result.targets
    gaps = result.values(targets).mean(0) - baseline.values(targets).mean(0)
    mean = float(gaps.mean())
    ci95 = mean_interval(gaps, expanded=True)
    few = f"{len(gaps)} target{'' if len(gaps) == 1 else 's'}, an interval takes at least {FEWEST}"
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
        else "the bootstrap gives none for these values",
        seed_error=error,
        seed_threshold=threshold,
        verdict=verdict,
        why=why,
    )


def judge(mean: float, ci95: Interval | None, threshold: float | None) -> tuple[Verdict, str]:
    """The verdict on a difference, and its reason.

    Args:
        mean: The difference of scores; below 0 is better.
        ci95: Its interval over languages, if there is one.
        threshold: What it must exceed to be more than seed noise, if that is known.
    """
    by_languages = ci95 is not None and ci95[0] <= 0 <= ci95[1]
    by_seeds = threshold is not None and abs(mean) <= threshold
    if by_languages or by_seeds:
        reasons = ["its interval over languages holds 0"] * by_languages + [
            "seeds alone can make it"
        ] * by_seeds
        return "inside the noise", " and ".join(reasons)
    if ci95 is None and threshold is None:
        return "unknown", f"one seed each, and fewer than {FEWEST} targets"
    exceeded = ["the spread over languages"] * (ci95 is not None) + ["seed noise"] * (threshold is not None)
    return "better" if mean < 0 else "worse", f"exceeds {' and '.join(exceeded)}"
