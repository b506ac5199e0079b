"""Comparison of XferBench scores: paired differences by language, their interval, seed noise, and a correction.

A difference can be due to two kinds of chance. Other languages would give another mean: this is measured by a bootstrap
over languages of the paired differences, which removes the difficulty of each language. Another seed would give another
model: this is measured by the standard deviation over seeds. Intervals over languages do not include seed noise, as all
languages share one pretrained model. A source is better or worse only if the difference exceeds both, if known, and if
its p-value is below 5 % after Holm's correction for all differences that are shown. Where seed
noise is not known, the difference is one of two models, and not of their sources: tables say so. There is no conclusion
between corpora that models read unequally often, since repetition alone changes scores (docs/evidence/mini.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ecsuite.eval.results.samples import Sample, repetition
from ecsuite.eval.statistics.bootstrap import FEWEST, mean_interval
from ecsuite.eval.statistics.differences import (
    Conclusion,
    Difference,
    Interval,
    corrected,
    num_comparisons,
    paired_difference,
)
from ecsuite.eval.statistics.distributions import student_quantile, student_tail


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


def seed_noise(results: Sequence[Sample]) -> SeedNoise | None:
    """Pool the standard deviation over seeds of all sources' scores; None if no source has two seeds."""
    scores = [result.seed_scores for result in results if len(result.seeds) > 1]
    degrees = sum(len(of_source) - 1 for of_source in scores)
    if not degrees:
        return None
    squares = sum(float(((of_source - of_source.mean()) ** 2).sum()) for of_source in scores)
    sources = "1 source" if len(scores) == 1 else f"{len(scores)} sources"
    return SeedNoise(sd=float(np.sqrt(squares / degrees)), degrees=degrees, origin=f"pooled over {sources}")


def difference(result: Sample, baseline: Sample, noise: SeedNoise | None) -> Difference:
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
    judged, why = judge(mean, ci95, threshold) if unequal is None else ("unknown", unequal)
    known = [p_value for p_value in p_values if p_value is not None]
    return Difference(
        source=result.name,
        baseline=baseline.name,
        mean=mean,
        ci95=ci95,
        p_value=max(known, default=None) if unequal is None else None,
        basis="languages and seeds",
        judged=judged,
        details={
            "by_target": dict(zip(targets, gaps.tolist(), strict=True)),
            "ci_reason": reason if ci95 is None else None,
            "seed_error": error,
            "seed_threshold": threshold,
            "why": why,
        },
    )


def with_reasons(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """Corrected differences; where the correction makes one noise, that is its reason."""
    number = num_comparisons(differences)
    many = f", corrected for {number} comparisons," if number > 1 else ""
    return tuple(
        replace(each, details={**each.details, "why": f"its p-value{many} is {each.p_holm:.2f}"})
        if each.judged in ("higher", "lower") and not each.is_clear
        else each
        for each in corrected(differences)
    )


def in_words(difference: Difference) -> str:
    """The conclusion where lower is better."""
    return {"lower": "better", "higher": "worse"}.get(difference.conclusion, difference.conclusion)


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
    return "lower" if mean < 0 else "higher", f"exceeds {' and '.join(exceeded)}{of_models}"
