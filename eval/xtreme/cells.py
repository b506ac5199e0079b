"""Cells: the metrics of one backbone in one language of a task, and a complete table of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ecsuite.config import ConfigError, look_up
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.sources import CONTROLS

Metrics = Mapping[str, float]
"""Metrics of one language, 0 to 100."""
ByTask = Mapping[str, Mapping[str, Metrics]]
"""Metrics by task and language."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """Metrics of one backbone in one language of a task."""

    body: str
    """Name of the backbone: the corpus or model, or one of `CONTROLS`."""
    seed: int
    """Seed of weights and data order; the same seed gives all backbones the same fine-tuning."""
    task: str
    """The task's name."""
    language: str
    """Code of the test language."""
    split: str
    """Name of the scored split, such as test or dev."""
    metrics: Metrics
    """Result of `score_predictions`, 0 to 100."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompleteTable:
    """The metrics of the same seeds, tasks and languages for every backbone."""

    by_body: Mapping[str, Mapping[int, ByTask]]
    """Metrics by backbone, seed, task and language, in the order of tables."""
    splits: Mapping[str, Mapping[str, str]]
    """The scored split by task and language."""


def complete_table(cells: Iterable[Cell], corpus: str) -> CompleteTable:
    """Order cells, and check that none is missing.

    Args:
        cells: One per backbone, seed, task and language; the same seeds, tasks and languages for every backbone.
        corpus: Name of the evaluated backbone.

    Raises:
        ConfigError: If there are no cells, one is missing or duplicate, or a backbone or task is unknown.
    """
    by_key: dict[tuple[str, int, str, str], Cell] = {}
    for cell in cells:
        key = (cell.body, cell.seed, cell.task, cell.language)
        if key in by_key:
            raise ConfigError(f"{_name(*key)}: expected one score, found two")
        by_key[key] = cell
    if not by_key:
        raise ConfigError("expected scores of at least one backbone in one language, found none")
    backbone_names = {cell.body: cell for cell in by_key.values()}
    look_up("backbone", corpus, backbone_names)
    backbones = sorted(
        backbone_names, key=lambda backbone: (backbone != corpus, _rank(backbone, CONTROLS), backbone)
    )
    seeds = sorted({cell.seed for cell in by_key.values()})
    languages_of_task: dict[str, set[str]] = {}
    for cell in by_key.values():
        look_up("task", cell.task, TASKS)
        languages_of_task.setdefault(cell.task, set()).add(cell.language)
    languages = {
        task: sorted(languages_of_task[task], key=lambda code: (_rank(code, TASKS[task].languages), code))
        for task in TASKS
        if task in languages_of_task
    }

    def metrics(*key: Any) -> Metrics:
        if key not in by_key:
            raise ConfigError(f"{_name(*key)}: expected a score, as for the other backbones, found none")
        cell, first = by_key[key], by_key[(corpus, seeds[0], *key[2:])]
        if cell.split != first.split:
            raise ConfigError(f"{_name(*key)}: expected a score on {first.split}, found {cell.split}")
        return dict(cell.metrics)

    return CompleteTable(
        by_body={
            backbone: {
                seed: {
                    task: {code: metrics(backbone, seed, task, code) for code in codes}
                    for task, codes in languages.items()
                }
                for seed in seeds
            }
            for backbone in backbones
        },
        splits={
            task: {code: by_key[corpus, seeds[0], task, code].split for code in codes}
            for task, codes in languages.items()
        },
    )


def _rank(name: str, order: tuple[str, ...]) -> int:
    """Position of a name in an order; unknown names are last."""
    return order.index(name) if name in order else len(order)


def _name(backbone: str, seed: int, task: str, language: str) -> str:
    return f"{backbone}, seed {seed}, {task} in '{language}'"
