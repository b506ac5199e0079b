"""Tables of scored predictions, by task and group of tasks, and by language."""

from ecsuite.eval.reports.console import Report
from ecsuite.eval.xtreme.scoring.evaluation import Evaluation
from ecsuite.eval.xtreme.scoring.tables import (
    LANGUAGE_COLUMNS,
    by_family,
    language_cells,
    num_languages,
    points,
)
from ecsuite.eval.xtreme.scoring.tasks import METRIC_TITLES, average, main_score
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
    for result in evaluation.tasks.values():
        task, sides = result.task, result.sides
        figures = (result.score, sides.english, sides.others, sides.gap, result.chance_score)
        metrics = ", ".join(METRIC_TITLES[metric] for metric in task.main)
        is_last = task.name == list(evaluation.tasks)[-1]
        languages = num_languages(task, result.by_language)
        rows.append(row_of(task.title, languages, metrics, *map(points, figures), ends_section=is_last))
    for group, title in GROUPS.items():
        if group in evaluation.groups:
            rows.append(row_of(title, None, None, points(evaluation.groups[group]), None, None, None, None))
    columns = (name_column("task"), Column("languages", align="right"), Column("metric"))
    names = ("score", "English", "others", "gap", "chance")
    return Table(columns=(*columns, *map(number_column, names)), rows=rows)


def _by_language(evaluation: Evaluation) -> Table:
    """One row per language, grouped by family; one column per task."""
    results = evaluation.tasks
    codes = {code for result in results.values() for code in result.by_language}
    rows = [
        row_of(
            *language_cells(code),
            *(
                points(main_score(task, result.by_language[code]) if code in result.by_language else None)
                for task, result in results.items()
            ),
        )
        for code in by_family(codes)
    ]
    columns = [
        number_column(task, result.task.short_title or result.task.title) for task, result in results.items()
    ]
    return Table(columns=(*LANGUAGE_COLUMNS, *columns), rows=rows)


def _notes(evaluation: Evaluation) -> list[str]:
    """Notes for readers of the tables; the signature is last."""
    results = evaluation.tasks.values()
    lines = ["gap: English minus the mean of the others; it is also about 0 at chance level."]
    if any(result.task.kind == "questions" for result in results):
        lines.append("Questions: the score is the mean of EM and F1; English, others and gap are EM only.")
    for result in results:
        if result.task.kind == "tagging":
            accuracy = average(result.by_language, "accuracy")
            lines.append(
                f"{result.task.title}: F1 of tag spans (seqeval 0.0.12); tag accuracy {accuracy:.1f} %."
            )
    if evaluation.average_gap is not None:
        lines.append(f"Average gap of XNLI, PAWS-X and question answering: {evaluation.average_gap:.1f}.")
    for result in results:
        if result.missing:
            scored = num_languages(result.task, result.by_language)
            lines.append(
                f"{result.task.title}: {scored} languages, so not comparable with published scores; missing: "
                f"{' '.join(result.missing)}."
            )
    for result in results:
        if result.unanswered:
            numbers = ", ".join(f"{language} {number:,}" for language, number in result.unanswered.items())
            lines.append(
                f"{result.task.title}: questions without an answer, which count as wrong: {numbers}."
            )
    if evaluation.left_out:
        lines.append(f"Left out, as predictions or labels are missing: {', '.join(evaluation.left_out)}.")
    return [*lines, evaluation.signature]
