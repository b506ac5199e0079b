"""Evaluate a folder of predictions against a folder of labels, and baselines without a model; their tables and JSON.

The format is the one of the benchmark's own program: a folder has one subfolder per task with one file per language:
`test-de.tsv`, for questions `test-de.json`, optionally compressed (`.xz`, `.gz`).
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.metrics.score import Signature
from ecsuite.eval.views.console import Report
from ecsuite.eval.xtreme.scoring.analyses import PUBLISHED, Analyses, Answers, published_tables
from ecsuite.eval.xtreme.scoring.task import Metrics, XtremeTask
from ecsuite.eval.xtreme.scoring.tasks import (
    LANGUAGE_COLUMNS,
    METRIC_TITLES,
    MINED,
    TASKS,
    ByTask,
    EnglishVsOthers,
    average,
    average_gap,
    by_family,
    group_scores,
    language_cells,
    main_score,
    num_languages,
    points,
    sides,
    task_score,
)
from ecsuite.files.atomic_files import write_if_changed
from ecsuite.formats.stored_text import ENDINGS
from ecsuite.runtime.errors import ConfigError, look_up
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

VERSION = 1
"""Incremented whenever the same files would give a different value."""
LANGUAGE_CHOICES = {
    "all": "every language of a task; a missing one is an error",
    "available": "the languages with predictions and labels",
}
"""Choices of the scored languages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmissionScores:
    """The scores of all evaluated tasks."""

    tasks: ByTask
    """Metrics by task and language, in the order of the paper's tables; at least one task."""
    chance: ByTask
    """Metrics at chance level: the best constant prediction."""
    unanswered: Mapping[str, Mapping[str, int]]
    """Number of questions without a predicted answer, which count as wrong, by task and language; only if above 0."""
    left_out: tuple[str, ...]
    """Tasks with predictions or labels only."""
    labels: str
    """Hash of all labels used."""
    answers: Answers
    """Predictions and labels by task and language."""

    @property
    def scores(self) -> dict[str, float]:
        """The score of each task: the mean over languages, in the metric of the task."""
        return {task: task_score(task, by_language) for task, by_language in self.tasks.items()}

    @property
    def groups(self) -> dict[str, float]:
        """Scores of groups of tasks, and the overall score; only groups with all their tasks."""
        return group_scores(self.scores)

    @property
    def sides(self) -> dict[str, EnglishVsOthers]:
        """Scores in English and in the other languages with their gap, by task."""
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
        return Signature.of(
            "xtreme",
            VERSION,
            tasks="all" if len(self.tasks) == len(TASKS) else "+".join(self.tasks),
            languages="; ".join(partial) or "all",
            labels=self.labels,
        )

    def to_json(self) -> dict[str, Any]:
        """The results with the keys of the benchmark's program, and additional keys under `ecsuite`."""
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


def evaluate(predictions: Path, labels: Path, languages: str = "all") -> SubmissionScores:
    """Score every task with a folder of predictions and a folder of labels.

    Args:
        predictions: The folder of predictions.
        labels: The folder of labels, with the same layout.
        languages: `all` or `available`.

    Raises:
        ConfigError: If there is no task, a language is missing, or a file is malformed.
    """
    look_up("choice of languages", languages, LANGUAGE_CHOICES)
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
    kept: dict[str, dict[str, tuple[Any, Any]]] = {}
    for name, task in TASKS.items():
        of_task = _languages_of(task, predictions, labels, languages) if name in predicted & labelled else ()
        for language in of_task:
            files = (_require_file(folder, task, language) for folder in (predictions, labels))
            answers, gold = task.read_submission(*files)
            digest.update(json.dumps([name, language, gold], ensure_ascii=False, default=sorted).encode())
            kept.setdefault(name, {})[language] = answers, gold
            scores.setdefault(name, {})[language] = task.score(language, answers, gold)
            chance.setdefault(name, {})[language] = task.chance(language, gold)
            if task.kind == "questions" and (number := sum(each not in answers for each, _ in gold)):
                unanswered.setdefault(name, {})[language] = number
    return SubmissionScores(
        tasks=scores,
        chance=chance,
        unanswered=unanswered,
        left_out=tuple(task for task in TASKS if task in predicted ^ labelled),
        labels=digest.hexdigest()[:8],
        answers=kept,
    )


def _file(folder: Path, task: XtremeTask, language: str) -> Path | None:
    """The file of a language, plain or compressed; None if there is none."""
    files = (folder / task.name / f"test-{language}.{task.ending}{packed}" for packed in ENDINGS)
    return next((file for file in files if file.is_file()), None)


def _require_file(folder: Path, task: XtremeTask, language: str) -> Path:
    file = _file(folder, task, language)
    if file is None:
        raise ConfigError(
            f"{folder / task.name}/test-{language}.{task.ending}: no such file; "
            "`--languages available` scores the languages that have files"
        )
    return file


def _languages_of(task: XtremeTask, predictions: Path, labels: Path, languages: str) -> tuple[str, ...]:
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


def write_submission(folder: Path, task: XtremeTask, language: str, predictions: Any, labels: Any) -> None:
    """Write predictions and labels of a language, as `evaluate` reads them.

    Args:
        folder: Parent of the written folders `predictions` and `labels`.
        task: The task.
        language: Code of the language.
        predictions: As for `XtremeTask.score`, or a list of pairs of names.
        labels: As from `XtremeTask.labels`.
    """
    for side, values in (("predictions", predictions), ("labels", labels)):
        if task.kind == "questions":
            questions = [
                {"id": name, "answers": [{"text": text, "answer_start": 0} for text in texts]}
                for name, texts in (values if side == "labels" else ())
            ]
            stored = {"data": [{"paragraphs": [{"qas": questions}]}]} if side == "labels" else values
            text = json.dumps(stored, ensure_ascii=False)
        elif task.kind == "tagging":
            text = "\n".join("".join(f"{tag}\n" for tag in tags) for tags in values)
        elif task.name == MINED:
            text = "".join(f"{source}\t{target}\n" for source, target in sorted(map(tuple, values)))
        else:
            text = "".join(f"{value}\n" for value in values)
        file = folder / side / task.name / f"test-{language}.{task.ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_if_changed(file, text.encode())


GROUPS = {
    "classification": "classification",
    "tagging": "tagging",
    "qa": "question answering",
    "retrieval": "retrieval",
    "all_task": "all nine tasks",
}
"""Titles of groups in tables, in order."""


PUBLISHED_NOTES = (
    "MMTE is closed: neither its weights nor its data were published.",
    "Published question answering: scores F1 / EM, gaps EM. That of translate-test is not directly comparable: a few "
    "questions were left out, and answers are aligned in English.",
)
"""Notes for readers of the published scores."""


def published_report() -> Report:
    """Report of the published scores only."""
    return Report(tables=published_tables(), notes=PUBLISHED_NOTES, data={"published": PUBLISHED})


def report(
    evaluation: SubmissionScores,
    *,
    by_language: bool,
    analyses: Analyses | None = None,
    has_published: bool = False,
) -> Report:
    """Scores by task and group; with `by_language` also by language; analyses, and the published scores."""
    tables = [_summary(evaluation), *([_by_language(evaluation)] if by_language else [])]
    notes, data = _notes(evaluation), evaluation.to_json()
    if analyses is not None:
        tables += analyses.tables()
        data["ecsuite"]["analyses"] = analyses.to_json()
    if has_published:
        gaps = {task: both.gap for task, both in evaluation.sides.items()}
        tables += published_tables(evaluation.scores, gaps)
        data["ecsuite"]["published"] = PUBLISHED
        notes = [*PUBLISHED_NOTES, "Question answering of the predictions: the mean of F1 and EM.", *notes]
    draw = None if analyses is None else analyses.draw
    return Report(tables=tables, notes=tuple(notes), data=data, draw=draw)


def _summary(evaluation: SubmissionScores) -> Table:
    """One row per task, then one row per group."""
    rows = []
    for name, by_language in evaluation.tasks.items():
        task, sides = TASKS[name], evaluation.sides[name]
        chance = task_score(name, evaluation.chance[name])
        figures = (evaluation.scores[name], sides.english, sides.others, sides.gap, chance)
        metrics = ", ".join(METRIC_TITLES[metric] for metric in task.main)
        languages, is_last = num_languages(task, by_language), name == list(evaluation.tasks)[-1]
        rows.append(row_of(task.title, languages, metrics, *map(points, figures), ends_section=is_last))
    for group, title in GROUPS.items():
        if group in evaluation.groups:
            rows.append(row_of(title, None, None, points(evaluation.groups[group]), None, None, None, None))
    columns = (name_column("task"), Column("languages", align="right"), Column("metric"))
    names = ("score", "English", "others", "gap", "chance")
    return Table(columns=(*columns, *map(number_column, names)), rows=rows)


def _by_language(evaluation: SubmissionScores) -> Table:
    """One row per language, grouped by family; one column per task."""
    tasks = evaluation.tasks
    rows = [
        row_of(
            *language_cells(code),
            *(points(main_score(name, each[code]) if code in each else None) for name, each in tasks.items()),
        )
        for code in by_family({code for by_language in tasks.values() for code in by_language})
    ]
    columns = [number_column(name, TASKS[name].short_title or TASKS[name].title) for name in tasks]
    return Table(columns=(*LANGUAGE_COLUMNS, *columns), rows=rows)


def _notes(evaluation: SubmissionScores) -> list[str]:
    """Notes for readers of the tables; the signature is last."""
    tasks = [(TASKS[name], by_language) for name, by_language in evaluation.tasks.items()]
    lines = ["gap: English minus the mean of the others; it is also about 0 at chance level."]
    if any(task.kind == "questions" for task, _ in tasks):
        lines.append("Questions: the score is the mean of EM and F1; English, others and gap are EM only.")
    for task, by_language in tasks:
        if task.kind == "tagging":
            accuracy = average(by_language, "accuracy")
            lines.append(f"{task.title}: F1 of tag spans (seqeval 0.0.12); tag accuracy {accuracy:.1f} %.")
    if evaluation.average_gap is not None:
        lines.append(f"Average gap of XNLI, PAWS-X and question answering: {evaluation.average_gap:.1f}.")
    for task, by_language in tasks:
        if missing := evaluation.missing[task.name]:
            lines.append(
                f"{task.title}: {num_languages(task, by_language)} languages, so not comparable with published scores; "
                f"missing: {' '.join(missing)}."
            )
    for name, numbers in evaluation.unanswered.items():
        shown = ", ".join(f"{language} {number:,}" for language, number in numbers.items())
        lines.append(f"{TASKS[name].title}: questions without an answer, which count as wrong: {shown}.")
    if evaluation.left_out:
        lines.append(f"Left out, as predictions or labels are missing: {', '.join(evaluation.left_out)}.")
    return [*lines, evaluation.signature]


BASELINES_VERSION = 1
"""Incremented whenever the same data would give a different value."""


def baseline_report(
    folder: Path,
    tasks: Sequence[str],
    languages: Sequence[str],
    progress: Callable[[str, float, float], None],
) -> Report:
    """Score the strongest baseline of each task.

    Args:
        folder: The data folder.
        tasks: Names in `TASKS`.
        languages: Codes; empty for all languages of a task with labels.
        progress: Called as `progress(label, done, total)`.

    Raises:
        ConfigError: If a name is unknown, or data are missing or malformed.
    """
    for language in languages:
        look_up("language", language, LANGUAGES)
    scored: dict[str, dict[str, dict[str, Any]]] = {}
    for number, name in enumerate(tasks):
        task = look_up("task", name, TASKS)
        predict = task.fit_baseline(folder)
        for language in languages or task.languages:
            split = task.scored_split(folder, language)
            if split is None:
                continue
            examples = task.read(folder, language, split)
            labels = task.labels(examples)
            scored.setdefault(name, {})[language] = {
                "split": split,
                "metrics": task.score(language, predict(examples), labels),
                "chance": task.chance(language, labels),
            }
            progress(f"{name} in {language}", number + len(scored[name]) / 50, len(tasks))
    names = {task: next(iter(TASKS[task].baselines)) for task in scored}
    line = Signature.of(
        "xtreme-baselines",
        BASELINES_VERSION,
        **{task: name.replace(" ", "-") for task, name in names.items()},
    )
    missing = [f"{TASKS[task].title}: no labels in any language." for task in tasks if task not in scored]
    return Report(
        tables=[_baseline_table(task, names[task], by_language) for task, by_language in scored.items()],
        notes=(*missing, line),
        data={"signature": line, "baselines": names, "tasks": scored},
    )


def _baseline_table(name: str, baseline: str, by_language: dict[str, dict[str, Any]]) -> Table:
    task = TASKS[name]
    shown = dict.fromkeys((*task.main, *(["accuracy"] if task.kind == "tagging" else [])))
    rows = []
    for code, scored in by_language.items():
        figures = [*(scored["metrics"][metric] for metric in shown), main_score(name, scored["chance"])]
        is_last = code == list(by_language)[-1]
        rows.append(
            row_of(*language_cells(code), scored["split"], *map(points, figures), ends_section=is_last)
        )
    mean = points(task_score(name, {code: scored["metrics"] for code, scored in by_language.items()}))
    rows.append(row_of("", "mean", None, None, None, mean, *[None] * len(shown)))
    columns = (*(number_column(metric, METRIC_TITLES[metric]) for metric in shown), number_column("chance"))
    return Table(
        columns=(*LANGUAGE_COLUMNS, Column("split"), *columns), rows=rows, title=f"{task.title}: {baseline}"
    )
