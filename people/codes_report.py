"""Report of a study of codes: Tables 2, 21 and 22 next to the paper's figures, tests, and learning curves."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from ecsuite.eval.statistics.estimates import Difference, corrected, unpaired_difference, with_effect
from ecsuite.eval.views.console import Report
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.curves import Curve, curves
from ecsuite.grammars.icy import canonical
from ecsuite.parts.config import packaged_yaml
from ecsuite.people.kinds import (
    ATTENTION,
    BLOCK,
    HELD_OUT,
    LANGUAGE,
    SIMULATED,
    TRAINING,
    Mean,
    Record,
    StudyKind,
    block_names,
    mean_cell,
    mean_notes,
    mean_of,
)
from ecsuite.people.study import Study
from ecsuite.tables.cells import INTERVAL, estimate, number, p_value, text
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

NUM_PERMUTATIONS = 9999
FEWEST = 2
"""Minimum number of participants per language for a test."""
COLUMNS = {"minutes": ("minutes", 1), "score": ("score", 0), "held_out_accuracy": ("held out", 2)}
"""Heading and number of digits of each measure of Tables 21 and 22."""
ACCEPT_FROM = 100
"""Minimum score for automatic acceptance in the paper; participants with a score of 0 are rejected (appendix K.4)."""
ALMOST_ALL = 0.9
"""Share of identical answers from which other participants are rejected: our reading of "almost the same answer"."""
_TABLES: Mapping[str, Any] = packaged_yaml("ecsuite.people", "published.yaml")

SOURCE: str = _TABLES["source"]
PUBLISHED: Mapping[tuple[str, str], Mapping[str, Any]] = {
    (dataset, grammar): dict(zip(_TABLES["columns"], figures, strict=True))
    for dataset in ("synth", "eng")
    for grammar, figures in _TABLES[dataset].items()
}
"""Published figures of the ICY paper by dataset and grammar: `participants`, and mean and half-width of `minutes`,
`score` and `held_out_accuracy`."""


def _by_score(record: Record, study: Study) -> str | None:
    if not record.has_finished:
        return "not finished"
    return "low score" if record.row["score"] < study.min_score else None


def _by_accuracy(record: Record, study: Study) -> str | None:
    if not record.has_finished:
        return "not finished"
    if not record.has_passed_attention:
        return "attention check"
    return "low accuracy" if (record.accuracy(TRAINING) or 0.0) < study.min_accuracy else None


RULES: dict[str, tuple[str, Callable[[Record, Study], str | None]]] = {
    "published": ("finished, score of at least {min_score:g} (the paper's rule)", _by_score),
    "preregistered": (
        "finished, passed the attention check, at least {min_accuracy:.0%} right of the unlocked objects",
        _by_accuracy,
    ),
}
"""Inclusion rules: the description, and a function that gives the reason for excluding a participant, or None."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConditionResult:
    """Results for a language and a dataset by one inclusion rule."""

    dataset: str
    grammar: str
    participants: int
    """Number of included participants."""
    left_out: Mapping[str, int]
    """Number of excluded participants by reason."""
    means: Mapping[str, Mean]
    """Means by measure; empty without participants."""
    curve: Sequence[float | None]
    """Share of right answers in each block of ten examples."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleResult:
    """Results by one inclusion rule."""

    rule: str
    conditions: Sequence[ConditionResult]
    differences: Sequence[Difference]
    """Differences in held-out accuracy between two languages of a dataset."""

    def as_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "rule": self.rule,
            "conditions": [asdict(condition) for condition in self.conditions],
            "differences": [difference.to_json() for difference in self.differences],
        }


def evaluate_rule(study: Study, records: Sequence[Record], rule: str) -> RuleResult:
    """Evaluate the participants that a rule includes.

    Args:
        study: The study.
        records: All participants.
        rule: `published` or `preregistered`.
    """
    reason = RULES[rule][1]
    kept: dict[tuple[str, str], list[Record]] = {}
    left_out: dict[tuple[str, str], dict[str, int]] = {}
    for record in records:
        condition = record.row["dataset"], record.grammar
        if (exclusion := reason(record, study)) is None:
            kept.setdefault(condition, []).append(record)
        else:
            counts = left_out.setdefault(condition, {})
            counts[exclusion] = counts.get(exclusion, 0) + 1
    conditions = [
        _condition(dataset, grammar, kept.get((dataset, grammar), []), left_out.get((dataset, grammar), {}))
        for dataset, grammar in ((dataset, canonical(grammar)) for dataset, grammar in study.conditions)
        if (dataset, grammar) in kept.keys() | left_out.keys()
    ]
    return RuleResult(rule=rule, conditions=conditions, differences=_differences(conditions, kept))


def _condition(
    dataset: str, grammar: str, records: Sequence[Record], left_out: Mapping[str, int]
) -> ConditionResult:
    values: dict[str, list[float | None]] = {
        "minutes": [record.minutes for record in records],
        "score": [float(record.row["score"]) for record in records],
        "held_out_accuracy": [record.accuracy(HELD_OUT) for record in records],
    }
    defined = {name: [each for each in of if each is not None] for name, of in values.items()}
    blocks: dict[int, list[int]] = {}
    for record in records:
        for answer in record.answers:
            if answer["kind"] != ATTENTION:
                blocks.setdefault(answer["example"] // BLOCK, []).append(answer["is_right"])
    return ConditionResult(
        dataset=dataset,
        grammar=grammar,
        participants=len(records),
        left_out=left_out,
        means={
            name: mean_of(of, are_shares=name == "held_out_accuracy") for name, of in defined.items() if of
        },
        curve=[sum(right) / len(right) for _, right in sorted(blocks.items())],
    )


def _differences(
    conditions: Sequence[ConditionResult], kept: Mapping[tuple[str, str], Sequence[Record]]
) -> list[Difference]:
    differences: list[Difference] = []
    for first, second in combinations(conditions, 2):
        if first.dataset != second.dataset or min(first.participants, second.participants) < FEWEST:
            continue
        samples = [
            np.array([each.accuracy(HELD_OUT) or 0.0 for each in kept[condition.dataset, condition.grammar]])
            for condition in (first, second)
        ]
        welch = with_effect(unpaired_difference(*samples), *samples)
        differences.append(
            replace(
                welch,
                source=first.grammar,
                baseline=second.grammar,
                p_value=permutation_p(*samples),
                basis="permutations of participants",
                details={"dataset": first.dataset},
            )
        )
    return corrected(differences)


def permutation_p(first: Any, second: Any) -> float:
    """Two-sided p-value of a permutation test of the means of two groups of participants."""
    if not np.ptp(np.concatenate([first, second])):
        return 1.0
    tested = stats.permutation_test(
        (first, second),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        n_resamples=NUM_PERMUTATIONS,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(tested.pvalue)


def acceptance(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Accept or reject all participants who finished, by the rule of appendix K.4; JSON-ready.

    Participants with a score of at least 100 are accepted, with 0 rejected. In between, participants who gave the same
    answer to almost all examples are rejected.
    """
    rows = []
    for record in (each for each in records if each.has_finished):
        typed = Counter(
            "".join(answer["typed"].split()).lower()
            for answer in record.answers
            if answer["kind"] != ATTENTION
        )
        score, share = record.row["score"], max(typed.values(), default=0) / max(1, typed.total())
        is_accepted = score >= ACCEPT_FROM or (score > 0 and share < ALMOST_ALL)
        rows.append(
            {
                "participant": record.name,
                "dataset": record.row["dataset"],
                "grammar": record.grammar,
                "score": score,
                "same_answer": share,
                "decision": "accepted" if is_accepted else "rejected",
            }
        )
    return rows


def acceptance_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Table with one row per participant: score, share of the most frequent answer, and the decision."""
    columns = (
        name_column("participant"),
        Column("dataset"),
        Column("grammar", heading="language"),
        number_column("score"),
        number_column("same_answer", "same answer"),
        Column("decision"),
    )
    shown = [
        row_of(
            row["participant"],
            row["dataset"],
            row["grammar"],
            number(row["score"]),
            number(row["same_answer"], 2),
            row["decision"],
        )
        for row in rows
    ]
    note = (
        f"accepted from a score of {ACCEPT_FROM}, rejected at 0; in between, rejected if at least {ALMOST_ALL:.0%} of "
        "the answers are the same (appendix K.4, which inspects these by hand)"
    )
    return Table(columns=columns, rows=shown, title="Participants to accept or reject", notes=(note,))


def codes_report(kind: StudyKind, records: Sequence[Record]) -> Report:
    """Make the report of a study of codes."""
    results = [evaluate_rule(kind.study, records, rule) for rule in RULES]
    decisions = acceptance(records)
    content = {
        "source_of_published": SOURCE,
        "rules": [result.as_json() for result in results],
        "acceptance": decisions,
    }
    return Report(
        tables=[*report_tables(kind.study, results), *([acceptance_table(decisions)] if decisions else [])],
        notes=(),
        data=kind.result(content),
        draw=partial(_draw, kind.study, results[-1]),
    )


def report_tables(study: Study, results: Sequence[RuleResult]) -> list[Table]:
    """Tables of means, tests between languages and learning curves for each inclusion rule.

    Args:
        study: The study.
        results: Results by rule.
    """
    settings = {"min_score": study.min_score, "min_accuracy": study.min_accuracy}
    tables = []
    for result in results:
        rule = f"inclusion rule {result.rule}: {RULES[result.rule][0].format(**settings)}"
        title = f"Study {study.name}, protocol {study.protocol}; {rule}"
        tables.append(_means(study, result.conditions, title))
        tables += [_tests(result)] if result.differences else []
        tables += [_curves(result.conditions)] if result.conditions else []
    return tables


def _means(study: Study, conditions: Sequence[ConditionResult], title: str) -> Table:
    """Tables 21 and 22, with Table 2 as the last column, and the paper's figures below ours."""
    columns = [*LANGUAGE, Column("origin", heading=""), number_column("N")]
    columns += [number_column(name, heading, parts=INTERVAL) for name, (heading, _) in COLUMNS.items()]
    rows = []
    for each in conditions:
        figures = PUBLISHED.get((each.dataset, each.grammar))
        has_published = figures is not None and not study.simulated
        cells = [
            mean_cell(each.means.get(name), digits, (0.0, 1.0) if name == "held_out_accuracy" else None)
            for name, (_, digits) in COLUMNS.items()
        ]
        about = (each.dataset, each.grammar)
        rows.append(row_of(*about, "here", each.participants, *cells, ends_section=not has_published))
        if figures is not None and has_published:
            # Published figures keep the paper's digits.
            published = [
                replace(estimate(mean, half_width), lines=(f"{mean} ± {half_width}",))
                for mean, half_width in map(figures.__getitem__, COLUMNS)
            ]
            cells = [text("paper"), number(figures["participants"]), *published]
            rows.append(row_of(*about, *cells, role="dim", ends_section=True))
    means = [mean for each in conditions for mean in each.means.values()]
    notes = mean_notes("mean", "held out: accuracy on held-out objects", means)
    notes.append(SIMULATED if study.simulated else f"paper: {SOURCE}")
    reasons = Counter[str]()
    for each in conditions:
        reasons.update(each.left_out)
    left_out = [f"{count} {reason}" for reason, count in sorted(reasons.items())]
    notes += [f"left out: {', '.join(left_out)}"] if left_out else []
    notes += [] if conditions else ["no participants yet"]
    return Table(columns=columns, rows=rows, title=title, notes=notes)


def _tests(result: RuleResult) -> Table:
    columns = (
        name_column("dataset", merges=True),
        name_column("source", "language"),
        name_column("baseline", "minus"),
        number_column("difference"),
        number_column("p"),
        number_column("corrected"),
    )
    rows = [
        row_of(
            str(each.details["dataset"]),
            each.source,
            each.baseline,
            number(each.mean, 2),
            p_value(each.p_value),
            p_value(each.p_holm),
        )
        for each in result.differences
    ]
    title = (
        "Held-out accuracy between languages (permutation test of participants; p after Holm's correction)"
    )
    return Table(columns=columns, rows=rows, title=title)


def _curves(conditions: Sequence[ConditionResult]) -> Table:
    num_blocks = max(len(each.curve) for each in conditions)
    columns = [*LANGUAGE, *map(number_column, block_names(num_blocks))]
    rows = [
        row_of(
            each.dataset,
            each.grammar,
            *(number(value, 2) for value in [*each.curve, *[None] * (num_blocks - len(each.curve))]),
        )
        for each in conditions
    ]
    return Table(columns=columns, rows=rows, title=f"Share of right answers by {BLOCK} examples")


def _draw(study: Study, result: RuleResult, file: Path) -> None:
    """Plot the learning curves, one panel per dataset and one line per language."""
    lines = [
        Curve(
            x=[BLOCK * (block + 1) for block in range(len(each.curve))],
            y=each.curve,
            name=f"{each.dataset} {each.grammar} (N={each.participants})",
            panel=f"{each.dataset}{' (simulated)' if study.simulated else ''}",
        )
        for dataset in study.datasets
        for each in result.conditions
        if each.dataset == dataset and each.curve
    ]
    save(curves(lines, x="examples", y="share of right answers", limits=(0, 1)), file)
