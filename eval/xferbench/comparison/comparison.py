"""Several XferBench results side by side: their differences, and whether these are more than noise."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from ecsuite.config import ConfigError
from ecsuite.eval.comparison.differences import (
    Difference,
    SeedNoise,
    choose_baseline,
    difference,
    require_comparable,
    seed_noise,
)
from ecsuite.eval.comparison.normalising import Normalised, normalised_scores
from ecsuite.eval.comparison.results import UNSIGNED, Result
from ecsuite.eval.statistics.intervals import FEWEST, NUM_RESAMPLES, SEED, expanded_level
from ecsuite.eval.xferbench.comparison.anchors import (
    PUBLISHED_NAME,
    RUN_DEGREES,
    RUN_DEVIATION,
    anchors_for,
    published_baseline,
)
from ecsuite.eval.xferbench.comparison.writing_systems import WritingMatrix, by_kind, by_script

PUBLISHED = "published"
"""As a baseline: the published scores without pretraining."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """What comparing sources found."""

    results: tuple[Result, ...]
    """The sources, the best first."""
    baseline: Result | None
    """The one that the others are compared with; None if each is compared with each."""
    differences: tuple[Difference, ...]
    """In the order of `results`, or of their pairs."""
    noise: SeedNoise | None
    """Seed noise; None where it is unknown."""
    normalised: tuple[Normalised, ...]
    """The paper's procedure, in the order of `results`; empty where it has no values."""
    normalised_reason: str | None
    """Why it has none."""
    scripts: WritingMatrix | None
    """The paper's Table 7, where human sources tell something."""
    kinds: WritingMatrix | None
    """Its Table 8."""

    @property
    def signature(self) -> str:
        """Of all scores, without seeds."""
        return self.results[0].signature

    @property
    def targets(self) -> tuple[str, ...]:
        """The target languages."""
        return self.results[0].targets

    @property
    def _is_published(self) -> bool:
        """Whether the baseline is the published one."""
        return self.baseline is not None and self.baseline.name == PUBLISHED_NAME

    def notes(self) -> list[str]:
        """What a reader of the tables has to know."""
        return [
            *(_interval_notes(self)),
            _noise_note(self),
            f"{PUBLISHED_NAME}: the mean of three runs, counted as one." if self._is_published else "",
            "" if anchors_for(self.signature) else f"No published scores: {_no_anchors(self.signature)}.",
        ]

    def to_json(self) -> dict[str, Any]:
        """All of it, JSON-ready."""
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
            "bootstrap": {"method": "BCa", "resamples": NUM_RESAMPLES, "seed": SEED},
            "notes": [note for note in self.notes() if note],
        }


def compare(results: Sequence[Result], baseline: str | None = None) -> Comparison:
    """Compare sources that were measured alike.

    Args:
        results: The sources.
        baseline: The name of the one that the others are compared with, or `published` for the published scores without
            pretraining. None means the source without pretraining if there is one (`nothing`, `no_pretrain`), and each
            with each otherwise.

    Raises:
        ConfigError: If there is none, they were not measured alike, or no source has the baseline's name.
    """
    if not results:
        raise ConfigError("nothing to compare: no XferBench result was given")
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
    pairs = (
        combinations(sources, 2)
        if chosen is None
        else ((each, chosen) for each in sources if each is not chosen)
    )
    normalised = normalised_scores(sources)
    return Comparison(
        results=tuple(sources),
        baseline=chosen,
        differences=tuple(difference(first, second, noise) for first, second in pairs),
        noise=noise,
        normalised=() if isinstance(normalised, str) else tuple(normalised),
        normalised_reason=normalised if isinstance(normalised, str) else None,
        scripts=by_script(sources),
        kinds=by_kind(sources),
    )


def _interval_notes(comparison: Comparison) -> list[str]:
    """What the intervals are, or why there are none."""
    if not comparison.differences:
        return ["One source: there is nothing to compare it with."]
    number = len(comparison.targets)
    if number < FEWEST:
        return [f"No intervals: {comparison.differences[0].ci_reason}."]
    level = expanded_level(number)
    return [
        f"95 % CI: paired BCa bootstrap over {number} languages, taken at {level:.1%} since they are few."
    ]


def _noise_note(comparison: Comparison) -> str:
    """How much seeds change a score."""
    noise = comparison.noise
    if noise is None:
        return "One seed each: the noise of training is unknown, and verdicts are about these runs only."
    return (
        f"Seeds: standard deviation {noise.sd:.4f} of a score ({noise.origin}); a verdict takes more than "
        f"{noise.factor:.1f} standard errors."
    )


def _no_anchors(signature: str) -> str:
    """Why no published score is shown."""
    if signature == UNSIGNED:
        return "unsigned results may be of any protocol"
    return "they are of preset full with protocol published-2024, and levels differ"


def standard_deviation(result: Result) -> float | None:
    """Of a source's score over its seeds."""
    return float(result.values().mean(1).std(ddof=1)) if len(result.seeds) > 1 else None
