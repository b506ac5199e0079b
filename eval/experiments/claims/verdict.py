"""Verdicts on claims from their runs by fixed rules, and the list of all verdicts.

- An effect holds if it has the claimed sign, its 95 % interval over seeds excludes 0, and it is at least half of the
  published effect or, if only a direction was published, at least our threshold; it does not hold if the interval
  contains no effect as large as this minimum. With a margin around a published figure, such as an exponent, it holds
  if the interval lies within the margin, and does not hold if it lies completely outside.
- A null claim holds if the interval lies within its margin; it does not hold if it lies completely outside.
- An order holds if all pairs have the claimed sign with p-values below 5 % after Holm's correction and, if their sizes
  are published, at least half of the published sizes; it does not hold if a pair has the opposite order, or a
  difference below half of its published size, with a corrected p-value below 5 %.
- A claim on structure follows the rule of an effect. In addition, accuracy and the number of distinct messages must
  not be below the baseline: the lower end of each control's interval is above minus the tolerance of the claim.
- If figures are censored (`bound_of`), the interval of a mean of lower bounds is the interval of a lower bound: the
  answer is can't tell if higher true values could change it. Controls use figures as they are (accuracy is at most 1).
- In all other cases the answer is can't tell. Verdicts on another setting or size than the published one are marked,
  and do not count as verdicts on the published claim.
"""

import math
from collections import Counter
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
from ecsuite.eval.experiments.claims.claim import (
    SHARE,
    Claim,
    Criterion,
    Rerun,
    Scope,
    Statistic,
    load_claim,
    shipped_claims,
)
from ecsuite.eval.results.sources import Source
from ecsuite.eval.statistics.estimates import (
    ALPHA,
    NO_SPREAD,
    OPPOSITE,
    Bound,
    Difference,
    corrected,
    paired_difference,
    unpaired_difference,
)
from ecsuite.eval.views.citations import author_year_of
from ecsuite.runtime.errors import ConfigError
from ecsuite.runtime.time_left import duration_text
from ecsuite.tables.cells import MARKS, interval, nothing, number, short, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

Answer = Literal["holds", "does not hold", "can't tell"]
"""Answer of a criterion's rule, whatever the setting of the runs."""
Verdict = Literal[
    "holds",
    "does not hold",
    "can't tell",
    "holds in another setting",
    "does not hold in another setting",
    "holds at another size",
    "does not hold at another size",
    "not run",
]
"""Verdict on a claim; only the first two are about the published setting."""
MOST_MISSING = 0.2
"""Maximum share of seeds without a value; above it the answer is can't tell."""
SMALL_REASON = "a small check is no evidence; its answer"
"""Reason for the verdict on the runs of `--small`."""
CENSORED = "some values are censored, and their true values could change the answer"
"""Reason for can't tell if the interval alone would give an answer."""
AT: Mapping[Bound | None, str] = {"lower": "at least ", "upper": "at most "}
"""Words before an effect that is a bound of the true effect."""
FILE = "verdicts.json"
"""The file of all verdicts, in this package."""
ROLES: Mapping[str, Any] = {"holds": "good", "does not hold": "bad"}
"""Roles of verdicts in a table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CriterionResult:
    """Answer of a criterion on runs."""

    answer: Answer
    """Answer of its rule, whatever the setting of the runs."""
    reason: str
    """Reason of the answer, in a line."""
    compared: tuple[ArmDifference, ...]
    """The compared differences, at each size if there are several."""
    controls: Mapping[str, ArmDifference]
    """The differences of the controls by figure."""

    def to_json(self) -> dict[str, Any]:
        """The result as JSON-ready data."""
        return {
            "answer": self.answer,
            "reason": self.reason,
            "differences": [each.to_json() for each in self.compared],
            "controls": {name: each.to_json() for name, each in self.controls.items()},
        }


def judge(claim: Claim, runs: Sequence[Source], *, is_small: bool = False) -> tuple[Verdict, CriterionResult]:
    """Decide a claim: the verdict, and the result of its criterion.

    Args:
        claim: The claim.
        runs: All its runs.
        is_small: Whether the runs are a small check (`--small`).
    """
    result = apply_criterion(claim, claim.criterion, runs)
    if is_small:
        return "can't tell", replace(result, reason=f"{SMALL_REASON}: {result.answer}, since {result.reason}")
    if result.answer == "can't tell" or claim.scope == "the published setting":
        return result.answer, result
    elsewhere: Mapping[tuple[bool, Scope], Verdict] = {
        (True, "another setting"): "holds in another setting",
        (False, "another setting"): "does not hold in another setting",
        (True, "another size"): "holds at another size",
        (False, "another size"): "does not hold at another size",
    }
    return elsewhere[result.answer == "holds", claim.scope], result


def apply_criterion(
    claim: Claim, criterion: Criterion, runs: Sequence[Source], which: Literal["all", "success"] | None = None
) -> CriterionResult:
    """Apply a criterion to runs.

    Args:
        claim: The claim, with its seeds and the paper's rule for which runs count.
        criterion: The criterion.
        runs: All runs.
        which: The runs that count; None: the criterion's choice.
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
        reason="; ".join(f"{setting}={size}: {part.answer}, since {part.reason}" for size, part in parts),
        compared=tuple(each for _, part in parts for each in part.compared),
        controls={f"{name} at {size}": each for size, part in parts for name, each in part.controls.items()},
    )


def _answer(criterion: Criterion, runs: Sequence[Source], seeds: Sequence[int]) -> CriterionResult:
    """Apply a criterion at one size."""
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
    if absent:  # independent of which runs count
        answer, reason = "can't tell", f"no run has a value of {', '.join(absent)}"
    return CriterionResult(answer=answer, reason=reason, compared=tuple(compared), controls=controls)


def _rule(
    criterion: Criterion, compared: Sequence[ArmDifference], controls: Mapping[str, ArmDifference]
) -> tuple[Answer, str]:
    unit = "runs" if criterion.statistic.correlation else "seeds"
    for each in (*compared, *controls.values()):
        wanted = each.num_seeds + each.num_missing
        if each.difference is None or each.difference.ci95 is None:
            return "can't tell", f"no interval: {each.num_seeds} of {wanted} {unit} have a value"
        if criterion.runs == "all" and each.num_missing > MOST_MISSING * wanted:
            return "can't tell", f"{each.num_missing} of {wanted} {unit} have no value"
    differences = [each.difference for each in compared if each.difference is not None]
    if criterion.kind == "order":
        return _order_answer(criterion, compared, differences)
    [difference] = differences
    if criterion.kind == "null":
        assert criterion.margin is not None
        return null_answer(difference, criterion.margin)
    if criterion.margin is not None:
        assert isinstance(criterion.published, float)
        return null_answer(difference, criterion.margin, criterion.published)
    assert criterion.least is not None
    answer, reason = effect_answer(difference, criterion.least, criterion.rerun)
    if answer != "holds":
        return answer, reason
    for name, tolerance in (criterion.controls or {}).items():
        control = controls[name].difference
        assert control is not None and control.ci95 is not None
        if control.ci95[0] < -tolerance:
            return "can't tell", f"{reason}; but {name} may be more than {tolerance:g} below the baseline"
    return answer, reason


def effect_answer(difference: Difference, least: float, rerun: Rerun = "figure re-run") -> tuple[Answer, str]:
    """Decide whether an effect has a minimum size, from a difference; the answer with its reason."""
    assert difference.ci95 is not None
    sign = math.copysign(1, least)
    low, high = sorted(sign * bound for bound in difference.ci95)
    bound = difference.bound if sign > 0 else OPPOSITE[difference.bound]
    size = "half of the published effect" if rerun == "figure re-run" else "our threshold"
    is_there, is_less = low > 0 and sign * difference.mean >= abs(least), high < abs(least)
    if is_there and bound in (None, "lower"):
        return "holds", f"the 95 % interval excludes 0, and the effect is at least {size}"
    if is_less and bound in (None, "upper"):
        return "does not hold", f"the 95 % interval contains no effect as large as {size}"
    if is_there or is_less:
        return "can't tell", CENSORED
    if low <= 0:
        return "can't tell", f"the 95 % interval contains both 0 and {size}"
    return "can't tell", f"the effect is smaller than {size}, but the 95 % interval contains it"


def null_answer(difference: Difference, margin: float, centre: float = 0.0) -> tuple[Answer, str]:
    """Decide whether a difference equals a centre within a margin; the answer with its reason."""
    assert difference.ci95 is not None
    low, high = (end - centre for end in difference.ci95)
    around = f"our margin, {centre:.4g} ± {margin:.3g}"
    is_within, is_above, is_below = -margin <= low and high <= margin, low > margin, high < -margin
    if is_within and difference.bound is None:
        return "holds", f"the 95 % interval lies within {around}"
    if (is_above and difference.bound in (None, "lower")) or (
        is_below and difference.bound in (None, "upper")
    ):
        return "does not hold", f"the 95 % interval lies outside {around}"
    if is_within or is_above or is_below:
        return "can't tell", CENSORED
    return "can't tell", f"the 95 % interval lies partly inside and partly outside {around}"


def _order_answer(
    criterion: Criterion, compared: Sequence[ArmDifference], differences: Sequence[Difference]
) -> tuple[Answer, str]:
    halves = [SHARE * each for each in criterion.published_differences or [0.0] * len(differences)]
    below = _corrected([_less(each, half, criterion) for each, half in zip(compared, halves, strict=True)])
    shorter = [each.difference for each in below if each.difference is not None]
    reversed_ = [each for each in shorter if _is_clear(each) and each.mean < 0]
    if any(each.bound in (None, "upper") for each in reversed_):
        smaller = ", or a difference below half of its published size" if criterion.published else ""
        return "does not hold", f"a pair has the opposite order{smaller} (p < .05, corrected)"
    if reversed_ or any(each.bound not in (None, "lower") for each in differences):
        return "can't tell", CENSORED
    unclear = sum(not (_is_clear(each) and each.mean > 0) for each in differences)
    too_small = sum(each.mean < half for each, half in zip(differences, halves, strict=True))
    if unclear:
        return "can't tell", f"{unclear} of {len(differences)} pairs do not differ significantly"
    if too_small:
        return "can't tell", f"{too_small} pairs differ by less than half of the published size"
    return "holds", f"all {len(differences)} pairs are in the claimed order (p < .05, corrected)"


def _less(compared: ArmDifference, amount: float, criterion: Criterion) -> ArmDifference:
    """Subtract an amount from a difference; with the new p-value."""
    first, second = compared.values
    less = first - amount
    difference = paired_difference(less - second) if criterion.paired else unpaired_difference(less, second)
    bound = None if compared.difference is None else compared.difference.bound
    return replace(compared, difference=replace(difference, bound=bound))


def _corrected(compared: Sequence[ArmDifference]) -> list[ArmDifference]:
    """Apply Holm's correction to differences."""
    after = iter(corrected(each.difference for each in compared if each.difference is not None))
    return [each if each.difference is None else replace(each, difference=next(after)) for each in compared]


def _is_clear(difference: Difference) -> bool:
    """Whether a difference is significant after the correction; without spread, whether it is not 0."""
    if difference.p_holm is not None:
        return difference.p_holm < ALPHA
    return difference.ci95 is not None and abs(difference.mean) >= NO_SPREAD


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictRow:
    """A claim in the list of verdicts."""

    claim: str
    """Name of the claim."""
    about: str
    """The claim in a line."""
    source: str
    """Authors and year."""
    rerun: Rerun
    """Whether a published figure decides, or a published direction with a threshold or margin of ours."""
    scope: Scope
    """The setting of the runs."""
    verdict: Verdict
    """The verdict on its runs."""
    answer: str = ""
    """Answer of the rule in the setting of the runs."""
    reason: str = ""
    """Reason of the answer."""
    effect: float | None = None
    """The first difference of its criterion; for several sizes, at the size nearest to the published size."""
    ci95: tuple[float, float] | None = None
    """95 % interval of the effect."""
    bound: Bound | None = None
    """Whether `effect` is a lower or upper bound of the true effect, as values are censored."""
    unit: str = ""
    """Unit and subject of the effect."""
    remark: str = ""
    """Size for which the effect is given, effects of the opposite sign at other sizes, and later corrections."""
    published: float | None = None
    """The published difference; None: only a direction was published."""
    published_bound: Bound | None = None
    """Whether `published` is a lower or upper bound of the true difference."""
    read_by_eye: float | None = None
    """Error of a published difference that was read from a figure by eye."""
    threshold: float | None = None
    """The minimum effect: half of the published one, or our threshold."""
    margin: float | None = None
    """Our half-width of the interval in which an effect counts as none, or as equal to the published one."""
    num_seeds: int = 0
    """Number of seeds of its runs, or of corpora."""
    replicates: Literal["seeds", "corpora"] = "seeds"
    """Unit over which intervals are computed."""
    hours: float | None = None
    """Hours of computing; measured by `--plan` for a claim that was not run."""

    @property
    def criterion(self) -> str:
        """The number that decides, and its origin."""
        parts = []
        if self.published is not None:
            eye = (
                "" if self.read_by_eye is None else f" ± {short(self.read_by_eye)}, read from a figure by eye"
            )
            parts.append(f"published: {MARKS[self.published_bound]}{short(self.published)}{eye}")
        elif self.threshold is not None:
            parts.append(f"our threshold: {short(self.threshold)}")
        if self.margin is not None:
            parts.append(f"our margin: ± {short(self.margin)}")
        return ", ".join(parts) or "no size was published"

    @property
    def sentence(self) -> str:
        """The claim with its verdict, the effect with its unit, and the number that decides."""
        why = f" ({self.reason})" if self.verdict == "can't tell" else ""
        if self.verdict == "not run":
            hours = "" if self.hours is None else f"; {duration_text(3600 * self.hours)} of one core"
            return f"{self.about}: not run ({self.criterion}{hours})."
        effect = "No effect could be measured"
        if self.effect is not None:
            effect = f"Effect {AT.get(self.bound, '')}{interval(self.effect, self.ci95).text}: {self.unit}"
        remark = f"; {self.remark}" if self.remark else ""
        over = f"{self.num_seeds} {self.replicates}"
        return f"{self.about}: {self.verdict}{why}. {effect}{remark}; {self.criterion}; {over}."


def verdict_row(claim: Claim, results: Path) -> VerdictRow:
    """Make the row of a claim, with the verdict on its results if their file exists.

    Raises:
        ConfigError: If keys that decide were changed after the runs, or the file can't be read.
    """
    criterion = claim.criterion
    published = criterion.published_differences
    row = VerdictRow(
        claim=claim.name,
        about=claim.about,
        source=author_year_of(claim.source.work),
        rerun=criterion.rerun,
        scope=claim.scope,
        verdict="not run",
        unit=claim.effect,
        published=published[0] if published else None,
        published_bound=criterion.published_bound,
        read_by_eye=criterion.read_by_eye,
        replicates="corpora" if claim.is_of_corpora else "seeds",
        threshold=None if criterion.margin is not None else criterion.least,
        margin=criterion.margin,
        hours=claim.hours,
    )
    file = results / f"{claim.name}.json"
    if not file.is_file():
        return row
    outcome = read_outcome(file)
    if outcome.digest != claim.digest or outcome.is_small:
        raise ConfigError(f"{file}: expected results of the current version of the claim {claim.name}")
    verdict, result = judge(claim, outcome.runs)
    found = [each.difference for each in result.compared]
    difference = found[0 if criterion.sizes is None else criterion.sizes.nearest]
    return replace(
        row,
        verdict=verdict,
        answer=result.answer,
        reason=result.reason,
        effect=None if difference is None else difference.mean,
        ci95=None if difference is None else difference.ci95,
        bound=None if difference is None else difference.bound,
        remark="; ".join(filter(None, (_sizes_remark(criterion, found), outdated_remark(claim)))),
        num_seeds=len(seeds_of(outcome.runs)),
        hours=round(outcome.hours, 2),
    )


def outdated_remark(claim: Claim) -> str:
    """Remark on corrections after the runs; empty: none."""
    return f"runs from before a correction: {claim.outdated}" if claim.outdated else ""


def _sizes_remark(criterion: Criterion, found: Sequence[Difference | None]) -> str:
    """The size of the reported effect, and effects of the opposite sign at other sizes."""
    sizes = criterion.sizes
    if sizes is None:
        return ""
    nearest = found[sizes.nearest]
    others = [
        f"{number(each.mean).text} at {size}"
        for size, each in zip(sizes.values, found, strict=True)
        if each is not None and nearest is not None and each.mean * nearest.mean < 0
    ]
    remark = (
        f"{sizes.setting}={sizes.values[sizes.nearest]}, the nearest to the published {sizes.published:,g}"
    )
    return f"{remark}; opposite sign: {', '.join(others)}" if others else remark


def all_verdicts(results: Path) -> list[VerdictRow]:
    """All shipped claims with the verdicts on their results in a folder; claims that were not run are last."""
    rows = [verdict_row(load_claim(name), results) for name in shipped_claims()]
    return sorted(rows, key=lambda row: (row.rerun == "direction re-run", row.verdict == "not run"))


def shipped_verdicts() -> list[VerdictRow]:
    """Read the shipped verdicts on all shipped claims."""
    content = resources.files(__package__).joinpath(FILE).read_bytes()
    return msgspec.json.decode(content, type=list[VerdictRow])


def verdicts_table(rows: Sequence[VerdictRow]) -> Table:
    """Make a table with a sentence per claim; CSV also has the figures."""
    columns = (
        Column("rerun", heading="kind", merges=True),
        name_column("claim"),
        Column("sentence", heading="verdict", wraps=True),
        Column("verdict", is_shown=False),
        number_column("effect", parts=("low", "high"), is_shown=False),
        number_column("published", is_shown=False),
        number_column("threshold", is_shown=False),
        number_column("margin", is_shown=False),
        number_column("seeds", is_shown=False),
        number_column("hours", is_shown=False),
    )
    return Table(
        columns=columns,
        rows=[
            row_of(
                row.rerun,
                row.claim,
                text(row.sentence, role=ROLES.get(row.verdict, "")),
                row.verdict,
                nothing() if row.effect is None else interval(row.effect, row.ci95),
                *(number(value) for value in (row.published, row.threshold, row.margin)),
                row.num_seeds or None,
                number(row.hours, 1),
            )
            for row in rows
        ],
    )


def summary(rows: Sequence[VerdictRow], *, is_short: bool = False) -> str:
    """Count the claims by verdict; the long form adds verdicts in other settings."""
    counts = Counter(row.verdict for row in rows)
    holds, fails, not_run = (counts[each] for each in ("holds", "does not hold", "not run"))
    undecided = len(rows) - holds - fails - not_run
    parts = (
        f"{holds} {'holds' if holds == 1 else 'hold'}, {fails} {'does' if fails == 1 else 'do'} not, {undecided} "
        f"{'is' if undecided == 1 else 'are'} undecided, {not_run} {'was' if not_run == 1 else 'were'} not run"
    )
    figures = sum(row.rerun == "figure re-run" for row in rows)
    kinds = f"{figures} are re-runs of published figures, the others of published directions"
    line = f"Of {len(rows)} published findings that we test again, {parts}; {kinds}"
    if is_short:
        return line
    elsewhere = [
        f"{number} {each.replace('does', 'do').replace('holds', 'hold') if number > 1 else each}"
        for each, number in counts.items()
        if " another " in each
    ]
    return f"{line}." + (f" Of the undecided findings, {', '.join(elsewhere)}." if elsewhere else "")
