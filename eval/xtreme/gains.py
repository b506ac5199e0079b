"""Gains: score differences between two backbones, paired by seed, with confidence intervals over seeds.

A seed determines the initial weights and the fine-tuning of every backbone, so scores of the same seed are compared
(paired differences). Student's interval covers the variation over seeds; tasks and languages are those of the run. The
gain of the corpus over the randomly initialised backbone is the primary comparison, at 95 %. Its gains over the other
controls are multiple comparisons: their p values are corrected by Holm's procedure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.differences import Difference, corrected, paired_difference, with_effect
from ecsuite.eval.statistics.estimates import NO_SPREAD
from ecsuite.eval.xtreme.result import REFERENCE, TransferResult
from ecsuite.eval.xtreme.scoring.task import SOURCE


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """Score difference between two backbones, in points."""

    overall: Difference
    """Difference of overall scores: means over tasks of means over languages; with Holm's correction of further
    controls."""
    by_task: Mapping[str, Difference]
    """Difference of task scores, means over languages, by task."""
    by_language: Mapping[str, Mapping[str, float]]
    """Mean difference over seeds by task and language; without intervals, as they are many."""
    english: Difference | None
    """Difference in English, if tasks are trained in English; None otherwise, or if English was not tested."""
    others: Difference | None
    """Difference in the other languages, which have no training examples; None as above."""

    def to_json(self) -> dict[str, Any]:
        """The gain as JSON values."""
        return {
            "body": self.overall.source,
            "over": self.overall.baseline,
            "overall": _as_json(self.overall),
            "by_task": {task: _as_json(difference) for task, difference in self.by_task.items()},
            "by_language": self.by_language,
            "english": _as_json(self.english),
            "others": _as_json(self.others),
            "p_holm": self.overall.p_holm,
            "conclusion": self.overall.conclusion,
        }


def _as_json(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {
        **difference.details,
        "mean": difference.mean,
        "ci95": difference.ci95,
        "p": difference.p_value,
        "hedges_g": difference.hedges_g,
        "hedges_g_ci95": difference.hedges_g_ci95,
        "conclusion": replace(difference, p_holm=None).conclusion,
    }


def estimate(differences: Floats) -> Difference:
    """Mean, confidence interval and p value of differences in points, shape (num_seeds,), by seed among the details.

    It is concluded from the interval. If the difference is the same for all seeds, which is possible with few
    questions, noise cannot be estimated: p is 1, and the conclusion is unknown, as with one seed.
    """
    found = replace(paired_difference(differences), details={"by_seed": differences.tolist()})
    if found.ci95 is None:
        return found
    if found.ci95[0] <= 0 <= found.ci95[1] or abs(found.mean) <= NO_SPREAD:
        return replace(found, p_value=found.p_value or 1.0, judged="inside the noise")
    if found.p_value is None:
        return replace(found, p_value=1.0, judged="unknown")
    return replace(found, judged="higher" if found.mean > 0 else "lower")


def gain(result: TransferResult, backbone: str, over: str) -> Gain:
    """Compare two backbones of a result."""
    differences = {
        task: result.language_scores(backbone, task) - result.language_scores(over, task)
        for task in result.languages
    }  # each (num_seeds, num_languages)
    by_task = {task: of_task.mean(1) for task, of_task in differences.items()}
    overall = estimate(np.mean(list(by_task.values()), axis=0))
    first, second = (result.scores(each).mean(1) for each in (backbone, over))
    return Gain(
        overall=with_effect(
            replace(overall, source=backbone, baseline=over, basis="seeds, paired"),
            first,
            second,
            is_paired=True,
        ),
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
    differences = corrected(each.overall for each in gains)
    return tuple(replace(each, overall=overall) for each, overall in zip(gains, differences, strict=True))


def _gain_by_side(
    result: TransferResult, differences: Mapping[str, Floats], *, is_english: bool
) -> Difference | None:
    """Gain in English, or in the other languages, over the tasks tested in both; None if there are none."""
    parts = []
    for task, codes in result.languages.items():
        chosen = [(code == SOURCE) == is_english for code in codes]
        if result.is_zero_shot and 0 < sum(chosen) < len(codes):
            parts.append(differences[task][:, chosen].mean(1))
    return estimate(np.mean(parts, axis=0)) if parts else None
