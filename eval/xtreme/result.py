"""Result of a transfer run: metrics of every backbone on every language of every task."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ecsuite.config import look_up
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.xtreme.cells import ByTask, Cell, Metrics, complete_table
from ecsuite.eval.xtreme.failures import complete_part
from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.notes import study_notes
from ecsuite.eval.xtreme.references import reference_scores
from ecsuite.eval.xtreme.scoring import averaging
from ecsuite.eval.xtreme.sources import RANDOM_INIT
from ecsuite.eval.xtreme.study import Study
from ecsuite.jobs.graph import Runner
from ecsuite.jobs.job import Job, Result

REFERENCE = RANDOM_INIT
"""The randomly initialised backbone, over which gains are reported."""
IN_LANGUAGE = "in-language"
"""The protocol without transfer between languages: each is trained and tested separately."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """A task's score in English and in other languages, in the metric of the transfer gap."""

    english: float | None
    """Score in English, the training language; None if it was not tested."""
    others: float | None
    """Mean score of the other languages; None if there are none."""

    @property
    def gap(self) -> float | None:
        """Transfer gap: English minus others; also about 0 at chance level."""
        return None if self.english is None or self.others is None else self.english - self.others


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferResult:
    """Metrics of all backbones, seeds, tasks and languages; made by `from_cells`."""

    protocol: str
    """Name of the protocol, see `protocols.py`."""
    preset: str
    """Name of the preset."""
    corpus: str
    """The evaluated backbone; all others are its controls."""
    by_body: Mapping[str, Mapping[int, ByTask]]
    """Metrics by backbone, seed, task and language: the same for all backbones, in the order of tables."""
    splits: Mapping[str, Mapping[str, str]]
    """The scored split by task and language."""
    baselines: ByTask
    """Metrics of a baseline without a model."""
    chance: ByTask
    """Metrics at chance level: the best constant prediction."""
    notes: tuple[str, ...]
    """Notes for readers of the scores, such as reduced sizes."""
    signature: str
    """Everything that can change the scores, except the corpus."""

    @classmethod
    def from_cells(
        cls,
        cells: Iterable[Cell],
        *,
        protocol: str,
        preset: str,
        corpus: str,
        baselines: ByTask,
        chance: ByTask,
        notes: Iterable[str] = (),
        signature: str,
    ) -> "TransferResult":
        """Collect cells, in any order.

        Args:
            cells: See `complete_table`.
            protocol: Name of the protocol.
            preset: Name of the preset.
            corpus: Name of the evaluated backbone.
            baselines: Metrics of a baseline without a model, by task and language.
            chance: Metrics at chance level, by task and language.
            notes: Notes for readers of the scores.
            signature: Everything that can change the scores, except the corpus.

        Raises:
            ConfigError: See `complete_table`.
        """
        table = complete_table(cells, corpus)
        return cls(
            protocol=protocol,
            preset=preset,
            corpus=corpus,
            by_body=table.by_body,
            splits=table.splits,
            baselines=baselines,
            chance=chance,
            notes=tuple(notes),
            signature=signature,
        )

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the backbones: the corpus, then its controls."""
        return tuple(self.by_body)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds in ascending order; the same for all backbones."""
        return tuple(self.by_body[self.corpus])

    @property
    def languages(self) -> Mapping[str, tuple[str, ...]]:
        """The test languages of each task, in the order of the paper's tables."""
        return {task: tuple(codes) for task, codes in self.splits.items()}

    @property
    def is_zero_shot(self) -> bool:
        """Whether tasks were trained in English and tested in all languages."""
        return self.protocol != IN_LANGUAGE

    def language_scores(self, backbone: str, task: str) -> Floats:
        """Scores in the metric of the task, shape (num_seeds, num_languages)."""
        look_up("backbone", backbone, self.by_body)
        return np.array(
            [
                [averaging.main_score(task, metrics) for metrics in by_task[task].values()]
                for by_task in self.by_body[backbone].values()
            ]
        )

    def scores(self, backbone: str) -> Floats:
        """Task scores, means over languages, shape (num_seeds, num_tasks); their mean is the overall score."""
        return np.stack([self.language_scores(backbone, task).mean(1) for task in self.splits], axis=1)

    def sides(self, backbone: str, task: str) -> Sides:
        """Scores in English and in the other languages, means over seeds."""
        of_seeds = [
            averaging.english_and_others(task, by_task[task]) for by_task in self.by_body[backbone].values()
        ]
        english, others = (
            averaging.mean(side) if None not in side else None for side in zip(*of_seeds, strict=True)
        )
        return Sides(english=english, others=others)

    def sides_of(self, by_task: ByTask, task: str) -> Sides | None:
        """The same for `baselines` or `chance`; None if a test language is missing there."""
        metrics = self.tested(by_task, task)
        return None if metrics is None else Sides(**_both(averaging.english_and_others(task, metrics)))

    def tested(self, by_task: ByTask, task: str) -> Mapping[str, Metrics] | None:
        """Metrics of `baselines` or `chance` in the test languages; None if one is missing."""
        by_language = by_task.get(task, {})
        codes = self.splits[task]
        return (
            {code: by_language[code] for code in codes}
            if all(code in by_language for code in codes)
            else None
        )

    def to_json(self) -> dict[str, Any]:
        """The result with averages, as JSON values."""
        return {
            "protocol": self.protocol,
            "preset": self.preset,
            "corpus": self.corpus,
            "bodies": list(self.bodies),
            "seeds": list(self.seeds),
            "languages": {task: list(codes) for task, codes in self.languages.items()},
            "scores": {backbone: self._summary(backbone) for backbone in self.bodies},
            "cells": [asdict(cell) for cell in self.cells()],
            "baselines": self.baselines,
            "chance": self.chance,
            "notes": list(self.notes),
            "signature": self.signature,
        }

    def cells(self) -> list[Cell]:
        """All cells, in the order of tables."""
        return [
            Cell(
                body=backbone,
                seed=seed,
                task=task,
                language=code,
                split=self.splits[task][code],
                metrics=metrics,
            )
            for backbone, by_seed in self.by_body.items()
            for seed, by_task in by_seed.items()
            for task, by_language in by_task.items()
            for code, metrics in by_language.items()
        ]

    def _summary(self, backbone: str) -> dict[str, Any]:
        scores = self.scores(backbone)
        summary: dict[str, Any] = {
            "overall": float(scores.mean()),
            "overall_by_seed": dict(zip(map(str, self.seeds), scores.mean(1).tolist(), strict=True)),
            "tasks": dict(zip(self.splits, scores.mean(0).tolist(), strict=True)),
        }
        if self.is_zero_shot:
            sides = {task: self.sides(backbone, task) for task in self.splits}
            summary["zero_shot"] = {
                task: {
                    "metric": averaging.gap_metric(task),
                    "english": side.english,
                    "others": side.others,
                    "gap": side.gap,
                }
                for task, side in sides.items()
            }
        return summary


def _both(sides: tuple[float | None, float | None]) -> dict[str, float | None]:
    return {"english": sides[0], "others": sides[1]}


def collect(study: Study, results: Mapping[Job, Result]) -> TransferResult:
    """The result of a study from those of its jobs; what is not complete is left out, with a note.

    Args:
        study: What was asked.
        results: The results of the jobs of `plan`.

    Raises:
        ConfigError: If data have changed since the study was made.
        DivergedError: If the evaluated backbone has no seed without a failure.
    """
    jobs = plan(study)
    found = complete_part(study, {name: results[job].failure for name, job in jobs.items()})
    cells: list[Cell] = []
    learnt_from: dict[str, dict[str, str | None]] = {}
    for (backbone, seed, task, language), job in jobs.items():
        if backbone in found.bodies and seed in found.seeds:
            value = results[job].checked()
            learnt_from.setdefault(task, {})[language] = value["learnt_from"]
            cells += [
                Cell(body=backbone, seed=seed, task=task, language=tested, **scored)
                for tested, scored in value["by_language"].items()
            ]
    baselines, chance = reference_scores(study)
    return TransferResult.from_cells(
        cells,
        protocol=study.protocol.name,
        preset=study.preset.name,
        corpus=study.bodies[0],
        baselines=baselines,
        chance=chance,
        notes=(*study_notes(study, learnt_from), *found.notes),
        signature=study.signature,
    )


def measure(study: Study, runner: Runner) -> TransferResult:
    """Run a study.

    Raises:
        ConfigError: See `collect`.
        DivergedError: See `collect`.
    """
    return collect(study, runner.run(list(plan(study).values())))
