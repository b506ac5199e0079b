"""Result of a transfer run: metrics of every backbone on every language of every task, and gains between backbones.

A gain is a score difference between two backbones, paired by seed, with a confidence interval over seeds. A seed
determines the initial weights and the fine-tuning of every backbone, so scores of the same seed are compared (paired
differences). Student's interval covers the variation over seeds, for the tasks and languages of the run. The gain of
the corpus over the randomly initialised backbone is the primary comparison, at 95 %. Its gains over the other controls
are multiple comparisons: their p values are corrected by Holm's procedure.

As gains are paired by seed, all backbones need the same seeds. A seed in which the evaluated backbone or the randomly
initialised one failed is left out for all backbones. Any other control that failed in a remaining seed is left out
completely, as its mean over the other seeds would be too favourable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ecsuite.eval.statistics.contingency import Floats
from ecsuite.eval.statistics.estimates import NO_SPREAD, Difference, corrected, paired_difference, with_effect
from ecsuite.eval.xtreme.data import RANDOM_INIT
from ecsuite.eval.xtreme.jobs import plan
from ecsuite.eval.xtreme.scoring.task import ENGLISH, Metrics
from ecsuite.eval.xtreme.scoring.tasks import (
    TASKS,
    ByLanguage,
    ByTask,
    EnglishVsOthers,
    main_score,
    mean,
    sides,
)
from ecsuite.eval.xtreme.study import XtremeStudy
from ecsuite.jobs.job import Job, Result
from ecsuite.runtime.errors import DivergedError


@dataclass(frozen=True, kw_only=True, slots=True)
class CompletePart:
    """Backbones and seeds for which every job has a result."""

    bodies: tuple[str, ...]
    """The evaluated backbone, then its controls."""
    seeds: tuple[int, ...]
    """Seeds in the order of the study."""
    notes: tuple[str, ...]
    """Omitted backbones and seeds, and the reasons."""


def complete_part(
    study: XtremeStudy, failures: Mapping[tuple[str, int, str, str], str | None]
) -> CompletePart:
    """The part of a study that can be reported.

    Args:
        study: The study.
        failures: Reason of the failure by job name; None: the job has a result.

    Raises:
        DivergedError: If the evaluated backbone has no seed without a failure.
    """
    reasons: dict[tuple[str, int], str] = {}
    for (backbone, seed, _, _), reason in failures.items():
        if reason is not None:
            reasons.setdefault((backbone, seed), reason)
    evaluated, *controls = study.bodies
    seeds, notes = study.seeds, list[str]()
    for backbone in (evaluated, RANDOM_INIT):
        complete = tuple(seed for seed in seeds if (backbone, seed) not in reasons)
        if not complete and backbone == evaluated:
            raise DivergedError(f"{evaluated}, seed {seeds[0]}: {reasons[evaluated, seeds[0]]}")
        if complete:
            notes += [
                f"Seed {seed} is left out, as {backbone} failed in it: {reasons[backbone, seed]}."
                for seed in seeds
                if seed not in complete
            ]
            seeds = complete
    bodies = [evaluated]
    for backbone in controls:
        failed = next((seed for seed in seeds if (backbone, seed) in reasons), None)
        if failed is None:
            bodies.append(backbone)
        else:
            notes.append(
                f"{backbone} is left out, as it failed in seed {failed}: {reasons[backbone, failed]}."
            )
    return CompletePart(bodies=tuple(bodies), seeds=seeds, notes=tuple(notes))


IN_LANGUAGE = "in-language"
"""Prefix of the protocols without transfer from English: each language has its own training examples."""


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
    """Metrics by backbone, seed, task and language, with the same keys for all backbones, in the order of tables."""
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
    predictions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Predictions of the evaluated backbone with the first seed, by task and language; empty if not stored."""

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
    def compares_english(self) -> bool:
        """Whether English is compared with the other languages: all tasks are trained on its examples."""
        return not self.protocol.startswith(IN_LANGUAGE)

    def language_scores(self, backbone: str, task: str) -> Floats:
        """Scores in the metric of the task, shape (num_seeds, num_languages)."""
        by_seed = self.by_body[backbone].values()
        return np.array([[main_score(task, each) for each in by_task[task].values()] for by_task in by_seed])

    def scores(self, backbone: str) -> Floats:
        """Task scores, means over languages, shape (num_seeds, num_tasks); their mean is the overall score."""
        return np.stack([self.language_scores(backbone, task).mean(1) for task in self.splits], axis=1)

    def sides(self, backbone: str, task: str) -> EnglishVsOthers:
        """Scores in English and in the other languages, means over seeds."""
        by_seed = [sides(task, by_task[task]) for by_task in self.by_body[backbone].values()]
        return EnglishVsOthers(
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
        if self.compares_english:
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
    present = [score for score in scores if score is not None]
    return mean(present) if len(present) == len(scores) else None


def collect(study: XtremeStudy, results: Mapping[Job, Result]) -> TransferResult:
    """The result of a study from the results of its jobs; incomplete backbones and seeds are left out, with a note.

    Raises:
        ConfigError: If data have changed since the study was made.
        DivergedError: If the evaluated backbone has no seed without a failure.
    """
    jobs = plan(study)
    complete = complete_part(study, {name: results[job].failure for name, job in jobs.items()})
    scored: dict[tuple[str, int, str, str], Mapping[str, Any]] = {}
    learnt_from: dict[str, dict[str, str | None]] = {}
    for (backbone, seed, task, language), job in jobs.items():
        if backbone in complete.bodies and seed in complete.seeds:
            value = results[job].checked()
            learnt_from.setdefault(task, {})[language] = value["learnt_from"]
            for code, each in value["by_language"].items():
                scored[backbone, seed, task, code] = each
    corpus, seeds = study.bodies[0], sorted(set(complete.seeds))
    # Languages are in the order of the paper's tables, followed by other languages.
    languages = {
        name: [
            *(code for code in task.languages if code in tested),
            *sorted(set(tested).difference(task.languages)),
        ]
        for name, task in TASKS.items()
        if (tested := study.tested.get(name))
    }
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
            for backbone in complete.bodies
        },
        splits={
            task: {code: scored[corpus, seeds[0], task, code]["split"] for code in codes}
            for task, codes in languages.items()
        },
        baselines=baselines,
        chance=chance_level,
        notes=(*_study_notes(study, learnt_from), *complete.notes),
        signature=study.signature,
        predictions={
            task: {code: scored[corpus, seeds[0], task, code]["predictions"] for code in codes}
            for task, codes in (languages if study.predictions is not None else {}).items()
        },
    )


def reference_scores(study: XtremeStudy) -> tuple[ByTask, ByTask]:
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


def _has_baseline(study: XtremeStudy, task: str) -> bool:
    """Whether a baseline can be fitted: it needs labels in English, which may be missing in other protocols."""
    is_fitted = TASKS[task].kind in ("pairs", "tagging")
    return not is_fitted or any(
        TASKS[task].is_labelled(study.data, ENGLISH, part) for part in ("train", "dev")
    )


def _study_notes(study: XtremeStudy, learnt_from: Mapping[str, Mapping[str, str | None]]) -> list[str]:
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
        requested = study.requested_languages or TASKS[task].languages
        missing = [one for one in requested if one not in languages and one != ENGLISH]
        if missing:
            lines.append(f"{TASKS[task].title}: no labels in {', '.join(missing)}.")
        if not _has_baseline(study, task):
            lines.append(f"{TASKS[task].title}: no baseline, as there are no labels in English.")
    left_out = [TASKS[task].title for task in study.tasks if task not in study.tested]
    if left_out:
        lines.append(f"Left out, as there are no labels: {', '.join(left_out)}.")
    return lines


@dataclass(frozen=True, kw_only=True, slots=True)
class Gain:
    """Score difference between two backbones, in points."""

    overall: Difference
    """Difference of overall scores: means over tasks of means over languages; with Holm's correction of further
    controls."""
    by_task: Mapping[str, Difference]
    """Difference of task scores, means over languages, by task."""
    by_language: Mapping[str, Mapping[str, float]]
    """Mean difference over seeds by task and language, without intervals."""
    english: Difference | None
    """Difference in English, if tasks are trained in English; None otherwise, or if English was not tested."""
    others: Difference | None
    """Difference in the other languages, which have no training examples; None like `english`."""

    def to_json(self) -> dict[str, Any]:
        """The gain as JSON values."""
        return {
            "body": self.overall.source,
            "over": self.overall.baseline,
            "overall": _as_json(self.overall),
            "by_task": {task: _as_json(difference) for task, difference in self.by_task.items()},
            "by_language": self.by_language,
            "english": _as_json(self.english),
            "others": _as_json(self.others),
            "p_holm": self.overall.p_holm,
            "conclusion": self.overall.conclusion,
        }


def _as_json(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {
        **difference.details,
        "mean": difference.mean,
        "ci95": difference.ci95,
        "p": difference.p_value,
        "hedges_g": difference.hedges_g,
        "hedges_g_ci95": difference.hedges_g_ci95,
        "conclusion": replace(difference, p_holm=None).conclusion,
    }


def estimate(differences: Floats) -> Difference:
    """Mean, confidence interval and p value of differences in points by seed, shape (num_seeds,).

    The conclusion follows from the interval. If the difference is equal for all seeds, as is possible with few
    questions, noise cannot be estimated: p is 1, and the conclusion is unknown, as with one seed.
    """
    difference = replace(paired_difference(differences), details={"by_seed": differences.tolist()})
    if difference.ci95 is None:
        return difference
    if difference.ci95[0] <= 0 <= difference.ci95[1] or abs(difference.mean) <= NO_SPREAD:
        return replace(difference, p_value=difference.p_value or 1.0, judged="not significant")
    if difference.p_value is None:
        return replace(difference, p_value=1.0, judged="unknown")
    return replace(difference, judged="higher" if difference.mean > 0 else "lower")


def gain(result: TransferResult, backbone: str, over: str) -> Gain:
    """Compare two backbones of a result."""
    differences = {
        task: result.language_scores(backbone, task) - result.language_scores(over, task)
        for task in result.languages
    }  # each (num_seeds, num_languages)
    by_task = {task: of_task.mean(1) for task, of_task in differences.items()}
    overall = estimate(np.mean(list(by_task.values()), axis=0))
    first, second = (result.scores(each).mean(1) for each in (backbone, over))
    return Gain(
        overall=with_effect(
            replace(overall, source=backbone, baseline=over, basis="seeds, paired"),
            first,
            second,
            is_paired=True,
        ),
        by_task={task: estimate(of_seeds) for task, of_seeds in by_task.items()},
        by_language={
            task: dict(zip(codes, differences[task].mean(0).tolist(), strict=True))
            for task, codes in result.languages.items()
        },
        english=_gain_by_side(result, differences, is_english=True),
        others=_gain_by_side(result, differences, is_english=False),
    )


def gains_over_reference(result: TransferResult) -> tuple[Gain, ...]:
    """Gains over the randomly initialised backbone, the corpus first; empty if this backbone was not run."""
    if RANDOM_INIT not in result.bodies:
        return ()
    return tuple(gain(result, backbone, RANDOM_INIT) for backbone in result.bodies if backbone != RANDOM_INIT)


def gains_over_controls(result: TransferResult) -> tuple[Gain, ...]:
    """Gains of the corpus over the other controls, with corrected p values."""
    others = [backbone for backbone in result.bodies if backbone not in (result.corpus, RANDOM_INIT)]
    gains = [gain(result, result.corpus, other) for other in others]
    differences = corrected(each.overall for each in gains)
    return tuple(replace(each, overall=overall) for each, overall in zip(gains, differences, strict=True))


def _gain_by_side(
    result: TransferResult, differences: Mapping[str, Floats], *, is_english: bool
) -> Difference | None:
    """Gain in English, or in the other languages, over the tasks tested in both; None without such tasks."""
    parts = []
    for task, codes in result.languages.items():
        chosen = [(code == ENGLISH) == is_english for code in codes]
        if result.compares_english and 0 < sum(chosen) < len(codes):
            parts.append(differences[task][:, chosen].mean(1))
    return estimate(np.mean(parts, axis=0)) if parts else None
