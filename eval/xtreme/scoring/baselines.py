"""Scores of the strongest baselines without a model, in every language with labels: tables and JSON."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.metrics.score import signature
from ecsuite.eval.views.console import Report
from ecsuite.eval.xtreme.scoring.tables import LANGUAGE_COLUMNS, language_cells, points
from ecsuite.eval.xtreme.scoring.tasks import METRIC_TITLES, TASKS, main_score, task_score
from ecsuite.runtime.errors import look_up
from ecsuite.tables.table import Column, Table, number_column, row_of

VERSION = 1
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
    line = signature(
        "xtreme-baselines", VERSION, **{task: name.replace(" ", "-") for task, name in names.items()}
    )
    missing = [f"{TASKS[task].title}: no labels in any language." for task in tasks if task not in scored]
    return Report(
        tables=[_table(task, names[task], by_language) for task, by_language in scored.items()],
        notes=(*missing, line),
        data={"signature": line, "baselines": names, "tasks": scored},
    )


def _table(name: str, baseline: str, by_language: dict[str, dict[str, Any]]) -> Table:
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
