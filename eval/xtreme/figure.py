"""The picture of a transfer run: scores by language, grouped by family, beside chance level and a baseline."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.views.figures.canvas import save
from ecsuite.eval.views.figures.heat_map import heat_map
from ecsuite.eval.views.figures.intervals import Panel, Point, intervals
from ecsuite.eval.xtreme.result import TransferResult
from ecsuite.eval.xtreme.scoring.tables import by_family, language_cells
from ecsuite.eval.xtreme.scoring.tasks import TASKS, metric_titles

MOST_ROWS = 12
"""Most languages whose seeds are shown; more are a heat map, which fits a page."""


def draw(result: TransferResult, *paths: Path) -> None:
    """Draw scores: of few languages a panel per task with means and seeds, of many their means as colours.

    Raises:
        ConfigError: If matplotlib is missing, or a file is neither .svg nor .png.
    """
    title = f"{result.corpus}: XTREME scores by language"
    codes = by_family({code for of_task in result.languages.values() for code in of_task})
    scores = {task: _scores(result, task) for task in result.languages}
    if len(codes) <= MOST_ROWS:
        panels = [
            Panel(points=_points(codes, by_code), axis=f"{TASKS[task].title}, {metric_titles(task)}")
            for task, by_code in scores.items()
        ]
        save(intervals(*panels, title=title), *paths)
        return
    names = {
        (task, name): None for task, by_code in scores.items() for each in by_code.values() for name in each
    }
    means = [
        [float(scores[task][code][name].mean()) if code in scores[task] else None for task, name in names]
        for code in codes
    ]
    rows = [
        ": ".join(filter(None, (language_cells(code)[2], language_cells(code)[1] or code))) for code in codes
    ]
    columns = [f"{TASKS[task].title}: {name}" for task, name in names]
    save(heat_map(means, rows, columns, form=".0f", scale="score", title=title), *paths)


def _scores(result: TransferResult, task: str) -> dict[str, dict[str, Floats]]:
    """By language and backbone, the scores of all seeds; then those without a model."""
    scores = {backbone: result.language_scores(backbone, task) for backbone in result.bodies}
    for name, reference in (("baseline", result.baselines), ("chance", result.chance)):
        if (levels := result.levels(reference, task)) is not None:
            scores[name] = np.array([levels])
    codes = result.languages[task]
    return {code: {name: each[:, place] for name, each in scores.items()} for place, code in enumerate(codes)}


def _points(codes: list[str], scores: Mapping[str, Mapping[str, Floats]]) -> list[Point]:
    """The points of a task; a row is a language with its script."""
    points = []
    for code in filter(scores.__contains__, codes):
        _, language, family, script = language_cells(code)
        row, group = f"{language}, {script}" if language else code, family or "unknown"
        for name, seeds in scores[code].items():
            mean, is_faint = float(seeds.mean()), name == "chance"
            point = Point(
                row=row, value=mean, single=seeds.tolist(), series=name, group=group, is_faint=is_faint
            )
            points.append(point)
    return points
