"""Scores of baselines without a model on XTREME's tasks, in every language with labels: table and JSON."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ecsuite.downloads.languages import LANGUAGES
from ecsuite.eval.metrics.score import signature
from ecsuite.eval.reports.console import Report
from ecsuite.eval.xtreme.scoring.averaging import main_score, task_score
from ecsuite.eval.xtreme.scoring.baselines import BASELINES, fit_baseline
from ecsuite.eval.xtreme.scoring.reading import read_examples, scored_split
from ecsuite.eval.xtreme.scoring.scoring import chance, labels_of, score_predictions
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.runtime.errors import look_up

HEADINGS = {"exact_match": "EM", "f1": "F1"}
"""Titles of metrics in tables."""
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
        ConfigError: If a language is unknown, or data are missing or malformed.
    """
    for language in languages:
        look_up("language", language, LANGUAGES)
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for number, task in enumerate(tasks):
        predict = fit_baseline(folder, task)
        for language in languages or TASKS[task].languages:
            split = scored_split(folder, task, language)
            if split is None:
                continue
            gold = read_examples(folder, task, language, split)
            found.setdefault(task, {})[language] = {
                "split": split,
                "metrics": score_predictions(task, language, predict(gold), gold),
                "chance": chance(task, language, labels_of(task, gold)),
            }
            progress(f"{task} in {language}", number + len(found[task]) / 50, len(tasks))
    names = {task: next(iter(BASELINES[task])) for task in found}
    line = signature(
        "xtreme-baselines", VERSION, **{task: name.replace(" ", "-") for task, name in names.items()}
    )
    return Report(
        tables=[_table(task, names[task], by_language) for task, by_language in found.items()],
        notes=(*_notes_on_missing(tasks, found), line),
        data={"signature": line, "baselines": names, "tasks": found},
    )


def _table(task: str, name: str, by_language: dict[str, dict[str, Any]]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(
        title=f"{TASKS[task].title}: {name}",
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for heading in ("", "language", "family", "script", "split"):
        table.add_column(heading, no_wrap=True)
    shown = dict.fromkeys((*TASKS[task].main, *(["accuracy"] if TASKS[task].kind == "tagging" else [])))
    for metric in (*shown, "chance"):
        table.add_column(HEADINGS.get(metric, metric), justify="right", no_wrap=True)
    for code, row in by_language.items():
        language = LANGUAGES[code]
        figures = [*(row["metrics"][metric] for metric in shown), main_score(task, row["chance"])]
        table.add_row(
            code,
            language.name,
            language.family,
            language.script,
            row["split"],
            *(f"{one:.1f}" for one in figures),
        )
    table.add_section()
    mean = task_score(task, {code: row["metrics"] for code, row in by_language.items()})
    table.add_row("", "mean", "", "", "", f"{mean:.1f}")
    return table


def _notes_on_missing(tasks: Sequence[str], found: dict[str, Any]) -> list[str]:
    """Notes on tasks without labels."""
    return [f"{TASKS[task].title}: no labels in any language." for task in tasks if task not in found]
