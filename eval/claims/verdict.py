"""What follows for a claim from its runs, by rule.

- An effect holds if it has the published sign, its 95 % interval over seeds excludes 0, and it is at least half of the
  published size; it does not hold if its interval excludes half of the published effect from below.
- A null claim holds if the interval lies within its margin; it does not hold if it lies wholly outside.
- An order holds if all its pairs have the claimed sign with p-values below 5 % after Holm's correction and, where their
  sizes are published, at least half of these; it does not hold if a pair is reversed, or below half of its published
  size, with a corrected p-value below 5 %.
- A claim on structure holds as an effect if, besides, accuracy and the number of distinct messages are not below the
  baseline: the lower end of the interval of each control is above the tolerance that the claim states.
- Else it can't be told. At another size than the published one it can't be told at this size, unless the rule says the
  same at three sizes or more.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from ecsuite.eval.claims.arms import Compared, compare
from ecsuite.eval.claims.claim import Claim
from ecsuite.eval.claims.criterion import Criterion, Statistic
from ecsuite.eval.claims.runs import Run
from ecsuite.eval.statistics.differences import Difference, corrected, paired_difference, unpaired_difference
from ecsuite.eval.statistics.estimates import ALPHA, NO_SPREAD

Answer = Literal["holds", "does not hold", "can't tell"]
"""What the rule of a kind says."""
Verdict = Literal[
    "holds",
    "does not hold",
    "can't tell",
    "can't tell at this size",
    "holds at the sizes run",
    "does not hold at the sizes run",
    "not run",
]
MOST_MISSING = 0.2
"""More of the seeds without a value than this share, and it can't be told."""
SHARE = 0.5
"""The share of the published size that an effect must have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What came of a criterion."""

    answer: Answer
    """What its rule says of these runs, whatever their size."""
    reason: str
    """Why, in a line."""
    compared: tuple[Compared, ...]
    """The differences that it rests on; of several sizes those of each."""
    controls: Mapping[str, Compared]
    """The differences of the controls by figure."""

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON-ready data."""
        return {
            "answer": self.answer,
            "reason": self.reason,
            "differences": [each.to_json() for each in self.compared],
            "controls": {name: each.to_json() for name, each in self.controls.items()},
        }


def judge(claim: Claim, runs: Sequence[Run], *, is_small: bool = False) -> tuple[Verdict, Judged]:
    """The verdict on a claim, and what its criterion says.

    Args:
        claim: The claim.
        runs: All its runs.
        is_small: Whether they are those of a check of minutes.
    """
    judged = apply(claim, claim.criterion, runs)
    if is_small:
        return "can't tell at this size", judged
    if claim.size == "published":
        return judged.answer, judged
    if claim.criterion.sizes is None or judged.answer == "can't tell":
        return "can't tell at this size", judged
    return (
        "holds at the sizes run" if judged.answer == "holds" else "does not hold at the sizes run"
    ), judged


def apply(
    claim: Claim, criterion: Criterion, runs: Sequence[Run], which: Literal["all", "success"] | None = None
) -> Judged:
    """What a criterion says of runs.

    Args:
        claim: Has the seeds, and the paper's rule for which runs count.
        criterion: The criterion.
        runs: All runs.
        which: Which of them count; None: those that the criterion says.
    """
    criterion = replace(criterion, runs=which or criterion.runs)
    counted = [run for run in runs if criterion.runs == "all" or run.is_successful(claim.success)]
    seeds = sorted({run.seed for run in runs}) if claim.is_of_corpora else claim.seeds
    if criterion.sizes is None:
        return _answer(criterion, counted, seeds)
    parts = []
    for size in criterion.sizes.values:
        at_size = {criterion.sizes.setting: size}
        baseline = criterion.baseline
        parts.append(
            _answer(
                replace(
                    criterion,
                    arm={**(criterion.arm or {}), **at_size},
                    baseline={**baseline, **at_size} if isinstance(baseline, Mapping) else baseline,
                ),
                counted,
                seeds,
            )
        )
    answers = {part.answer for part in parts}
    return Judged(
        answer=answers.pop() if len(answers) == 1 else "can't tell",
        reason="; ".join(
            f"{criterion.sizes.setting}={size}: {part.reason}"
            for size, part in zip(criterion.sizes.values, parts, strict=True)
        ),
        compared=tuple(each for part in parts for each in part.compared),
        controls={
            f"{name} at {size}": each
            for size, part in zip(criterion.sizes.values, parts, strict=True)
            for name, each in part.controls.items()
        },
    )


def _answer(criterion: Criterion, runs: Sequence[Run], seeds: Sequence[int]) -> Judged:
    """What the rule of a kind says at one size."""
    names = (*criterion.statistic.figures, *(criterion.controls or ()))
    absent = [name for name in names if runs and all(run.values.get(name) is None for run in runs)]
    compared = [compare(runs, criterion, arm, baseline, seeds) for arm, baseline in criterion.compared]
    if criterion.kind == "order":
        compared = _corrected(compared)
    controls = {
        name: compare(runs, criterion, arm, baseline, seeds, statistic=Statistic(measure=name))
        for name in criterion.controls or ()
        for arm, baseline in criterion.compared
    }
    answer, reason = _rule(criterion, compared, controls)
    if absent:  # whatever counts where a run has none
        answer, reason = "can't tell", f"no run has a value of {', '.join(absent)}"
    return Judged(answer=answer, reason=reason, compared=tuple(compared), controls=controls)


def _rule(
    criterion: Criterion, compared: Sequence[Compared], controls: Mapping[str, Compared]
) -> tuple[Answer, str]:
    for each in (*compared, *controls.values()):
        wanted = each.num_seeds + each.num_missing
        if each.difference is None or each.difference.ci95 is None:
            return "can't tell", f"{each.num_seeds} of {wanted} seeds have a value: no interval"
        if criterion.runs == "all" and each.num_missing > MOST_MISSING * wanted:
            return "can't tell", f"{each.num_missing} of {wanted} have no value"
    differences = [each.difference for each in compared if each.difference is not None]
    if criterion.kind == "order":
        return _of_order(criterion, compared, differences)
    [difference] = differences
    if criterion.kind == "null":
        assert criterion.margin is not None
        return of_null(difference, criterion.margin)
    assert isinstance(criterion.published, float)
    answer, reason = of_effect(difference, criterion.published)
    if answer != "holds":
        return answer, reason
    for name, tolerance in (criterion.controls or {}).items():
        control = controls[name].difference
        assert control is not None and control.ci95 is not None
        if control.ci95[0] < -tolerance:
            return "can't tell", f"{reason}, but {name} may be below the baseline by more than {tolerance:g}"
    return answer, reason


def of_effect(difference: Difference, published: float) -> tuple[Answer, str]:
    """What follows from a difference for a published effect."""
    assert difference.ci95 is not None
    sign = math.copysign(1, published)
    low, high = sorted(sign * bound for bound in difference.ci95)
    half = SHARE * abs(published)
    if low > 0 and sign * difference.mean >= half:
        return "holds", "published sign, interval without 0, at least half of the published size"
    if high < half:
        return "does not hold", "the interval excludes half of the published effect"
    return (
        "can't tell",
        "the interval has 0" if low <= 0 else "less than half of the published size, not clearly",
    )


def of_null(difference: Difference, margin: float) -> tuple[Answer, str]:
    """What follows from a difference for a claim of no effect."""
    assert difference.ci95 is not None
    low, high = difference.ci95
    if -margin <= low and high <= margin:
        return "holds", f"the interval lies within ± {margin:g}"
    if low > margin or high < -margin:
        return "does not hold", f"the interval lies outside of ± {margin:g}"
    return "can't tell", f"the interval has values on both sides of a bound of ± {margin:g}"


def _of_order(
    criterion: Criterion, compared: Sequence[Compared], differences: Sequence[Difference]
) -> tuple[Answer, str]:
    halves = [SHARE * each for each in criterion.published_differences or [0.0] * len(differences)]
    below = _corrected([_less(each, half, criterion) for each, half in zip(compared, halves, strict=True)])
    shorter = [each.difference for each in below if each.difference is not None]
    if any(_is_clear(each) and each.mean < 0 for each in shorter):
        return "does not hold", "a pair is reversed, or below half of its published size"
    unclear = sum(not (_is_clear(each) and each.mean > 0) for each in differences)
    too_small = sum(each.mean < half for each, half in zip(differences, halves, strict=True))
    if unclear:
        return "can't tell", f"{unclear} of {len(differences)} pairs are not told apart"
    if too_small:
        return "can't tell", f"{too_small} of {len(differences)} pairs are below half of the published size"
    return "holds", f"all {len(differences)} pairs, corrected"


def _less(compared: Compared, amount: float, criterion: Criterion) -> Compared:
    """A difference less an amount, with its p-value."""
    first, second = compared.values
    less = first - amount
    difference = paired_difference(less - second) if criterion.paired else unpaired_difference(less, second)
    return replace(compared, difference=difference)


def _corrected(compared: Sequence[Compared]) -> list[Compared]:
    """Differences with Holm's correction for all of them."""
    places = [place for place, each in enumerate(compared) if each.difference is not None]
    after = dict(
        zip(places, corrected(d for each in compared if (d := each.difference) is not None), strict=True)
    )
    return [replace(each, difference=after.get(place)) for place, each in enumerate(compared)]


def _is_clear(difference: Difference) -> bool:
    """Whether a difference is not 0, after the correction; values without a spread tell it at once."""
    if difference.p_holm is not None:
        return difference.p_holm < ALPHA
    return difference.ci95 is not None and abs(difference.mean) >= NO_SPREAD
