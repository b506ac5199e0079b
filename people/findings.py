"""What a study found: means with 95 % intervals, tests between the languages, and learning curves."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from ecsuite.eval.statistics.differences import Difference, corrected, unpaired_difference, with_effect
from ecsuite.eval.statistics.estimates import mean_and_half_width
from ecsuite.people.game import ATTENTION, HELD_OUT
from ecsuite.people.records import RULES, Record
from ecsuite.people.study import Study

BLOCK = 10
"""Examples of a point of a learning curve."""
NUM_PERMUTATIONS = 9999
FEWEST = 2
"""Fewest participants of a language for a test."""
MEASURES = ("minutes", "score", "held_out_accuracy")
"""The columns of Tables 21 and 22."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mean:
    """A mean over participants."""

    mean: float
    half_width: float | None
    """Half the width of its 95 % interval (Student's); None for one participant."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """A language in a dataset, by one rule of who counts."""

    dataset: str
    grammar: str
    participants: int
    """How many count."""
    left_out: Mapping[str, int]
    """How many do not, by reason."""
    means: Mapping[str, Mean]
    """By measure; empty without participants."""
    curve: Sequence[float | None]
    """Share of right answers in each block of ten examples."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """All of one rule."""

    rule: str
    conditions: Sequence[Condition]
    differences: Sequence[Difference]
    """Of two languages: the share of held-out codes that participants know, in one dataset."""

    def as_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "rule": self.rule,
            "conditions": [asdict(condition) for condition in self.conditions],
            "differences": [difference.to_json() for difference in self.differences],
        }


def find(study: Study, records: Sequence[Record], rule: str) -> Findings:
    """What the participants that a rule keeps did.

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
        if (why := reason(record, study)) is None:
            kept.setdefault(condition, []).append(record)
        else:
            counts = left_out.setdefault(condition, {})
            counts[why] = counts.get(why, 0) + 1
    conditions = [
        _condition(dataset, grammar, kept.get((dataset, grammar), []), left_out.get((dataset, grammar), {}))
        for dataset, grammar in _in_order(study, kept.keys() | left_out.keys())
    ]
    return Findings(rule=rule, conditions=conditions, differences=_differences(conditions, kept))


def _in_order(study: Study, found: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """The conditions in the order of the study file."""
    from ecsuite.grammars.icy import canonical

    ordered = [(dataset, canonical(grammar)) for dataset, grammar in study.conditions]
    return [each for each in ordered if each in found]


def _condition(
    dataset: str, grammar: str, records: Sequence[Record], left_out: Mapping[str, int]
) -> Condition:
    means = {}
    for measure in MEASURES:
        if values := [value for each in records if (value := _measured(each, measure)) is not None]:
            mean, half_width = mean_and_half_width(values)
            means[measure] = Mean(mean=mean, half_width=half_width)
    return Condition(
        dataset=dataset,
        grammar=grammar,
        participants=len(records),
        left_out=left_out,
        means=means,
        curve=_curve(records),
    )


def _measured(record: Record, measure: str) -> float | None:
    if measure == "minutes":
        return record.minutes
    if measure == "score":
        return float(record.row["score"])
    return record.accuracy(HELD_OUT)


def _curve(records: Sequence[Record]) -> list[float | None]:
    blocks: dict[int, list[int]] = {}
    for record in records:
        for answer in record.answers:
            if answer["kind"] != ATTENTION:
                blocks.setdefault(answer["example"] // BLOCK, []).append(answer["is_right"])
    return [sum(right) / len(right) for _, right in sorted(blocks.items())]


def _differences(
    conditions: Sequence[Condition], kept: Mapping[tuple[str, str], Sequence[Record]]
) -> list[Difference]:
    found: list[Difference] = []
    for first, second in combinations(conditions, 2):
        if first.dataset != second.dataset or min(first.participants, second.participants) < FEWEST:
            continue
        samples = [
            np.array([each.accuracy(HELD_OUT) or 0.0 for each in kept[condition.dataset, condition.grammar]])
            for condition in (first, second)
        ]
        welch = with_effect(unpaired_difference(*samples), *samples)
        found.append(
            replace(
                welch,
                source=first.grammar,
                baseline=second.grammar,
                p_value=permutation_p(*samples),
                basis="permutations of participants",
                details={"dataset": first.dataset},
            )
        )
    return corrected(found)


def permutation_p(first: Any, second: Any) -> float:
    """Two-sided p-value that two groups of participants are of one population: a permutation test of their means."""
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
