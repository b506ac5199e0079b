"""What the transfer stage found: every body's metrics on every language of every task."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ecsuite.config import ConfigError, look_up
from ecsuite.eval.statistics.counting import Floats
from ecsuite.eval.xtreme.scoring import averaging
from ecsuite.eval.xtreme.scoring.tasks import TASKS

REFERENCE = "random init"
"""The body that has learnt nothing, over which gains are told."""
CONTROLS = (REFERENCE, "parentheses", "shuffled corpus", "human text")
"""Bodies that a corpus is compared with, in the order of tables."""
IN_LANGUAGE = "in-language"
"""The protocol without transfer between languages: each is learnt and tested by itself."""

Metrics = Mapping[str, float]
"""Metrics of one language, 0 to 100."""
ByTask = Mapping[str, Mapping[str, Metrics]]
"""Metrics by task and language."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """How one body did in one language of a task."""

    body: str
    """Its name: one of `CONTROLS`, or what it has learnt."""
    seed: int
    """Of weights and orders; the same seed gives all bodies the same tuning."""
    task: str
    """The task's name."""
    language: str
    """The language that was tested, by its code."""
    split: str
    """test or dev."""
    metrics: Metrics
    """What `score_predictions` gave, 0 to 100."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """A task's score in English and elsewhere, in the metric of the transfer gap."""

    english: float | None
    """English, the language of tuning; None where it was not tested."""
    others: float | None
    """The mean of the other languages; None where there are none."""

    @property
    def gap(self) -> float | None:
        """What is lost in transfer; it is about 0 for what has learnt nothing, too."""
        return None if self.english is None or self.others is None else self.english - self.others


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferResult:
    """All bodies, seeds, tasks and languages; made by `from_cells`."""

    protocol: str
    """How bodies met human languages."""
    preset: str
    """The preset's name."""
    corpus: str
    """The body that this is about; all others are its controls."""
    by_body: Mapping[str, Mapping[int, ByTask]]
    """Metrics by body, seed, task and language: the same ones everywhere, in the order of tables."""
    splits: Mapping[str, Mapping[str, str]]
    """Which split was scored, by task and language."""
    baselines: ByTask
    """What a prediction without any model scores."""
    chance: ByTask
    """What the best guess scores that looks at nothing."""
    notes: tuple[str, ...]
    """What was reduced, and whatever else a reader of the scores has to know."""
    signature: str
    """Everything that can change the scores but the corpus."""

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
        """Put cells of any order together.

        Args:
            cells: One a body, seed, task and language; the same seeds, tasks and languages for every body.
            protocol: How bodies met human languages.
            preset: The preset's name.
            corpus: The body that this is about.
            baselines: By task and language, what a prediction without any model scores.
            chance: The same of the best guess that looks at nothing.
            notes: What a reader of the scores has to know.
            signature: Everything that can change the scores but the corpus.

        Raises:
            ConfigError: If there is no cell, one is missing, one is there twice, or a body or task is unknown.
        """
        found: dict[tuple[str, int, str, str], Cell] = {}
        for cell in cells:
            key = (cell.body, cell.seed, cell.task, cell.language)
            if key in found:
                raise ConfigError(f"{_name(*key)} was scored twice")
            found[key] = cell
        if not found:
            raise ConfigError("no scores: expected those of one body in one language at least")
        there = {cell.body: cell for cell in found.values()}
        look_up("body", corpus, there)
        bodies = sorted(there, key=lambda body: (body != corpus, _place(body, CONTROLS), body))
        seeds = sorted({cell.seed for cell in found.values()})
        spoken: dict[str, set[str]] = {}
        for cell in found.values():
            look_up("task", cell.task, TASKS)
            spoken.setdefault(cell.task, set()).add(cell.language)
        languages = {
            task: sorted(spoken[task], key=lambda code: (_place(code, TASKS[task].languages), code))
            for task in TASKS
            if task in spoken
        }

        def metrics(*key: Any) -> Metrics:
            if key not in found:
                raise ConfigError(f"{_name(*key)} has no score: all bodies need the same seeds and languages")
            cell, first = found[key], found[(corpus, seeds[0], *key[2:])]
            if cell.split != first.split:
                raise ConfigError(f"{_name(*key)} was scored on {cell.split}, others on {first.split}")
            return dict(cell.metrics)

        return cls(
            protocol=protocol,
            preset=preset,
            corpus=corpus,
            by_body={
                body: {
                    seed: {
                        task: {code: metrics(body, seed, task, code) for code in codes}
                        for task, codes in languages.items()
                    }
                    for seed in seeds
                }
                for body in bodies
            },
            splits={
                task: {code: found[corpus, seeds[0], task, code].split for code in codes}
                for task, codes in languages.items()
            },
            baselines=baselines,
            chance=chance,
            notes=tuple(notes),
            signature=signature,
        )

    @property
    def bodies(self) -> tuple[str, ...]:
        """The corpus, then its controls."""
        return tuple(self.by_body)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Ascending; the same for all bodies."""
        return tuple(self.by_body[self.corpus])

    @property
    def languages(self) -> Mapping[str, tuple[str, ...]]:
        """The tested languages of each task, in the order of the paper's tables."""
        return {task: tuple(codes) for task, codes in self.splits.items()}

    @property
    def is_zero_shot(self) -> bool:
        """Whether tasks were learnt in English and tested elsewhere."""
        return self.protocol != IN_LANGUAGE

    def language_scores(self, body: str, task: str) -> Floats:
        """Scores in the task's metric, shape (num_seeds, num_languages)."""
        look_up("body", body, self.by_body)
        return np.array(
            [
                [averaging.main_score(task, metrics) for metrics in by_task[task].values()]
                for by_task in self.by_body[body].values()
            ]
        )

    def scores(self, body: str) -> Floats:
        """Task scores, means over languages, shape (num_seeds, num_tasks); their mean is the overall score."""
        return np.stack([self.language_scores(body, task).mean(1) for task in self.splits], axis=1)

    def sides(self, body: str, task: str) -> Sides:
        """English and the other languages, means over seeds."""
        of_seeds = [
            averaging.english_and_others(task, by_task[task]) for by_task in self.by_body[body].values()
        ]
        english, others = (
            averaging.mean(side) if None not in side else None for side in zip(*of_seeds, strict=True)
        )
        return Sides(english=english, others=others)

    def sides_of(self, by_task: ByTask, task: str) -> Sides | None:
        """The same of `baselines` or `chance`; None where it lacks a tested language."""
        metrics = self.tested(by_task, task)
        return None if metrics is None else Sides(**_both(averaging.english_and_others(task, metrics)))

    def tested(self, by_task: ByTask, task: str) -> Mapping[str, Metrics] | None:
        """Metrics of `baselines` or `chance` in the tested languages; None where one is missing."""
        there = by_task.get(task, {})
        codes = self.splits[task]
        return {code: there[code] for code in codes} if all(code in there for code in codes) else None

    def to_json(self) -> dict[str, Any]:
        """All of it, with the averages, JSON-ready."""
        return {
            "protocol": self.protocol,
            "preset": self.preset,
            "corpus": self.corpus,
            "bodies": list(self.bodies),
            "seeds": list(self.seeds),
            "languages": {task: list(codes) for task, codes in self.languages.items()},
            "scores": {body: self._summary(body) for body in self.bodies},
            "cells": [asdict(cell) for cell in self.cells()],
            "baselines": self.baselines,
            "chance": self.chance,
            "notes": list(self.notes),
            "signature": self.signature,
        }

    def cells(self) -> list[Cell]:
        """What it was made from, in the order of tables."""
        return [
            Cell(
                body=body, seed=seed, task=task, language=code, split=self.splits[task][code], metrics=metrics
            )
            for body, by_seed in self.by_body.items()
            for seed, by_task in by_seed.items()
            for task, by_language in by_task.items()
            for code, metrics in by_language.items()
        ]

    def _summary(self, body: str) -> dict[str, Any]:
        scores = self.scores(body)
        summary: dict[str, Any] = {
            "overall": float(scores.mean()),
            "overall_by_seed": dict(zip(map(str, self.seeds), scores.mean(1).tolist(), strict=True)),
            "tasks": dict(zip(self.splits, scores.mean(0).tolist(), strict=True)),
        }
        if self.is_zero_shot:
            sides = {task: self.sides(body, task) for task in self.splits}
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


def _place(name: str, order: tuple[str, ...]) -> int:
    """Where a name stands; unknown ones last."""
    return order.index(name) if name in order else len(order)


def _name(body: str, seed: int, task: str, language: str) -> str:
    return f"{body}, seed {seed}, {task} in '{language}'"
