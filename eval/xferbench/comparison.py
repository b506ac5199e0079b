"""Comparison of XferBench scores: published scores, paired differences by language, seed noise, and a correction.

A difference can be due to two kinds of chance. Other languages would give another mean: a bootstrap over languages of
the paired differences measures this, without the difficulty of each language. Another seed would give another model:
the standard deviation over seeds measures this. Intervals over languages do not include seed noise, as all
languages share one pretrained model. A source is better or worse only if the difference exceeds both, if known, and if
its p-value is below 5 % after Holm's correction for all differences in the table. If seed noise is unknown, the
difference is between two models, not between their sources, and tables note this. There is no conclusion between
corpora that are repeated unequally often, since repetition alone changes scores (docs/evidence/mini.md).

Published scores are in `published_scores.yaml`, in two families by their data. Their levels differ by 0.65 nats: never
compare scores of different families.

**OSCAR.** The tables of the paper, Boldt & Mortensen (2024, https://arxiv.org/abs/2407.03456). Its text says Wikipedia,
but the README of the authors' program says that the numbers are from OSCAR data.

**Wikipedia.** Means of three runs in the author's repository `brendon-boldt/elcc-analysis`, made by the program that
the protocol `published-2024` follows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ecsuite.eval.metrics.conclusions import limits_of
from ecsuite.eval.metrics.score import Signature
from ecsuite.eval.results.comparison import choose_baseline, pairs_of, require_comparable
from ecsuite.eval.results.samples import EQUAL_SIZES, UNSIGNED, Sample, repetition
from ecsuite.eval.statistics.bootstrap import FEWEST, NUM_RESAMPLES, SEED, expanded_level, mean_interval
from ecsuite.eval.statistics.estimates import (
    Conclusion,
    Difference,
    Interval,
    corrected,
    num_comparisons,
    paired_difference,
    student_quantile,
    student_tail,
)
from ecsuite.eval.xferbench.normalising import (
    Normalised,
    WritingMatrix,
    by_script,
    by_type,
    normalised_scores,
)
from ecsuite.parts.config import packaged_yaml
from ecsuite.runtime.errors import ConfigError

CONTENT: Mapping[str, Any] = packaged_yaml("ecsuite.eval.xferbench", "published_scores.yaml")
"""The whole file, including scores that no command shows."""
_WIKIPEDIA, _OSCAR, _TARGETS = CONTENT["wikipedia"], CONTENT["oscar"], CONTENT["targets"]


PUBLISHED_SCORES: Mapping[str, float] = _WIKIPEDIA["sources"]
"""Scores of the reference sources: means over the ten targets and three runs, nats per token [elcc-analysis]."""
NO_PRETRAIN: Mapping[str, float] = dict(zip(_TARGETS, _WIKIPEDIA["no_pretrain"], strict=True))
"""Scores without pretraining by target, means of three runs [elcc-analysis]; their mean is in `PUBLISHED_SCORES`."""
PUBLISHED_NAME = "no pretrain (published)"
"""The name of the published scores without pretraining in tables."""
RUN_DEVIATION: float = _WIKIPEDIA["run_deviation"]
"""Pooled (root mean square) standard deviation of a score between runs, 84 corpora of three runs each
[elcc-analysis]."""
RUN_DEGREES: int = _WIKIPEDIA["run_degrees"]
"""Degrees of freedom of `RUN_DEVIATION`: two for each corpus."""

_TABLE5 = {
    name: dict(zip([*_TARGETS, "score"], figures, strict=True)) for name, figures in _OSCAR["table5"].items()
}
PAPER_SCORES = {name: row.pop("score") for name, row in _TABLE5.items()}
"""The last column of Table 5, as printed: the score of each source."""
PAPER_CROSS_ENTROPIES: Mapping[str, Mapping[str, float]] = _TABLE5
"""The paper's Table 5, by source and target: OSCAR data, two decimals; the number of runs is not stated."""
PAPER_CHRF, PAPER_BLEU = (
    {
        setting: {name: figures[column] for name, figures in _OSCAR[table].items()}
        for column, setting in enumerate(_OSCAR["mt_settings"])
    }
    for table in ("table2", "table4")
)
"""The paper's Tables 2 and 4: chrF and BLEU of English to French, by setting and source."""
PAPER_CORRELATIONS = dict(zip(_OSCAR["mt_settings"], _OSCAR["correlations"], strict=True))
"""The last row of Table 2: Pearson correlation of chrF with the XferBench score over the 17 sources."""


PUBLISHED_SETTINGS = {"preset": "full", "protocol": "published-2024"}
"""Settings of the published scores."""


def anchors_for(signature: str) -> Mapping[str, float]:
    """Published scores by source, comparable with a signature: empty except for preset full with `published-2024`.

    Args:
        signature: Signature of a score, with or without its seed.
    """
    return PUBLISHED_SCORES if PUBLISHED_SETTINGS.items() <= Signature(signature).options.items() else {}


def published_baseline(signature: str) -> Sample | None:
    """The published scores without pretraining as a result; None for a signature that is not comparable with them."""
    if not anchors_for(signature):
        return None
    return Sample(
        name=PUBLISHED_NAME,
        by_target=(NO_PRETRAIN,),
        seeds=(0,),
        signature=signature,
        source="brendon-boldt/elcc-analysis, mean of three runs",
        passes=1.0,
    )


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
        """Standard error of a difference of means, given the numbers of seeds."""
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
        noise: Seed noise, estimated or published for the preset; None if unknown.
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
    defined = [p_value for p_value in p_values if p_value is not None]
    return Difference(
        source=result.name,
        baseline=baseline.name,
        mean=mean,
        ci95=ci95,
        p_value=max(defined, default=None) if unequal is None else None,
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
    """Apply Holm's correction; a difference that loses significance by it gets this as its reason."""
    number = num_comparisons(differences)
    many = f", corrected for {number} comparisons," if number > 1 else ""
    return tuple(
        replace(each, details={**each.details, "why": f"its p-value{many} is {each.p_holm:.2f}"})
        if each.judged in ("higher", "lower") and not each.is_clear
        else each
        for each in corrected(differences)
    )


def in_words(difference: Difference) -> str:
    """The conclusion in the words better and worse (lower scores are better)."""
    return {"lower": "better", "higher": "worse"}.get(difference.conclusion, difference.conclusion)


def judge(mean: float, ci95: Interval | None, threshold: float | None) -> tuple[Conclusion, str]:
    """The conclusion on a single difference, with the reason.

    Args:
        mean: Difference of the scores; below 0 is better.
        ci95: Interval over languages, if any.
        threshold: Absolute difference that seed noise does not exceed, if known.
    """
    reasons = []
    if ci95 is not None and ci95[0] <= 0 <= ci95[1]:
        reasons.append("its interval over languages includes 0")
    if threshold is not None and abs(mean) <= threshold:
        reasons.append("it is not larger than seed noise")
    if reasons:
        return "not significant", " and ".join(reasons)
    if ci95 is None and threshold is None:
        return "unknown", f"one seed per source and fewer than {FEWEST} targets"
    exceeded = ["the spread over languages"] * (ci95 is not None) + ["seed noise"] * (threshold is not None)
    of_models = "" if threshold is not None else "; one seed each, so it is one of these models"
    return "lower" if mean < 0 else "higher", f"exceeds {' and '.join(exceeded)}{of_models}"


PUBLISHED = "published"
"""Name of the baseline of published scores without pretraining."""


@dataclass(frozen=True, kw_only=True, slots=True)
class XferBenchComparison:
    """Differences between sources, and whether they exceed the noise."""

    results: tuple[Sample, ...]
    """The sources, best first."""
    baseline: Sample | None
    """The baseline of all differences; None if each pair of sources is compared."""
    differences: tuple[Difference, ...]
    """Differences in the order of `results` or of its pairs."""
    noise: SeedNoise | None
    """Noise between seeds; None if unknown."""
    normalised: tuple[Normalised, ...]
    """Scores normalised by the paper's procedure, in the order of `results`; empty if not defined."""
    normalised_reason: str | None
    """Reason if `normalised` is empty; None otherwise."""
    scripts: WritingMatrix | None
    """The paper's Table 7; None without enough human sources."""
    kinds: WritingMatrix | None
    """The paper's Table 8; None without enough human sources."""

    @property
    def signature(self) -> str:
        """Signature of all scores, without seeds."""
        return self.results[0].signature

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return self.results[0].targets

    @property
    def num_comparisons(self) -> int:
        """Number of differences in Holm's correction."""
        return num_comparisons(self.differences)

    @property
    def notes(self) -> list[str]:
        """Notes on intervals, noise, the correction and published scores."""
        if not self.differences:
            intervals = "One source only: no comparison."
        elif len(self.targets) < FEWEST:
            intervals = f"No intervals: {self.differences[0].details['ci_reason']}."
        else:
            intervals = (
                f"95 % CI: paired BCa bootstrap over {len(self.targets)} languages, level "
                f"{expanded_level(len(self.targets)):.1%} to correct for the small number."
            )
        noise = "One seed each: the noise between seeds is unknown; conclusions apply to these runs only."
        if self.noise is not None:
            noise = (
                f"Seeds: standard deviation {self.noise.sd:.4f} of a score ({self.noise.origin}); better or worse: "
                f"difference of more than {self.noise.factor:.1f} standard errors."
            )
        notes, number = [intervals, noise], self.num_comparisons
        if number:
            many = f", with Holm's correction for {number} comparisons" if number > 1 else ""
            test = f"paired t test over languages or t test of seed noise, the larger{many}"
            notes.append(f"p: {test}; better or worse: below .05.")
        if self.baseline is not None and self.baseline.name == PUBLISHED_NAME:
            notes.append(f"{PUBLISHED_NAME}: the mean of three runs, treated as one run.")
        unequal = repetition(self.results)
        if unequal is not None:
            notes.append(f"Unknown: {unequal}; {EQUAL_SIZES}.")
        limits = limits_of(self.signature)
        if limits is not None:
            notes.append(f"{limits[0].upper()}{limits[1:]}.")
        if not anchors_for(self.signature):
            notes.append(f"No published scores: {_no_anchors(self.signature)}.")
        return notes

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        normalised = {each.name: asdict(each) for each in self.normalised}
        return {
            "signature": self.signature,
            "targets": list(self.targets),
            "baseline": None if self.baseline is None else self.baseline.name,
            "sources": [
                result.to_json()
                | {
                    "seed_sd": result.deviation,
                    "by_target": dict(
                        zip(self.targets, result.values(self.targets).mean(0).tolist(), strict=True)
                    ),
                    "normalised": normalised.get(result.name),
                }
                for result in self.results
            ],
            "differences": [each.to_json() for each in self.differences],
            "seed_noise": None if self.noise is None else asdict(self.noise),
            "normalised_reason": self.normalised_reason,
            "writing_systems": {
                "scripts": None if self.scripts is None else asdict(self.scripts),
                "types": None if self.kinds is None else asdict(self.kinds),
            },
            "anchors": dict(anchors_for(self.signature)),
            "correction": {"method": "Holm", "comparisons": self.num_comparisons},
            "bootstrap": {"method": "BCa", "resamples": NUM_RESAMPLES, "seed": SEED},
            "notes": self.notes,
        }


def compare(results: Sequence[Sample], baseline: str | None = None) -> XferBenchComparison:
    """Compare sources that were measured with the same settings.

    Args:
        results: The sources.
        baseline: Name of the source that all others are compared with, or `published` for the published scores without
        pretraining. None: the source without pretraining (`nothing`, `no_pretrain`) if given, otherwise all pairs are
        compared.

    Raises:
        ConfigError: If there are no results, their settings differ, or no source has the baseline's name.
    """
    if not results:
        raise ConfigError("expected at least one XferBench result, got none")
    require_comparable(results)
    sources = list(results)
    if baseline == PUBLISHED:
        chosen = published_baseline(results[0].signature)
        if chosen is None:
            raise ConfigError(f"--baseline {PUBLISHED}: {_no_anchors(results[0].signature)}")
        require_comparable([*results, chosen])
        sources.append(chosen)
    else:
        chosen = choose_baseline(sources, baseline)
    sources.sort(key=lambda result: (result.score, result.name))
    noise = seed_noise(sources)
    if noise is None and Signature(results[0].signature).options.get("preset") == "full":
        noise = SeedNoise(
            sd=RUN_DEVIATION, degrees=RUN_DEGREES, origin="published, 84 corpora of three runs each"
        )
    normalised = normalised_scores(sources)
    return XferBenchComparison(
        results=tuple(sources),
        baseline=chosen,
        differences=with_reasons(
            [difference(first, second, noise) for first, second in pairs_of(sources, chosen)]
        ),
        noise=noise,
        normalised=() if isinstance(normalised, str) else tuple(normalised),
        normalised_reason=normalised if isinstance(normalised, str) else None,
        scripts=by_script(sources),
        kinds=by_type(sources),
    )


def _no_anchors(signature: str) -> str:
    """Reason why no published score is comparable."""
    if signature == UNSIGNED:
        return "the protocol of unsigned results is unknown"
    return "they apply to preset full with protocol published-2024 only"
