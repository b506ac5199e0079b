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
from ecsuite.eval.xtreme.scoring.tables import num_languages
from ecsuite.eval.xtreme.scoring.task import Metrics, Task
from ecsuite.eval.xtreme.scoring.tasks import (
    TASKS,
    ByTask,
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
class Evaluation:
    """The scores of all evaluated tasks."""

    tasks: ByTask
    """Metrics by task and language, in the order of the paper's tables; at least one task."""
    chance: ByTask
    """The same metrics at chance level: of the best constant prediction."""
    unanswered: Mapping[str, Mapping[str, int]]
    """Number of questions without a predicted answer, which count as wrong, by task and language; only if above 0."""
    left_out: tuple[str, ...]
    """Tasks with predictions or labels only."""
    labels: str
    """Hash of all labels used."""

    @property
    def scores(self) -> dict[str, float]:
        """The score of each task: the mean over languages, in the metric of the task."""
        return {task: task_score(task, by_language) for task, by_language in self.tasks.items()}

    @property
    def groups(self) -> dict[str, float]:
        """Scores of groups of tasks, and the overall score; only groups with all their tasks."""
        return group_scores(self.scores)

    @property
    def sides(self) -> dict[str, Sides]:
        """By task, scores in English and in the other languages, and their gap."""
        return {task: sides(task, by_language) for task, by_language in self.tasks.items()}

    @property
    def average_gap(self) -> float | None:
        """The mean transfer gap of the paper's five tasks; None if one is missing."""
        return average_gap({task: both.gap for task, both in self.sides.items()})

    @property
    def missing(self) -> dict[str, list[str]]:
        """Languages of each task without scores."""
        return {
            task: [code for code in TASKS[task].languages if code not in by_language]
            for task, by_language in self.tasks.items()
        }

    @property
    def signature(self) -> str:
        """The scored tasks, languages and labels."""
        partial = []
        for task, missing in self.missing.items():
            scored = self.tasks[task]
            which = (
                f"only {' '.join(scored)}" if len(scored) < len(missing) else f"without {' '.join(missing)}"
            )
            partial += [f"{task} {num_languages(TASKS[task], scored)} {which}"] if missing else []
        return signature(
            "xtreme",
            VERSION,
            tasks="all" if len(self.tasks) == len(TASKS) else "+".join(self.tasks),
            languages="; ".join(partial) or "all",
            labels=self.labels,
        )

    def to_json(self) -> dict[str, Any]:
        """The results with the keys of the benchmark's program, and additional ones under `ecsuite`."""
        additional = {
            "signature": self.signature,
            "gap": {task: both.gap for task, both in self.sides.items()},
            "average_gap": self.average_gap,
            "gap_metric": {task: TASKS[task].main[0] for task in self.tasks},
            "english": {task: both.english for task, both in self.sides.items()},
            "others": {task: both.others for task, both in self.sides.items()},
            "chance": {task: task_score(task, by_language) for task, by_language in self.chance.items()},
            "tag_accuracy": {
                task: {language: metrics["accuracy"] for language, metrics in by_language.items()}
                for task, by_language in self.tasks.items()
                if TASKS[task].kind == "tagging"
            },
            "missing_languages": self.missing,
            "unanswered": {task: dict(numbers) for task, numbers in self.unanswered.items()},
            "left_out": list(self.left_out),
        }
        tasks = {}
        for task, by_language in self.tasks.items():
            metrics = TASKS[task].metrics
            tasks[task] = {
                **{metric: {code: each[metric] for code, each in by_language.items()} for metric in metrics},
                **{f"avg_{metric}": average(by_language, metric) for metric in metrics},
                "avg_metric": self.scores[task],
            }
        return {**self.groups, **tasks, "ecsuite": additional}


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
    scores: dict[str, dict[str, Metrics]] = {}
    chance: dict[str, dict[str, Metrics]] = {}
    unanswered: dict[str, dict[str, int]] = {}
    for name, task in TASKS.items():
        of_task = _languages_of(task, predictions, labels, languages) if name in predicted & labelled else ()
        for language in of_task:
            files = (_require_file(folder, task, language) for folder in (predictions, labels))
            answers, gold = task.read_submission(*files)
            digest.update(json.dumps([name, language, gold], ensure_ascii=False, default=sorted).encode())
            scores.setdefault(name, {})[language] = task.score(language, answers, gold)
            chance.setdefault(name, {})[language] = task.chance(language, gold)
            if task.kind == "questions" and (number := sum(each not in answers for each, _ in gold)):
                unanswered.setdefault(name, {})[language] = number
    return Evaluation(
        tasks=scores,
        chance=chance,
        unanswered=unanswered,
        left_out=tuple(task for task in TASKS if task in predicted ^ labelled),
        labels=digest.hexdigest()[:8],
    )


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
