"""Comparison of several XferBench results: their differences, and whether these exceed the noise."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ecsuite.eval.metrics.preset_limits import limits_of
from ecsuite.eval.results.comparison import choose_baseline, pairs_of, require_comparable
from ecsuite.eval.results.samples import EQUAL_SIZES, UNSIGNED, Sample, repetition
from ecsuite.eval.statistics.bootstrap import FEWEST, NUM_RESAMPLES, SEED, expanded_level
from ecsuite.eval.statistics.differences import Difference, num_comparisons
from ecsuite.eval.xferbench.comparison.anchors import (
    PUBLISHED_NAME,
    RUN_DEGREES,
    RUN_DEVIATION,
    anchors_for,
    published_baseline,
)
from ecsuite.eval.xferbench.comparison.differences import SeedNoise, difference, seed_noise, with_reasons
from ecsuite.eval.xferbench.comparison.normalising import Normalised, normalised_scores
from ecsuite.eval.xferbench.comparison.writing_systems import WritingMatrix, by_kind, by_script
from ecsuite.runtime.errors import ConfigError

PUBLISHED = "published"
"""Name of the baseline of published scores without pretraining."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Sample of a comparison of sources."""

    results: tuple[Sample, ...]
    """The sources, best first."""
    baseline: Sample | None
    """The baseline of all differences; None if each pair of sources is compared."""
    differences: tuple[Difference, ...]
    """Differences in the order of `results`, or of their pairs."""
    noise: SeedNoise | None
    """Noise between seeds; None if unknown."""
    normalised: tuple[Normalised, ...]
    """Scores normalised by the paper's procedure, in the order of `results`; empty if not defined."""
    normalised_reason: str | None
    """Why `normalised` is empty; None otherwise."""
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
        """Number of differences for which Holm's correction was made."""
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


def compare(results: Sequence[Sample], baseline: str | None = None) -> Comparison:
    """Compare sources that were measured with the same settings.

    Args:
        results: The sources.
        baseline: Name of the source that the others are compared with, or `published` for the published scores without
            pretraining. None means the source without pretraining if there is one (`nothing`, `no_pretrain`), otherwise
            all pairs are compared.

    Raises:
        ConfigError: If there are no results, their settings differ, or no source has the baseline's name.
    """
    if not results:
        raise ConfigError("no XferBench result: expected at least one")
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
    if noise is None and "preset:full" in results[0].signature.split("|"):
        noise = SeedNoise(
            sd=RUN_DEVIATION, degrees=RUN_DEGREES, origin="published, 84 corpora of three runs each"
        )
    normalised = normalised_scores(sources)
    return Comparison(
        results=tuple(sources),
        baseline=chosen,
        differences=with_reasons(
            [difference(first, second, noise) for first, second in pairs_of(sources, chosen)]
        ),
        noise=noise,
        normalised=() if isinstance(normalised, str) else tuple(normalised),
        normalised_reason=normalised if isinstance(normalised, str) else None,
        scripts=by_script(sources),
        kinds=by_kind(sources),
    )


def _no_anchors(signature: str) -> str:
    """Why no published score is comparable."""
    if signature == UNSIGNED:
        return "the protocol of unsigned results is unknown"
    return "they apply to preset full with protocol published-2024 only"
