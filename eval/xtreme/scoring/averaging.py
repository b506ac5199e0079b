"""Averages of scores: over languages, tasks and groups of tasks, and the cross-lingual transfer gap.

Scores of a task are `by_language[language][metric]`, 0 to 100.
"""

from collections.abc import Iterable, Mapping

from ecsuite.config import look_up
from ecsuite.eval.xtreme.scoring.tasks import TASKS

SOURCE = "en"
"""The training language of tasks."""

OF_AVERAGE_GAP = ("xnli", "pawsx", "xquad", "mlqa", "tydiqa")
"""The tasks over which the paper averages the gap (table 3)."""

ByLanguage = Mapping[str, Mapping[str, float]]
"""Metrics of each language."""


def mean(values: Iterable[float]) -> float:
    """The mean, summed in the given order, as in the benchmark's program."""
    values = list(values)
    return sum(values) / len(values)


def average(by_language: ByLanguage, metric: str) -> float:
    """A metric's mean over languages, English included."""
    return mean(metrics[metric] for metrics in by_language.values())


def task_score(task: str, by_language: ByLanguage) -> float:
    """The score of a task: the mean over its languages; for questions also over exact match and F1 (table 2).

    Raises:
        ConfigError: If there is no such task.
    """
    return mean(average(by_language, metric) for metric in look_up("task", task, TASKS).main)


def group_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """The means over the tasks of each group, and over all nine as `all_task`.

    Args:
        scores: Task scores by task.

    Returns:
        The overall score first; only groups with scores of all their tasks.
    """
    groups: dict[str, list[str]] = {"all_task": list(TASKS)}
    for task in TASKS.values():
        groups.setdefault(task.group, []).append(task.name)
    return {
        group: mean(scores[task] for task in tasks)
        for group, tasks in groups.items()
        if all(task in scores for task in tasks)
    }


def main_score(task: str, metrics: Mapping[str, float]) -> float:
    """The score of one language; the score of a task is their mean."""
    return mean(metrics[metric] for metric in look_up("task", task, TASKS).main)


def gap_metric(task: str) -> str:
    """The metric of the transfer gap: exact match for questions, else the metric of the task."""
    return look_up("task", task, TASKS).main[0]


def english_and_others(task: str, by_language: ByLanguage) -> tuple[float | None, float | None]:
    """Score in English and mean score of the other languages, in the metric of the gap; None if missing."""
    metric = gap_metric(task)
    others = [metrics[metric] for language, metrics in by_language.items() if language != SOURCE]
    english = by_language[SOURCE][metric] if SOURCE in by_language else None
    return english, mean(others) if others else None


def transfer_gap(task: str, by_language: ByLanguage) -> float | None:
    """Transfer gap: English minus the mean of the other languages (section 4.3, table 3).

    0 is no loss. It is also about 0 at chance level, so it must be read together with the scores.

    Returns:
        The gap; None if English or all other languages are missing, as in retrieval, which is not trained.
    """
    english, others = english_and_others(task, by_language)
    return None if english is None or others is None else english - others


def average_gap(gaps: Mapping[str, float | None]) -> float | None:
    """The mean gap over the paper's five tasks (table 3); None if one is missing."""
    known = [gaps.get(task) for task in OF_AVERAGE_GAP]
    available_gaps = [gap for gap in known if gap is not None]
    return mean(available_gaps) if len(available_gaps) == len(known) else None
