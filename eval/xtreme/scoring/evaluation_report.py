"""Tables of scored predictions, by task and group of tasks, and by language."""

from ecsuite.eval.views.console import Report
from ecsuite.eval.xtreme.scoring.evaluation import Evaluation
from ecsuite.eval.xtreme.scoring.tables import (
    LANGUAGE_COLUMNS,
    by_family,
    language_cells,
    num_languages,
    points,
)
from ecsuite.eval.xtreme.scoring.tasks import METRIC_TITLES, TASKS, average, main_score, task_score
from ecsuite.tables.table import Column, Table, name_column, number_column, row_of

GROUPS = {
    "classification": "classification",
    "tagging": "tagging",
    "qa": "question answering",
    "retrieval": "retrieval",
    "all_task": "all nine tasks",
}
"""Titles of groups in tables, in order."""


def report(evaluation: Evaluation, *, by_language: bool) -> Report:
    """Scores by task and group; with `by_language` also by language."""
    tables = [_summary(evaluation), *([_by_language(evaluation)] if by_language else [])]
    return Report(tables=tables, notes=tuple(_notes(evaluation)), data=evaluation.to_json())


def _summary(evaluation: Evaluation) -> Table:
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


def _by_language(evaluation: Evaluation) -> Table:
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


def _notes(evaluation: Evaluation) -> list[str]:
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
