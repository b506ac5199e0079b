"""Gains: score differences between two backbones, paired by seed, with confidence intervals over seeds.

A seed determines the initial weights and the fine-tuning of every backbone, so scores of the same seed are compared
(paired differences). Student's interval covers the variation over seeds; tasks and languages are those of the run. The
gain of the corpus over the randomly initialised backbone is the primary comparison, at 95 %. Its gains over the other
controls are multiple comparisons: their p values are corrected by Holm's procedure.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ecsuite.eval.statistics.corrections import holm
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.statistics.differences import ALPHA, NO_SPREAD, paired_difference
from ecsuite.eval.xtreme.result import REFERENCE, TransferResult
from ecsuite.eval.xtreme.scoring.task import SOURCE

Conclusion = Literal["gain", "loss", "within noise", "no spread", "one seed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A score difference in points, estimated over seeds."""

    by_seed: tuple[float, ...]
    """The difference for each seed."""
    mean: float
    """Mean over seeds."""
    ci95: tuple[float, float] | None
    """Student's 95 % confidence interval over seeds; None with one seed."""
    p: float | None
    """p value of the two-sided paired t test; None with one seed."""
    conclusion: Conclusion
    """`within noise` if the interval contains 0; `no spread` if the difference is the same for all seeds (possible with
    few questions), so noise cannot be estimated; `one seed` if there is no interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """Score difference between two backbones."""

    body: str
    """Name of the backbone."""
    over: str
    """Name of the backbone it is compared with."""
    overall: Estimate
    """Difference of overall scores: means over tasks of means over languages."""
    by_task: Mapping[str, Estimate]
    """Difference of task scores, means over languages, by task."""
    by_language: Mapping[str, Mapping[str, float]]
    """Mean difference over seeds by task and language; without intervals, as they are many."""
    english: Estimate | None
    """Difference in English, if tasks are trained in English; None otherwise, or if English was not tested."""
    others: Estimate | None
    """Difference in the other languages, which have no training examples; None as above."""
    p_holm: float | None = None
    """p value with Holm's correction for all controls; None for the primary comparison, or with one seed."""

    @property
    def conclusion(self) -> Conclusion:
        """Conclusion of the interval; `within noise` if the corrected p value is not significant."""
        is_not_significant = self.p_holm is not None and self.p_holm >= ALPHA
        return "within noise" if is_not_significant else self.overall.conclusion

    def to_json(self) -> dict[str, Any]:
        """The gain as JSON values."""
        return {**asdict(self), "conclusion": self.conclusion}


def estimate(differences: Floats) -> Estimate:
    """Mean, confidence interval and p value of differences in points, shape (num_seeds,)."""
    found = paired_difference(differences)
    by_seed = tuple(differences.tolist())
    if found.ci95 is None:
        return Estimate(by_seed=by_seed, mean=found.mean, ci95=None, p=None, conclusion="one seed")
    has_spread = found.p_value is not None
    if found.ci95[0] <= 0 <= found.ci95[1] or abs(found.mean) <= NO_SPREAD:
        conclusion: Conclusion = "within noise"
    elif has_spread:
        conclusion = "gain" if found.mean > 0 else "loss"
    else:
        conclusion = "no spread"
    return Estimate(
        by_seed=by_seed,
        mean=found.mean,
        ci95=found.ci95,
        p=found.p_value if has_spread else 1.0,
        conclusion=conclusion,
    )


def gain(result: TransferResult, backbone: str, over: str) -> Gain:
    """Compare two backbones of a result."""
    differences = {
        task: result.language_scores(backbone, task) - result.language_scores(over, task)
        for task in result.languages
    }  # each (num_seeds, num_languages)
    by_task = {task: of_task.mean(1) for task, of_task in differences.items()}
    return Gain(
        body=backbone,
        over=over,
        overall=estimate(np.mean(list(by_task.values()), axis=0)),
        by_task={task: estimate(of_seeds) for task, of_seeds in by_task.items()},
        by_language={
            task: dict(zip(codes, differences[task].mean(0).tolist(), strict=True))
            for task, codes in result.languages.items()
        },
        english=_gain_by_side(result, differences, is_english=True),
        others=_gain_by_side(result, differences, is_english=False),
    )


def gains_over_reference(result: TransferResult) -> tuple[Gain, ...]:
    """Gains over the randomly initialised backbone, the corpus first; empty if that was not run."""
    if REFERENCE not in result.bodies:
        return ()
    return tuple(gain(result, backbone, REFERENCE) for backbone in result.bodies if backbone != REFERENCE)


def gains_over_controls(result: TransferResult) -> tuple[Gain, ...]:
    """Gains of the corpus over the other controls, with corrected p values."""
    others = [backbone for backbone in result.bodies if backbone not in (result.corpus, REFERENCE)]
    gains = [gain(result, result.corpus, other) for other in others]
    p_values = [each.overall.p for each in gains if each.overall.p is not None]
    if not p_values:  # only one seed
        return tuple(gains)
    return tuple(replace(each, p_holm=p_holm) for each, p_holm in zip(gains, holm(p_values), strict=True))


def _gain_by_side(
    result: TransferResult, differences: Mapping[str, Floats], *, is_english: bool
) -> Estimate | None:
    """Gain in English, or in the other languages, over the tasks tested in both; None if there are none."""
    parts = []
    for task, codes in result.languages.items():
        chosen = [(code == SOURCE) == is_english for code in codes]
        if result.is_zero_shot and 0 < sum(chosen) < len(codes):
            parts.append(differences[task][:, chosen].mean(1))
    return estimate(np.mean(parts, axis=0)) if parts else None
