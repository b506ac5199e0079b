"""Verdicts on claims from their runs, by rule, and the list of all.

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
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import msgspec

from ecsuite.eval.experiments.claims.arms import (
    ArmDifference,
    compare_arms,
    is_successful,
    read_outcome,
    seeds_of,
)
from ecsuite.eval.experiments.claims.claim import Claim, Criterion, Statistic, load_claim, shipped_claims
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.estimates import (
    ALPHA,
    NO_SPREAD,
    Difference,
    corrected,
    paired_difference,
    unpaired_difference,
)
from ecsuite.eval.views.citations import author_year_of
from ecsuite.runtime.errors import ConfigError
from ecsuite.tables.cells import Cell, interval, nothing, number, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

Answer = Literal["holds", "does not hold", "can't tell"]
"""Answer of the rule of a kind, whatever the size that was run."""
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
FILE = "verdicts.json"
"""The file of all verdicts, in this package."""
ROLES: Mapping[str, Any] = {"holds": "good", "does not hold": "bad"}
"""Roles of verdicts in a table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CriterionResult:
    """Answer of a criterion on runs."""

    answer: Answer
    """Answer of its rule, whatever the size of the runs."""
    reason: str
    """Why, in a line."""
    compared: tuple[ArmDifference, ...]
    """The differences that it rests on; of several sizes those of each."""
    controls: Mapping[str, ArmDifference]
    """The differences of the controls by figure."""

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON-ready data."""
        return {
            "answer": self.answer,
            "reason": self.reason,
            "differences": [each.to_json() for each in self.compared],
            "controls": {name: each.to_json() for name, each in self.controls.items()},
        }


def judge(claim: Claim, runs: Sequence[Source], *, is_small: bool = False) -> tuple[Verdict, CriterionResult]:
    """The verdict on a claim, and the result of its criterion.

    Args:
        claim: The claim.
        runs: All its runs.
        is_small: Whether they are those of a check of minutes.
    """
    result = apply_criterion(claim, claim.criterion, runs)
    if is_small:
        return "can't tell at this size", result
    if claim.size == "published":
        return result.answer, result
    if claim.criterion.sizes is None or result.answer == "can't tell":
        return "can't tell at this size", result
    holds = result.answer == "holds"
    return "holds at the sizes run" if holds else "does not hold at the sizes run", result


def apply_criterion(
    claim: Claim, criterion: Criterion, runs: Sequence[Source], which: Literal["all", "success"] | None = None
) -> CriterionResult:
    """The result of a criterion on runs.

    Args:
        claim: Has the seeds, and the paper's rule for which runs count.
        criterion: The criterion.
        runs: All runs.
        which: The runs that count; None: those that the criterion names.
    """
    criterion = replace(criterion, runs=which or criterion.runs)
    counted = [run for run in runs if criterion.runs == "all" or is_successful(run, claim.success)]
    seeds = seeds_of(runs) if claim.is_of_corpora else claim.seeds
    if criterion.sizes is None:
        return _answer(criterion, counted, seeds)
    parts = []
    setting, baseline = criterion.sizes.setting, criterion.baseline
    for size in criterion.sizes.values:
        arm = {**(criterion.arm or {}), setting: size}
        other = {**baseline, setting: size} if isinstance(baseline, Mapping) else baseline
        parts.append((size, _answer(replace(criterion, arm=arm, baseline=other), counted, seeds)))
    answers = {part.answer for _, part in parts}
    return CriterionResult(
        answer=answers.pop() if len(answers) == 1 else "can't tell",
        reason="; ".join(f"{setting}={size}: {part.reason}" for size, part in parts),
        compared=tuple(each for _, part in parts for each in part.compared),
        controls={f"{name} at {size}": each for size, part in parts for name, each in part.controls.items()},
    )


def _answer(criterion: Criterion, runs: Sequence[Source], seeds: Sequence[int]) -> CriterionResult:
    """The answer of the rule of a kind at one size."""
    names = (*criterion.statistic.figures, *(criterion.controls or ()))
    absent = [name for name in names if runs and all(run.values.get(name) is None for run in runs)]
    compared = [compare_arms(runs, criterion, arm, baseline, seeds) for arm, baseline in criterion.compared]
    if criterion.kind == "order":
        compared = _corrected(compared)
    controls = {
        name: compare_arms(runs, criterion, arm, baseline, seeds, statistic=Statistic(measure=name))
        for name in criterion.controls or ()
        for arm, baseline in criterion.compared
    }
    answer, reason = _rule(criterion, compared, controls)
    if absent:  # whatever counts where a run has none
        answer, reason = "can't tell", f"no run has a value of {', '.join(absent)}"
    return CriterionResult(answer=answer, reason=reason, compared=tuple(compared), controls=controls)


def _rule(
    criterion: Criterion, compared: Sequence[ArmDifference], controls: Mapping[str, ArmDifference]
) -> tuple[Answer, str]:
    for each in (*compared, *controls.values()):
        wanted = each.num_seeds + each.num_missing
        if each.difference is None or each.difference.ci95 is None:
            return "can't tell", f"{each.num_seeds} of {wanted} seeds have a value: no interval"
        if criterion.runs == "all" and each.num_missing > MOST_MISSING * wanted:
            return "can't tell", f"{each.num_missing} of {wanted} have no value"
    differences = [each.difference for each in compared if each.difference is not None]
    if criterion.kind == "order":
        return _order_answer(criterion, compared, differences)
    [difference] = differences
    if criterion.kind == "null":
        assert criterion.margin is not None
        return null_answer(difference, criterion.margin)
    assert isinstance(criterion.published, float)
    answer, reason = effect_answer(difference, criterion.published)
    if answer != "holds":
        return answer, reason
    for name, tolerance in (criterion.controls or {}).items():
        control = controls[name].difference
        assert control is not None and control.ci95 is not None
        if control.ci95[0] < -tolerance:
            return "can't tell", f"{reason}, but {name} may be below the baseline by more than {tolerance:g}"
    return answer, reason


def effect_answer(difference: Difference, published: float) -> tuple[Answer, str]:
    """The answer on a published effect, from a difference, with its reason."""
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


def null_answer(difference: Difference, margin: float) -> tuple[Answer, str]:
    """The answer on a claim of no effect, from a difference, with its reason."""
    assert difference.ci95 is not None
    low, high = difference.ci95
    if -margin <= low and high <= margin:
        return "holds", f"the interval lies within ± {margin:g}"
    if low > margin or high < -margin:
        return "does not hold", f"the interval lies outside of ± {margin:g}"
    return "can't tell", f"the interval has values on both sides of a bound of ± {margin:g}"


def _order_answer(
    criterion: Criterion, compared: Sequence[ArmDifference], differences: Sequence[Difference]
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


def _less(compared: ArmDifference, amount: float, criterion: Criterion) -> ArmDifference:
    """A difference less an amount, with its p-value."""
    first, second = compared.values
    less = first - amount
    difference = paired_difference(less - second) if criterion.paired else unpaired_difference(less, second)
    return replace(compared, difference=difference)


def _corrected(compared: Sequence[ArmDifference]) -> list[ArmDifference]:
    """Differences with Holm's correction for all of them."""
    after = iter(corrected(each.difference for each in compared if each.difference is not None))
    return [each if each.difference is None else replace(each, difference=next(after)) for each in compared]


def _is_clear(difference: Difference) -> bool:
    """Whether a difference is not 0, after the correction; without a spread at once."""
    if difference.p_holm is not None:
        return difference.p_holm < ALPHA
    return difference.ci95 is not None and abs(difference.mean) >= NO_SPREAD


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictRow:
    """A claim in the list of verdicts."""

    claim: str
    """Its name."""
    about: str
    """The claim in a line."""
    source: str
    """Authors and year."""
    verdict: Verdict
    """The verdict on its runs."""
    answer: str = ""
    """Answer of the rule at the size that was run."""
    reason: str = ""
    """Why."""
    effect: float | None = None
    """The first difference of its criterion."""
    ci95: tuple[float, float] | None = None
    """Its 95 % interval."""
    published: float | None = None
    """The published difference."""
    margin: float | None = None
    """Half the width of the equivalence interval."""
    num_seeds: int = 0
    """Seeds of its runs."""
    hours: float | None = None
    """Hours of computing; of a claim that was not run, as `--plan` measured them."""

    @property
    def label(self) -> str:
        """The verdict and, at another size than the published one, the answer of its rule at this size."""
        answer = f" (here: {self.answer})" if self.verdict == "can't tell at this size" else ""
        return f"{self.verdict}{answer}"


def verdict_row(claim: Claim, results: Path) -> VerdictRow:
    """A claim with the verdict on its results, if there is a file of them.

    Raises:
        ConfigError: If deciding keys were changed after the runs, or the file can't be read.
    """
    sizes = claim.criterion.published_differences
    row = VerdictRow(
        claim=claim.name,
        about=claim.about,
        source=author_year_of(claim.source.work),
        verdict="not run",
        published=sizes[0] if sizes else None,
        margin=claim.criterion.margin,
        hours=claim.hours,
    )
    file = results / f"{claim.name}.json"
    if not file.is_file():
        return row
    outcome = read_outcome(file)
    if outcome.digest != claim.digest or outcome.is_small:
        raise ConfigError(f"{file}: not the results of the claim {claim.name} as it is now")
    verdict, result = judge(claim, outcome.runs)
    difference = result.compared[0].difference
    return replace(
        row,
        verdict=verdict,
        answer=result.answer,
        reason=result.reason,
        effect=None if difference is None else difference.mean,
        ci95=None if difference is None else difference.ci95,
        num_seeds=len(seeds_of(outcome.runs)),
        hours=round(outcome.hours, 2),
    )


def all_verdicts(results: Path) -> list[VerdictRow]:
    """All shipped claims with the verdicts on their results in a folder; those that were not run are the last."""
    rows = [verdict_row(load_claim(name), results) for name in shipped_claims()]
    return sorted(rows, key=lambda row: row.verdict == "not run")


def shipped_verdicts() -> list[VerdictRow]:
    """All shipped claims with their verdicts, as this version ships them."""
    content = resources.files(__package__).joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=list[VerdictRow])


def verdicts_table(rows: Sequence[VerdictRow]) -> Table:
    """The list as a table."""
    columns = (
        name_column("claim"),
        Column("verdict"),
        number_column("effect", parts=("low", "high")),
        number_column("published"),
        number_column("seeds"),
        number_column("hours"),
    )
    return Table(
        columns=columns,
        rows=[
            row_of(
                row.claim,
                text(row.verdict, shown=row.label, role=ROLES.get(row.verdict, "")),
                nothing() if row.effect is None else interval(row.effect, row.ci95),
                published_cell(row),
                row.num_seeds or None,
                nothing() if row.hours is None else number(row.hours, 1),
            )
            for row in rows
        ],
    )


def published_cell(row: VerdictRow) -> Cell:
    """The published difference, or the margin of a null claim."""
    if row.margin is not None:
        return Cell(value=row.margin, lines=(f"within ± {row.margin:g}",))
    return nothing() if row.published is None else number(row.published)


def summary(rows: Sequence[VerdictRow], *, is_short: bool = False) -> str:
    """How many claims hold, do not, and are not run; of the others it can't be told, which the long one says, too."""
    holds = sum(row.verdict.startswith("holds") for row in rows)
    fails = sum(row.verdict.startswith("does not hold") for row in rows)
    not_run = sum(row.verdict == "not run" for row in rows)
    undecided, verb = len(rows) - holds - fails - not_run, "does" if fails == 1 else "do"
    if is_short:
        return f"Of {len(rows)} claims {holds} hold, {fails} {verb} not, {not_run} are not run"
    parts = f"{holds} hold, {fails} {verb} not, {undecided} can't be told here, and {not_run} are not run"
    return f"Of {len(rows)} published claims {parts}."
