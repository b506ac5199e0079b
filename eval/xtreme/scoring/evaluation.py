"""Evaluates a folder of predictions against a folder of labels, in the format of the benchmark's own program.

A folder has one subfolder per task with one file per language: `test-de.tsv`, for questions `test-de.json`, optionally
compressed (`.xz`, `.gz`).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.eval.metrics.score import signature
from ecsuite.eval.xtreme.scoring.task import Task
from ecsuite.eval.xtreme.scoring.tasks import (
    TASKS,
    ByLanguage,
    Sides,
    average,
    average_gap,
    group_scores,
    sides,
    task_score,
)
from ecsuite.formats.stored_text import ENDINGS
from ecsuite.runtime.errors import ConfigError, look_up

VERSION = 1
"""Incremented whenever the same files would give a different value."""
LANGUAGES = {
    "all": "every language of a task; a missing one is an error",
    "available": "the languages with predictions and labels",
}
"""Which languages are scored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """The scores of one task."""

    task: Task
    """The task."""
    by_language: ByLanguage
    """Metrics by language, in the order of the task."""
    chance: ByLanguage
    """The same metrics at chance level: of the best constant prediction."""
    unanswered: Mapping[str, int]
    """Number of questions without a predicted answer, which count as wrong, by language; only if above 0."""

    @property
    def score(self) -> float:
        """The mean over languages, in the metric of the task."""
        return task_score(self.task.name, self.by_language)

    @property
    def chance_score(self) -> float:
        """The same at chance level."""
        return task_score(self.task.name, self.chance)

    @property
    def sides(self) -> Sides:
        """Scores in English and in the other languages, and their gap."""
        return sides(self.task.name, self.by_language)

    @property
    def missing(self) -> tuple[str, ...]:
        """Languages of the task without scores."""
        return tuple(language for language in self.task.languages if language not in self.by_language)

    def to_json(self) -> dict[str, Any]:
        """The entry of the task in the results of the benchmark's program."""
        by_metric: dict[str, Any] = {
            metric: {language: metrics[metric] for language, metrics in self.by_language.items()}
            for metric in self.task.metrics
        }
        averages = {f"avg_{metric}": average(self.by_language, metric) for metric in self.task.metrics}
        return {**by_metric, **averages, "avg_metric": self.score}


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """The scores of all evaluated tasks."""

    tasks: Mapping[str, TaskResult]
    """By name, in the order of the paper's tables; at least one."""
    left_out: tuple[str, ...]
    """Tasks with predictions or labels only."""
    labels: str
    """Hash of all labels used."""

    @property
    def groups(self) -> dict[str, float]:
        """Scores of groups of tasks, and the overall score; only groups with all their tasks."""
        return group_scores({name: result.score for name, result in self.tasks.items()})

    @property
    def average_gap(self) -> float | None:
        """The mean transfer gap of the paper's five tasks; None if one is missing."""
        return average_gap({name: result.sides.gap for name, result in self.tasks.items()})

    @property
    def signature(self) -> str:
        """The scored tasks, languages and labels."""
        partial = [_describe_languages(result) for result in self.tasks.values() if result.missing]
        return signature(
            "xtreme",
            VERSION,
            tasks="all" if len(self.tasks) == len(TASKS) else "+".join(self.tasks),
            languages="; ".join(partial) or "all",
            labels=self.labels,
        )

    def to_json(self) -> dict[str, Any]:
        """The results with the keys of the benchmark's program, and additional ones under `ecsuite`."""
        tasks = self.tasks.items()
        additional = {
            "signature": self.signature,
            "gap": {name: result.sides.gap for name, result in tasks},
            "average_gap": self.average_gap,
            "gap_metric": {name: result.task.main[0] for name, result in tasks},
            "english": {name: result.sides.english for name, result in tasks},
            "others": {name: result.sides.others for name, result in tasks},
            "chance": {name: result.chance_score for name, result in tasks},
            "tag_accuracy": {
                name: {language: metrics["accuracy"] for language, metrics in result.by_language.items()}
                for name, result in tasks
                if result.task.kind == "tagging"
            },
            "missing_languages": {name: list(result.missing) for name, result in tasks},
            "unanswered": {name: dict(result.unanswered) for name, result in tasks if result.unanswered},
            "left_out": list(self.left_out),
        }
        return {**self.groups, **{name: result.to_json() for name, result in tasks}, "ecsuite": additional}


def evaluate(predictions: Path, labels: Path, languages: str = "all") -> Evaluation:
    """Score every task with a folder of predictions and a folder of labels.

    Args:
        predictions: The folder of predictions.
        labels: The folder of labels, with the same layout.
        languages: `all` or `available`.

    Raises:
        ConfigError: If there is no task, a language is missing, or a file is malformed.
    """
    look_up("choice of languages", languages, LANGUAGES)
    for folder in (predictions, labels):
        if not folder.is_dir():
            raise ConfigError(f"{folder}: expected a folder with one subfolder per task, such as udpos")
    predicted, labelled = (
        {task for task in TASKS if (folder / task).is_dir()} for folder in (predictions, labels)
    )
    if not predicted & labelled:
        raise ConfigError(
            f"{predictions} and {labels}: expected the folder of at least one task in both; tasks: {', '.join(TASKS)}"
        )
    digest = hashlib.sha256()
    results = {
        name: _evaluate_task(task, predictions, labels, languages, digest)
        for name, task in TASKS.items()
        if name in predicted & labelled
    }
    return Evaluation(
        tasks=results,
        left_out=tuple(task for task in TASKS if task in predicted ^ labelled),
        labels=digest.hexdigest()[:8],
    )


def _evaluate_task(
    task: Task, predictions: Path, labels: Path, languages: str, digest: "hashlib._Hash"
) -> TaskResult:
    """Score a task and add its labels to the digest."""
    by_language, chance, unanswered = {}, {}, {}
    for language in _languages_of(task, predictions, labels, languages):
        predicted, gold = task.read_submission(
            *(_require_file(folder, task, language) for folder in (predictions, labels))
        )
        read = json.dumps([task.name, language, gold], ensure_ascii=False, default=sorted)
        digest.update(read.encode())
        by_language[language] = task.score(language, predicted, gold)
        chance[language] = task.chance(language, gold)
        if task.kind == "questions" and (number := sum(name not in predicted for name, _ in gold)):
            unanswered[language] = number
    return TaskResult(task=task, by_language=by_language, chance=chance, unanswered=unanswered)


def _file(folder: Path, task: Task, language: str) -> Path | None:
    """The file of a language, plain or compressed; None if there is none."""
    files = (folder / task.name / f"test-{language}.{task.ending}{packed}" for packed in ENDINGS)
    return next((file for file in files if file.is_file()), None)


def _require_file(folder: Path, task: Task, language: str) -> Path:
    file = _file(folder, task, language)
    if file is None:
        raise ConfigError(
            f"{folder / task.name}/test-{language}.{task.ending}: no such file; "
            "`--languages available` scores the languages that have files"
        )
    return file


def _languages_of(task: Task, predictions: Path, labels: Path, languages: str) -> tuple[str, ...]:
    if languages == "all":
        return task.languages
    available = tuple(
        language
        for language in task.languages
        if all(_file(folder, task, language) for folder in (predictions, labels))
    )
    if not available:
        raise ConfigError(
            f"{predictions / task.name} and {labels / task.name}: expected predictions and labels of one language"
        )
    return available


def _describe_languages(result: TaskResult) -> str:
    """How many languages of a task were scored, and which."""
    scored, missing = tuple(result.by_language), result.missing
    which = f"only {' '.join(scored)}" if len(scored) < len(missing) else f"without {' '.join(missing)}"
    return f"{result.task.name} {len(scored)}/{len(result.task.languages)} {which}"
