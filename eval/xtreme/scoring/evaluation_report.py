"""Tables of scored predictions, by task and group of tasks, and by language."""

from rich.box import SIMPLE_HEAD
from rich.table import Table

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.reports.console import Report
from ecsuite.eval.xtreme.scoring.averaging import average, average_gap, main_score
from ecsuite.eval.xtreme.scoring.evaluation import Evaluation, TaskResult
from ecsuite.eval.xtreme.scoring.tasks import METRIC_TITLES, SHORT_TITLES

GROUPS = {
    "classification": "classification",
    "tagging": "tagging",
    "qa": "question answering",
    "retrieval": "retrieval",
    "all_task": "all nine tasks",
}
"""Titles of groups in tables, in order."""
MOST_WITH_NAMES = 6
"""Most columns of tasks in a table that also shows the names of languages."""


def report(evaluation: Evaluation, *, by_language: bool) -> Report:
    """Scores by task and group; with `by_language` also by language."""
    tables = [_summary(evaluation), *([_by_language(evaluation)] if by_language else [])]
    return Report(tables=tables, notes=tuple(_notes(evaluation)), data=evaluation.to_json())


def _summary(evaluation: Evaluation) -> Table:
    """One row per task, then one row per group."""
    table = _table()
    table.add_column("task", no_wrap=True)
    table.add_column("languages", justify="right", no_wrap=True)
    table.add_column("metric", no_wrap=True)
    for heading in ("score", "English", "others", "gap", "chance"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in evaluation.tasks.values():
        task, sides = result.task, result.sides
        figures = (result.score, sides.english, sides.others, sides.gap, result.chance_score)
        table.add_row(
            task.title,
            _num_languages(result),
            ", ".join(METRIC_TITLES[metric] for metric in task.main),
            *map(_figure, figures),
        )
    table.add_section()
    for group, title in GROUPS.items():
        if group in evaluation.groups:
            table.add_row(title, "", "", _figure(evaluation.groups[group]))
    return table


def _by_language(evaluation: Evaluation) -> Table:
    """One row per language, grouped by family; one column per task."""
    with_names = len(evaluation.tasks) <= MOST_WITH_NAMES
    scored = {language for result in evaluation.tasks.values() for language in result.by_language}
    table = _table(padding=0)
    for heading in ("", *(["language"] if with_names else []), "family", "script"):
        table.add_column(heading, no_wrap=True)
    for result in evaluation.tasks.values():
        table.add_column(
            SHORT_TITLES.get(result.task.name, result.task.title), justify="right", no_wrap=True, min_width=4
        )
    for language in sorted(
        (LANGUAGES[code] for code in scored), key=lambda language: (language.family, language.code)
    ):
        scores = [
            main_score(result.task.name, result.by_language[language.code])
            if language.code in result.by_language
            else None
            for result in evaluation.tasks.values()
        ]
        name = [language.name] if with_names else []
        table.add_row(language.code, *name, language.family, language.script, *map(_short, scores))
    return table


def _notes(evaluation: Evaluation) -> list[str]:
    """Notes for readers of the tables; the signature is last."""
    kinds = {result.task.kind for result in evaluation.tasks.values()}
    lines = ["gap: English minus the mean of the others; it is also about 0 at chance level."]
    if "questions" in kinds:
        lines.append("Questions: the score is the mean of EM and F1; English, others and gap are EM only.")
    if "tagging" in kinds:
        lines += [
            _tag_accuracy(result) for result in evaluation.tasks.values() if result.task.kind == "tagging"
        ]
    gap = average_gap(evaluation.gaps)
    if gap is not None:
        lines.append(f"Average gap of XNLI, PAWS-X and question answering: {gap:.1f}.")
    lines += [
        f"{result.task.title}: {_num_languages(result)} languages, so not comparable with published scores; missing: "
        f"{' '.join(result.missing)}."
        for result in evaluation.tasks.values()
        if result.missing
    ]
    lines += [
        f"{result.task.title}: questions without an answer, which count as wrong: "
        + ", ".join(f"{language} {number:,}" for language, number in result.unanswered.items())
        + "."
        for result in evaluation.tasks.values()
        if result.unanswered
    ]
    if evaluation.left_out:
        lines.append(f"Left out, as predictions or labels are missing: {', '.join(evaluation.left_out)}.")
    return [*lines, evaluation.signature]


def _tag_accuracy(result: TaskResult) -> str:
    accuracy = average(result.by_language, "accuracy")
    return f"{result.task.title}: F1 of tag spans (seqeval 0.0.12); tag accuracy {accuracy:.1f} %."


def _num_languages(result: TaskResult) -> str:
    scored, whole = len(result.by_language), len(result.task.languages)
    return str(whole) if scored == whole else f"{scored}/{whole}"


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _short(value: float | None) -> str:
    """Format a score in at most four characters."""
    text = _figure(value)
    return "100" if text == "100.0" else text


def _table(padding: int = 1) -> Table:
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, padding, 0, 0))
