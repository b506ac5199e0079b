"""Result of a transfer run: metrics of every backbone on every language of every task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.xtreme.failures import complete_part
from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.scoring.task import Metrics
from ecsuite.eval.xtreme.scoring.tasks import TASKS, ByLanguage, ByTask, Sides, main_score, mean, sides
from ecsuite.eval.xtreme.sources import RANDOM_INIT
from ecsuite.eval.xtreme.splits import ENGLISH
from ecsuite.eval.xtreme.study import Study
from ecsuite.jobs.job import Job, Result

REFERENCE = RANDOM_INIT
"""The randomly initialised backbone, over which gains are reported."""
IN_LANGUAGE = "in-language"
"""The protocol without transfer between languages: each is trained and tested separately."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransferResult:
    """Metrics of all backbones, seeds, tasks and languages."""

    protocol: str
    """Name of the protocol, see `PROTOCOLS`."""
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
        by_seed = self.by_body[backbone].values()
        return np.array([[main_score(task, each) for each in by_task[task].values()] for by_task in by_seed])

    def scores(self, backbone: str) -> Floats:
        """Task scores, means over languages, shape (num_seeds, num_tasks); their mean is the overall score."""
        return np.stack([self.language_scores(backbone, task).mean(1) for task in self.splits], axis=1)

    def sides(self, backbone: str, task: str) -> Sides:
        """Scores in English and in the other languages, means over seeds."""
        by_seed = [sides(task, by_task[task]) for by_task in self.by_body[backbone].values()]
        return Sides(
            english=_mean([each.english for each in by_seed]), others=_mean([each.others for each in by_seed])
        )

    def tested(self, by_task: ByTask, task: str) -> ByLanguage | None:
        """Metrics of `baselines` or `chance` in the test languages, in their order; None if one is missing."""
        by_language, codes = by_task.get(task, {}), self.splits[task]
        is_complete = by_language.keys() >= codes.keys()
        return {code: by_language[code] for code in codes} if is_complete else None

    def levels(self, by_task: ByTask, task: str) -> list[float] | None:
        """The scores of `tested`."""
        tested = self.tested(by_task, task)
        return None if tested is None else [main_score(task, metrics) for metrics in tested.values()]

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
            "cells": [
                {
                    "body": backbone,
                    "seed": seed,
                    "task": task,
                    "language": code,
                    "split": self.splits[task][code],
                    "metrics": metrics,
                }
                for backbone, by_seed in self.by_body.items()
                for seed, by_task in by_seed.items()
                for task, by_language in by_task.items()
                for code, metrics in by_language.items()
            ],
            "baselines": self.baselines,
            "chance": self.chance,
            "notes": list(self.notes),
            "signature": self.signature,
        }

    def _summary(self, backbone: str) -> dict[str, Any]:
        scores = self.scores(backbone)
        summary: dict[str, Any] = {
            "overall": float(scores.mean()),
            "overall_by_seed": dict(zip(map(str, self.seeds), scores.mean(1).tolist(), strict=True)),
            "tasks": dict(zip(self.splits, scores.mean(0).tolist(), strict=True)),
        }
        if self.is_zero_shot:
            summary["zero_shot"] = {
                task: {
                    "metric": TASKS[task].main[0],
                    "english": side.english,
                    "others": side.others,
                    "gap": side.gap,
                }
                for task in self.splits
                for side in [self.sides(backbone, task)]
            }
        return summary


def _mean(scores: Sequence[float | None]) -> float | None:
    """The mean; None if one is missing."""
    known = [score for score in scores if score is not None]
    return mean(known) if len(known) == len(scores) else None


def collect(study: Study, results: Mapping[Job, Result]) -> TransferResult:
    """The result of a study from those of the jobs of its `plan`; what is not complete is left out, with a note.

    Raises:
        ConfigError: If data have changed since the study was made.
        DivergedError: If the evaluated backbone has no seed without a failure.
    """
    jobs = plan(study)
    found = complete_part(study, {name: results[job].failure for name, job in jobs.items()})
    scored: dict[tuple[str, int, str, str], Mapping[str, Any]] = {}
    learnt_from: dict[str, dict[str, str | None]] = {}
    for (backbone, seed, task, language), job in jobs.items():
        if backbone in found.bodies and seed in found.seeds:
            value = results[job].checked()
            learnt_from.setdefault(task, {})[language] = value["learnt_from"]
            for code, each in value["by_language"].items():
                scored[backbone, seed, task, code] = each
    corpus, seeds = study.bodies[0], sorted(set(found.seeds))
    languages = {task: _in_order(task, study.tested[task]) for task in TASKS if task in study.tested}
    baselines, chance_level = reference_scores(study)
    return TransferResult(
        protocol=study.protocol.name,
        preset=study.preset.name,
        corpus=corpus,
        by_body={
            backbone: {
                seed: {
                    task: {code: scored[backbone, seed, task, code]["metrics"] for code in codes}
                    for task, codes in languages.items()
                }
                for seed in seeds
            }
            for backbone in found.bodies
        },
        splits={
            task: {code: scored[corpus, seeds[0], task, code]["split"] for code in codes}
            for task, codes in languages.items()
        },
        baselines=baselines,
        chance=chance_level,
        notes=(*_study_notes(study, learnt_from), *found.notes),
        signature=study.signature,
    )


def reference_scores(study: Study) -> tuple[ByTask, ByTask]:
    """Scores of a baseline without a model, and of chance level, on the examples of a study.

    Raises:
        ConfigError: If the data have changed since the study was made.
    """
    baselines: dict[str, dict[str, Metrics]] = {}
    chance_level: dict[str, dict[str, Metrics]] = {}
    for task, languages in study.tested.items():
        predict = TASKS[task].fit_baseline(study.data) if _has_baseline(study, task) else None
        for language in languages:
            _, examples = study.examples["test", task, language].read()
            if TASKS[task].kind != "retrieval":
                examples = examples[: study.preset.max_test]
            labels = TASKS[task].labels(examples)
            if predict is not None:
                metrics = TASKS[task].score(language, predict(examples), labels)
                baselines.setdefault(task, {})[language] = metrics
            chance_level.setdefault(task, {})[language] = TASKS[task].chance(language, labels)
    return baselines, chance_level


def _has_baseline(study: Study, task: str) -> bool:
    """Whether there is what a baseline is fitted on: labels in English, which training in other languages needs not."""
    is_fitted = TASKS[task].kind in ("pairs", "tagging")
    return not is_fitted or any(
        TASKS[task].is_labelled(study.data, ENGLISH, part) for part in ("train", "dev")
    )


def _study_notes(study: Study, learnt_from: Mapping[str, Mapping[str, str | None]]) -> list[str]:
    """Notes on sizes, training data (`learnt_from` by task and language), and labels that are missing."""
    preset = study.preset
    lines = []
    if preset.is_reduced:
        limits = f"at most {preset.max_train:,} training and {preset.max_test:,} test examples per language"
        trained = (
            "only heads trained, on frozen states"
            if preset.scope == "head"
            else "heads and backbones trained"
        )
        lines.append(f"Preset {preset.name}: not the benchmark's settings; {limits}; {trained}.")
    for task, parts in learnt_from.items():
        unusual = {language: part for language, part in parts.items() if part not in (None, "train")}
        if unusual:
            parts_by_language = ", ".join(f"{language} {part}" for language, part in unusual.items())
            lines.append(f"{TASKS[task].title} was trained on: {parts_by_language}.")
    if study.protocol.learns_text and all(text.folder is None for text in study.texts.values()):
        lines.append("Training text: tagged sentences outside the test sets (choose another with --texts).")
    for task, languages in study.tested.items():
        requested = study.languages_asked or TASKS[task].languages
        missing = [one for one in requested if one not in languages and one != ENGLISH]
        if missing:
            lines.append(f"{TASKS[task].title}: no labels in {', '.join(missing)}.")
        if not _has_baseline(study, task):
            lines.append(f"{TASKS[task].title}: no baseline, as there are no labels in English.")
    left_out = [TASKS[task].title for task in study.tasks if task not in study.tested]
    if left_out:
        lines.append(f"Left out, as there are no labels: {', '.join(left_out)}.")
    return lines


def _in_order(task: str, languages: Sequence[str]) -> list[str]:
    """Languages in the order of the paper's tables; those that it does not have are last."""
    known = TASKS[task].languages
    return [code for code in known if code in languages] + sorted(set(languages).difference(known))
