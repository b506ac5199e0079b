"""Comparison of XferBench scores: paired differences by language, their interval, seed noise, and a correction.

A difference can be due to two kinds of chance. Other languages would give another mean: this is measured by a bootstrap
over languages of the paired differences, which removes the difficulty of each language. Another seed would give another
model: this is measured by the standard deviation over seeds. Intervals over languages do not include seed noise, as all
languages share one pretrained model. A source is better or worse only if the difference exceeds both, if known, and if
its p-value is below 5 % after Holm's correction for all differences that are shown. Where seed
noise is not known, the difference is one of two models, and not of their sources: tables say so. There is no conclusion
between corpora that models read unequally often, since repetition alone changes scores (docs/mini_size.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ecsuite.eval.comparison.differences import holm_of_known
from ecsuite.eval.comparison.results import Result, repetition
from ecsuite.eval.statistics.bootstrap import FEWEST, mean_interval
from ecsuite.eval.statistics.differences import ALPHA, Interval, paired_difference
from ecsuite.eval.statistics.distributions import student_quantile, student_tail

Conclusion = Literal["better", "worse", "inside the noise", "unknown"]


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

    def p_value(self, mean: float, *num_seeds: int) -> float:
        """p-value of the t test that a difference of means is due to seeds only."""
        error = self.error(*num_seeds)
        return 2 * student_tail(abs(mean) / error, self.degrees) if error else float(mean == 0)

    @property
    def factor(self) -> float:
        """Number of standard errors that a difference must exceed: 2, or more for few seeds (Student's t)."""
        return max(2.0, student_quantile(0.975, self.degrees))


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
    p_value: float | None
    """p-value of no difference: the largest of the paired t test over languages and the t test of seed noise, as far as
    these are known, since the difference must exceed both; None if neither is, or if passes differ."""
    conclusion: Conclusion
    why: str
    """Reason for the conclusion."""
    p_holm: float | None = None
    """p-value with Holm's correction for all differences that are shown."""


def seed_noise(results: Sequence[Result]) -> SeedNoise | None:
    """Pool the standard deviation over seeds of all sources' scores; None if no source has two seeds."""
    scores = [result.seed_scores for result in results if len(result.seeds) > 1]
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
    reason = few if len(gaps) < FEWEST else "the bootstrap gives no interval for these values"
    num_seeds = len(result.seeds), len(baseline.seeds)
    error = None if noise is None else noise.error(*num_seeds)
    threshold = None if noise is None or error is None else error * noise.factor
    p_values = [
        None if ci95 is None else paired_difference(gaps).p_value,
        None if noise is None else noise.p_value(mean, *num_seeds),
    ]
    unequal = repetition((result, baseline))
    conclusion, why = judge(mean, ci95, threshold) if unequal is None else ("unknown", unequal)
    return Difference(
        source=result.name,
        baseline=baseline.name,
        by_target=dict(zip(targets, gaps.tolist(), strict=True)),
        mean=mean,
        ci95=ci95,
        ci_reason=reason if ci95 is None else None,
        seed_error=error,
        seed_threshold=threshold,
        p_value=None
        if unequal is not None
        else max((p_value for p_value in p_values if p_value is not None), default=None),
        conclusion=conclusion,
        why=why,
    )


def corrected(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """The differences with Holm's correction, and with the conclusion that follows from it."""
    found = list(differences)
    p_values = holm_of_known(each.p_value for each in found)
    num_comparisons = sum(p_value is not None for p_value in p_values)
    many = f", corrected for {num_comparisons} comparisons," if num_comparisons > 1 else ""
    for place, (each, p_holm) in enumerate(zip(found, p_values, strict=True)):
        found[place] = replace(each, p_holm=p_holm)
        if each.conclusion in ("better", "worse") and p_holm is not None and p_holm >= ALPHA:
            why = f"its p-value{many} is {p_holm:.2f}"
            found[place] = replace(found[place], conclusion="inside the noise", why=why)
    return tuple(found)


def judge(mean: float, ci95: Interval | None, threshold: float | None) -> tuple[Conclusion, str]:
    """The conclusion on a difference by itself, with the reason.

    Args:
        mean: Difference of the scores; below 0 is better.
        ci95: Its interval over languages, if there is one.
        threshold: Absolute value above which it is larger than seed noise, if known.
    """
    reasons = []
    if ci95 is not None and ci95[0] <= 0 <= ci95[1]:
        reasons.append("its interval over languages includes 0")
    if threshold is not None and abs(mean) <= threshold:
        reasons.append("it is not larger than seed noise")
    if reasons:
        return "inside the noise", " and ".join(reasons)
    if ci95 is None and threshold is None:
        return "unknown", f"one seed per source and fewer than {FEWEST} targets"
    exceeded = ["the spread over languages"] * (ci95 is not None) + ["seed noise"] * (threshold is not None)
    of_models = "" if threshold is not None else "; one seed each, so it is one of these models"
    return "better" if mean < 0 else "worse", f"exceeds {' and '.join(exceeded)}{of_models}"
