"""The nine tasks of XTREME (Hu et al. 2020, table 1), averages over languages, tasks and groups, and cells of tables.

Scores of a task are `by_language[language][metric]`, 0 to 100.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.xtreme.scoring import ENTRIES
from ecsuite.eval.xtreme.scoring.bitexts import Bucc, Tatoeba
from ecsuite.eval.xtreme.scoring.labels import PairTask, Tagging
from ecsuite.eval.xtreme.scoring.questions import Questions
from ecsuite.eval.xtreme.scoring.task import ENGLISH, Metrics, XtremeTask
from ecsuite.tables.cells import Cell, number
from ecsuite.tables.table import Column, name_column

KINDS: Mapping[str, type[XtremeTask]] = {
    "pairs": PairTask,
    "tagging": Tagging,
    "questions": Questions,
    "bucc": Bucc,
    "tatoeba": Tatoeba,
}
"""Classes of tasks by the name in `tasks.yaml`."""
TASKS: Mapping[str, XtremeTask] = {
    name: msgspec.convert({"name": name, **entry}, KINDS[entry["kind"]]) for name, entry in ENTRIES.items()
}
"""Tasks by name, in the order of the paper's tables."""
METRIC_TITLES = {"accuracy": "accuracy", "f1": "F1", "exact_match": "EM"}
"""Names of metrics in tables."""
MINED = "bucc2018"
"""The retrieval task in which most sentences have no translation, so pairs are mined."""
OF_AVERAGE_GAP = ("xnli", "pawsx", "xquad", "mlqa", "tydiqa")
"""Tasks over which the paper averages the gap (table 3)."""

ByLanguage = Mapping[str, Metrics]
ByTask = Mapping[str, ByLanguage]


@dataclass(frozen=True, kw_only=True, slots=True)
class EnglishVsOthers:
    """A task's score in English and in other languages, in the metric of the transfer gap."""

    english: float | None = None
    """Score in English, the training language; None if it was not tested."""
    others: float | None = None
    """Mean score of the other languages; None without other languages."""

    @property
    def gap(self) -> float | None:
        """Transfer gap: English minus the mean of the others (section 4.3, table 3); None if one is missing.

        A gap of 0 is no loss. It is also about 0 at chance level, so read it together with the scores.
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
    """The means over all nine tasks, as `all_task`, and over the tasks of each group; only groups with all scores."""
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


def sides(task: str, by_language: ByLanguage) -> EnglishVsOthers:
    """Scores in English and in the other languages, in the metric of the gap: exact match for questions."""
    metric = TASKS[task].main[0]
    others = [metrics[metric] for language, metrics in by_language.items() if language != ENGLISH]
    return EnglishVsOthers(
        english=by_language[ENGLISH][metric] if ENGLISH in by_language else None,
        others=mean(others) if others else None,
    )


def metric_titles(task: str) -> str:
    """The metrics of a task's score, such as `EM and F1`."""
    return " and ".join(METRIC_TITLES[metric] for metric in TASKS[task].main)


def average_gap(gaps: Mapping[str, float | None]) -> float | None:
    """The mean gap over the paper's five tasks (table 3); None if one is missing."""
    available = [gap for task in OF_AVERAGE_GAP if (gap := gaps.get(task)) is not None]
    return mean(available) if len(available) == len(OF_AVERAGE_GAP) else None


LANGUAGE_COLUMNS = (name_column("code", ""), Column("language"), Column("family"), Column("script"))
"""The columns of `language_cells`."""


def language_cells(code: str) -> tuple[str, str, str, str]:
    """Code, name, family and script; empty strings if unknown."""
    language = LANGUAGES.get(code)
    return (code, language.name, language.family, language.script) if language else (code, "", "", "")


def by_family(codes: Iterable[str]) -> list[str]:
    """Languages ordered by family."""
    return sorted(codes, key=lambda code: (language_cells(code)[2], code))


def points(value: float | None) -> Cell:
    """A score, 0 to 100."""
    return number(value, 1)


def num_languages(task: XtremeTask, codes: Collection[str]) -> str:
    """Number of scored languages of a task, such as 33 or 31/33."""
    whole = len(task.languages)
    return str(len(codes)) if set(codes) >= set(task.languages) else f"{len(codes)}/{whole}"
