"""Averages of scores: over languages, tasks and groups of tasks, and the cross-lingual transfer gap.

Scores of a task are `by_language[language][metric]`, 0 to 100.
"""

from collections.abc import Iterable, Mapping

from ecsuite.config import look_up
from ecsuite.eval.xtreme.scoring.tasks import TASKS

SOURCE = "en"
"""The language in which tasks are learnt."""

OF_AVERAGE_GAP = ("xnli", "pawsx", "xquad", "mlqa", "tydiqa")
"""The tasks over which the paper averages the gap (table 3)."""

ByLanguage = Mapping[str, Mapping[str, float]]
"""Metrics of each language."""


def mean(values: Iterable[float]) -> float:
    """The plain mean, added up in the order given, as the benchmark's program does."""
    values = list(values)
    return sum(values) / len(values)


def average(by_language: ByLanguage, metric: str) -> float:
    """A metric's mean over languages, English included."""
    return mean(metrics[metric] for metrics in by_language.values())


def task_score(task: str, by_language: ByLanguage) -> float:
    """The score of a task: the mean over its languages, for questions of exact match and F1 (table 2).

    Raises:
        ConfigError: If there is no such task.
    """
    return mean(average(by_language, metric) for metric in look_up("task", task, TASKS).main)


def group_scores(scores: Mapping[str, float]) -> dict[str, float]:
    """The means over the tasks of each group, and over all nine as `all_task`.

    Args:
        scores: Task scores by task.

    Returns:
        The overall score first; only what has all its tasks.
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
    """The score of one language, of which the task's score is the mean."""
    return mean(metrics[metric] for metric in look_up("task", task, TASKS).main)


def gap_metric(task: str) -> str:
    """The metric of the transfer gap: for questions exact match, else the task's own."""
    return look_up("task", task, TASKS).main[0]


def english_and_others(task: str, by_language: ByLanguage) -> tuple[float | None, float | None]:
    """English and the mean of the other languages in the metric of the gap; None for what is not there."""
    metric = gap_metric(task)
    others = [metrics[metric] for language, metrics in by_language.items() if language != SOURCE]
    english = by_language[SOURCE][metric] if SOURCE in by_language else None
    return english, mean(others) if others else None


def transfer_gap(task: str, by_language: ByLanguage) -> float | None:
    """How much is lost in transfer: English less the mean of the other languages (section 4.3, table 3).

    0 is no loss. It is as small for a model that has learnt nothing, so it tells something only beside the scores.

    Returns:
        None where English or all other languages are missing, as in retrieval, which is not learnt.
    """
    english, others = english_and_others(task, by_language)
    return None if english is None or others is None else english - others


def average_gap(gaps: Mapping[str, float | None]) -> float | None:
    """The mean gap over the paper's five tasks (table 3); None where one is missing."""
    known = [gaps.get(task) for task in OF_AVERAGE_GAP]
    there = [gap for gap in known if gap is not None]
    return mean(there) if len(there) == len(known) else None
