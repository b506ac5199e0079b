"""Comparison of several XferBench results: their differences, and whether these exceed the noise."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ecsuite.config import ConfigError
from ecsuite.eval.comparison.differences import choose_baseline, pairs_of, require_comparable
from ecsuite.eval.comparison.results import UNSIGNED, Result
from ecsuite.eval.statistics.bootstrap import FEWEST, NUM_RESAMPLES, SEED, expanded_level
from ecsuite.eval.xferbench.comparison.anchors import (
    PUBLISHED_NAME,
    RUN_DEGREES,
    RUN_DEVIATION,
    anchors_for,
    published_baseline,
)
from ecsuite.eval.xferbench.comparison.differences import (
    Difference,
    SeedNoise,
    corrected,
    difference,
    seed_noise,
)
from ecsuite.eval.xferbench.comparison.normalising import Normalised, normalised_scores
from ecsuite.eval.xferbench.comparison.writing_systems import WritingMatrix, by_kind, by_script

PUBLISHED = "published"
"""Name of the baseline of published scores without pretraining."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Result of a comparison of sources."""

    results: tuple[Result, ...]
    """The sources, best first."""
    baseline: Result | None
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
    def _is_published(self) -> bool:
        """Whether the baseline is the published score without pretraining."""
        return self.baseline is not None and self.baseline.name == PUBLISHED_NAME

    @property
    def num_comparisons(self) -> int:
        """Number of differences for which Holm's correction was made."""
        return sum(each.p_value is not None for each in self.differences)

    def notes(self) -> list[str]:
        """Notes on intervals, noise and published scores; empty strings where there is nothing to note."""
        return [
            *(_interval_notes(self)),
            _noise_note(self),
            _correction_note(self.num_comparisons),
            f"{PUBLISHED_NAME}: the mean of three runs, treated as one run." if self._is_published else "",
            "" if anchors_for(self.signature) else f"No published scores: {_no_anchors(self.signature)}.",
        ]

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON-ready data."""
        normalised = {each.name: asdict(each) for each in self.normalised}
        return {
            "signature": self.signature,
            "targets": list(self.targets),
            "baseline": None if self.baseline is None else self.baseline.name,
            "sources": [
                {
                    "name": result.name,
                    "score": result.score,
                    "seeds": list(result.seeds),
                    "seed_scores": result.values().mean(1).tolist(),
                    "seed_sd": standard_deviation(result),
                    "by_target": dict(
                        zip(self.targets, result.values(self.targets).mean(0).tolist(), strict=True)
                    ),
                    "normalised": normalised.get(result.name),
                    "source": result.source,
                }
                for result in self.results
            ],
            "differences": [asdict(each) for each in self.differences],
            "seed_noise": None if self.noise is None else asdict(self.noise),
            "normalised_reason": self.normalised_reason,
            "writing_systems": {
                "scripts": None if self.scripts is None else asdict(self.scripts),
                "types": None if self.kinds is None else asdict(self.kinds),
            },
            "anchors": {anchor.name: anchor.score for anchor in anchors_for(self.signature)},
            "correction": {"method": "Holm", "comparisons": self.num_comparisons},
            "bootstrap": {"method": "BCa", "resamples": NUM_RESAMPLES, "seed": SEED},
            "notes": [note for note in self.notes() if note],
        }


def compare(results: Sequence[Result], baseline: str | None = None) -> Comparison:
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
        differences=corrected(
            difference(first, second, noise) for first, second in pairs_of(sources, chosen)
        ),
        noise=noise,
        normalised=() if isinstance(normalised, str) else tuple(normalised),
        normalised_reason=normalised if isinstance(normalised, str) else None,
        scripts=by_script(sources),
        kinds=by_kind(sources),
    )


def _interval_notes(comparison: Comparison) -> list[str]:
    """Note on the method of the intervals, or on the reason why there are none."""
    if not comparison.differences:
        return ["One source only: no comparison."]
    number = len(comparison.targets)
    if number < FEWEST:
        return [f"No intervals: {comparison.differences[0].ci_reason}."]
    level = expanded_level(number)
    return [
        f"95 % CI: paired BCa bootstrap over {number} languages, level {level:.1%} to correct for the small number."
    ]


def _noise_note(comparison: Comparison) -> str:
    """Note on the noise between seeds."""
    noise = comparison.noise
    if noise is None:
        return "One seed each: the noise between seeds is unknown; verdicts apply to these runs only."
    return (
        f"Seeds: standard deviation {noise.sd:.4f} of a score ({noise.origin}); better or worse: difference of "
        f"more than {noise.factor:.1f} standard errors."
    )


def _correction_note(num_comparisons: int) -> str:
    """Note on the p-values; empty without any."""
    if not num_comparisons:
        return ""
    many = f", with Holm's correction for {num_comparisons} comparisons" if num_comparisons > 1 else ""
    return f"p: paired t test over languages or t test of seed noise, the larger{many}; better or worse: below .05."


def _no_anchors(signature: str) -> str:
    """Why no published score is comparable."""
    if signature == UNSIGNED:
        return "the protocol of unsigned results is unknown"
    return "they apply to preset full with protocol published-2024 only"


def standard_deviation(result: Result) -> float | None:
    """Standard deviation of a source's score over its seeds; None for one seed."""
    return float(result.values().mean(1).std(ddof=1)) if len(result.seeds) > 1 else None
