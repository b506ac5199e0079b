"""Averages of scores: over languages, tasks and groups of tasks, and the cross-lingual transfer gap.

Scores of a task are `by_language[language][metric]`, 0 to 100.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ecsuite.eval.xtreme.scoring.tasks import TASKS

SOURCE = "en"
"""The training language of tasks."""

OF_AVERAGE_GAP = ("xnli", "pawsx", "xquad", "mlqa", "tydiqa")
"""The tasks over which the paper averages the gap (table 3)."""

Metrics = Mapping[str, float]
"""Metrics of one language."""
ByLanguage = Mapping[str, Metrics]
ByTask = Mapping[str, ByLanguage]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """A task's score in English and in other languages, in the metric of the transfer gap."""

    english: float | None
    """Score in English, the training language; None if it was not tested."""
    others: float | None
    """Mean score of the other languages; None if there are none."""

    @property
    def gap(self) -> float | None:
        """Transfer gap: English minus the mean of the others (section 4.3, table 3); None if one is missing.

        0 is no loss. It is also about 0 at chance level, so it must be read together with the scores.
        """
        return None if self.english is None or self.others is None else self.english - self.others


def mean(values: Iterable[float]) -> float:
    """The mean, summed in the given order, as in the benchmark's program."""
    values = list(values)
    return sum(values) / len(values)


def average(by_language: ByLanguage, metric: str) -> float:
    """A metric's mean over languages, English included."""
    return mean(metrics[metric] for metrics in by_language.values())


def task_score(task: str, by_language: ByLanguage) -> float:
    """The score of a task: the mean over its languages; for questions also over exact match and F1 (table 2)."""
    return mean(average(by_language, metric) for metric in TASKS[task].main)


def group_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """The means over all nine tasks, as `all_task`, and over those of each group; only groups with all their scores."""
    groups: dict[str, list[str]] = {"all_task": list(TASKS)}
    for task in TASKS.values():
        groups.setdefault(task.group, []).append(task.name)
    return {
        group: mean(scores[task] for task in tasks)
        for group, tasks in groups.items()
        if all(task in scores for task in tasks)
    }


def main_score(task: str, metrics: Metrics) -> float:
    """The score of one language; the score of a task is their mean."""
    return mean(metrics[metric] for metric in TASKS[task].main)


def gap_metric(task: str) -> str:
    """The metric of the transfer gap: exact match for questions, else the metric of the task."""
    return TASKS[task].main[0]


def sides(task: str, by_language: ByLanguage) -> Sides:
    """Scores in English and in the other languages, in the metric of the gap."""
    metric = gap_metric(task)
    others = [metrics[metric] for language, metrics in by_language.items() if language != SOURCE]
    return Sides(
        english=by_language[SOURCE][metric] if SOURCE in by_language else None,
        others=mean(others) if others else None,
    )


def average_gap(gaps: Mapping[str, float | None]) -> float | None:
    """The mean gap over the paper's five tasks (table 3); None if one is missing."""
    known = [gaps.get(task) for task in OF_AVERAGE_GAP]
    available_gaps = [gap for gap in known if gap is not None]
    return mean(available_gaps) if len(available_gaps) == len(known) else None
