"""A transfer run: pretraining, training on text, fine-tuning, and collecting the results."""

import hashlib
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from ecsuite.eval.xtreme.jobs import File, Jobs
from ecsuite.eval.xtreme.result import ByTask, Cell, Metrics, TransferResult
from ecsuite.eval.xtreme.scoring.baselines import fit_baseline
from ecsuite.eval.xtreme.scoring.scoring import chance, labels_of, score_predictions
from ecsuite.eval.xtreme.scoring.tasks import TASKS
from ecsuite.eval.xtreme.study import Request, Study
from ecsuite.eval.xtreme.texts import ENGLISH
from ecsuite.jobs.runner import Job, JobRunner

Name = TypeVar("Name")


def xtreme_transfer(request: Request) -> TransferResult:
    """Evaluate a corpus, or a published model, on tasks in human languages.

    Raises:
        ConfigError: If a name is unknown, or data that are needed are missing.
    """
    study = Study(request)
    with ExitStack() as stack:
        folder = request.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = request.num_workers if study.device.type == "cpu" and study.preset.is_reduced else 1
        runner = stack.enter_context(JobRunner(num_workers=workers, folder=folder, progress=request.progress))
        results = _run_stages(study, runner, Jobs(study, folder))
    cells: list[Cell] = []
    learnt_from: dict[str, dict[str, str | None]] = {}
    for (backbone, seed, task, train_language), result_of_task in results.items():
        learnt_from.setdefault(task, {})[train_language] = result_of_task["learnt_from"]
        cells += [
            Cell(body=backbone, seed=seed, task=task, language=language, **scored)
            for language, scored in result_of_task["by_language"].items()
        ]
    baselines, chance_scores = _baselines_and_chance(study)
    return TransferResult.from_cells(
        cells,
        protocol=study.protocol.name,
        preset=study.preset.name,
        corpus=study.bodies[0],
        baselines=baselines,
        chance=chance_scores,
        notes=_notes(study, learnt_from),
        signature=study.signature,
    )


def _run_stages(study: Study, runner: JobRunner, jobs: Jobs) -> dict[tuple[str, int, str, str], Any]:
    """Run all stages; results by backbone, seed, task and training language."""
    _ = study.examples, study.texts  # read first, so that missing data are reported before any training
    pairs = [(backbone, seed) for backbone in study.bodies for seed in study.seeds]
    backbone_files: dict[tuple[str, int], File] = {}
    text_files: dict[tuple[str, int], dict[str, File]] = {pair: {} for pair in pairs}
    if study.request.model is None:
        backbone_files = _run_and_verify(runner, {pair: jobs.pretraining(*pair) for pair in pairs})
        single = [(language,) for language in study.languages]
        groups = [study.languages] if study.protocol.shares_vocabulary else single
        files = _run_and_verify(
            runner,
            {
                (pair, group): jobs.text_training(pair[1], backbone_files[pair], group)
                for pair in pairs
                for group in groups
            },
        )
        for (pair, group), file in files.items():
            text_files[pair] |= dict.fromkeys(group, file)
    finetuning_jobs = {
        (*pair, task, train_language): jobs.finetuning(
            pair[1], backbone_files.get(pair), text_files[pair], task, train_language
        )
        for pair in pairs
        for task, test_languages in study.tested.items()
        for train_language in ((ENGLISH,) if study.protocol.is_zero_shot else test_languages)
    }
    return dict(zip(finetuning_jobs, runner.run(list(finetuning_jobs.values())), strict=True))


def _run_and_verify(runner: JobRunner, jobs: Mapping[Name, Job]) -> dict[Name, File]:
    """Run jobs that write files; run a cached job again if its file is missing or damaged."""
    files = {}
    for (name, job), result in zip(jobs.items(), runner.run(list(jobs.values())), strict=True):
        file = job.inputs["file"]
        if not (file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == result["sha256"]):
            JobRunner(num_workers=1, folder=None, progress=runner.progress).run([job])
        files[name] = (file, result["sha256"])
    return files


def _baselines_and_chance(study: Study) -> tuple[ByTask, ByTask]:
    """Scores of a baseline without a model, and chance level, on the same examples."""
    baselines: dict[str, dict[str, Metrics]] = {}
    chance_scores: dict[str, dict[str, Metrics]] = {}
    for task, languages in study.tested.items():
        predict = fit_baseline(study.request.data, task)
        for language in languages:
            _, examples = study.test_set(task, language)
            metrics = score_predictions(task, language, predict(examples), examples)
            baselines.setdefault(task, {})[language] = metrics
            chance_scores.setdefault(task, {})[language] = chance(task, language, labels_of(task, examples))
    return baselines, chance_scores


def _notes(study: Study, learnt_from: dict[str, dict[str, str | None]]) -> list[str]:
    """Notes on reduced sizes, training data and missing labels."""
    preset, request = study.preset, study.request
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
    if request.model is None and study.protocol.learns_text and request.texts is None:
        lines.append("Training text: tagged sentences outside the test sets (choose another with --texts).")
    for task, languages in study.tested.items():
        requested = request.languages or preset.languages or TASKS[task].languages
        missing = [one for one in requested if one not in languages and one != ENGLISH]
        if missing:
            lines.append(f"{TASKS[task].title}: no labels in {', '.join(missing)}.")
    left_out = [TASKS[task].title for task in request.tasks if task not in study.tested]
    if left_out:
        lines.append(f"Left out, as there are no labels: {', '.join(left_out)}.")
    return lines
