"""The stage from beginning to end: raise bodies, let them learn texts, try the tasks, gather what came of it."""

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
from ecsuite.eval.xtreme.texts import (
    ENGLISH,
)
from ecsuite.jobs.runner import Job, JobRunner

Name = TypeVar("Name")


def xtreme_transfer(request: Request) -> TransferResult:
    """Try a corpus, or a published model, on tasks in human languages.

    Raises:
        ConfigError: If a name is unknown, or data that are needed are missing.
    """
    study = Study(request)
    with ExitStack() as stack:
        folder = request.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        workers = request.num_workers if study.device.type == "cpu" and study.preset.is_reduced else 1
        work = stack.enter_context(JobRunner(num_workers=workers, folder=folder, progress=request.progress))
        tried = _try(study, work, Jobs(study, folder))
    cells: list[Cell] = []
    learnt_from: dict[str, dict[str, str | None]] = {}
    for (body, seed, task, learnt_in), found in tried.items():
        learnt_from.setdefault(task, {})[learnt_in] = found["learnt_from"]
        cells += [
            Cell(body=body, seed=seed, task=task, language=language, **scored)
            for language, scored in found["by_language"].items()
        ]
    baselines, guesses = _without_models(study)
    return TransferResult.from_cells(
        cells,
        protocol=study.protocol.name,
        preset=study.preset.name,
        corpus=study.bodies[0],
        baselines=baselines,
        chance=guesses,
        notes=_notes(study, learnt_from),
        signature=study.signature,
    )


def _try(study: Study, work: JobRunner, jobs: Jobs) -> dict[tuple[str, int, str, str], Any]:
    """All stages in their order; what came of each body, seed, task and language that it was learnt in."""
    _ = study.examples, study.texts  # before anything is learnt, as they may be missing
    pairs = [(body, seed) for body in study.bodies for seed in study.seeds]
    born: dict[tuple[str, int], File] = {}
    learnt: dict[tuple[str, int], dict[str, File]] = {pair: {} for pair in pairs}
    if study.request.model is None:
        born = _finish(work, {pair: jobs.raising(*pair) for pair in pairs})
        one_by_one = [(language,) for language in study.languages]
        groups = [study.languages] if study.protocol.shares_vocabulary else one_by_one
        files = _finish(
            work,
            {(pair, group): jobs.learning(pair[1], born[pair], group) for pair in pairs for group in groups},
        )
        for (pair, group), file in files.items():
            learnt[pair] |= dict.fromkeys(group, file)
    trials = {
        (*pair, task, learnt_in): jobs.trying(pair[1], born.get(pair), learnt[pair], task, learnt_in)
        for pair in pairs
        for task, tested_in in study.tested.items()
        for learnt_in in ((ENGLISH,) if study.protocol.is_zero_shot else tested_in)
    }
    return dict(zip(trials, work.run(list(trials.values())), strict=True))


def _finish(work: JobRunner, jobs: Mapping[Name, Job]) -> dict[Name, File]:
    """Run jobs that write files, and again those whose files have been lost."""
    files = {}
    for (name, job), made in zip(jobs.items(), work.run(list(jobs.values())), strict=True):
        file = job.inputs["file"]
        if not (file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == made["sha256"]):
            JobRunner(num_workers=1, folder=None, progress=work.progress).run([job])
        files[name] = (file, made["sha256"])
    return files


def _without_models(study: Study) -> tuple[ByTask, ByTask]:
    """What a baseline scores on the same examples, and the best guess that looks at nothing."""
    baselines: dict[str, dict[str, Metrics]] = {}
    guesses: dict[str, dict[str, Metrics]] = {}
    for task, languages in study.tested.items():
        predict = fit_baseline(study.request.data, task)
        for language in languages:
            _, asked = study.asked(task, language)
            said = score_predictions(task, language, predict(asked), asked)
            baselines.setdefault(task, {})[language] = said
            guesses.setdefault(task, {})[language] = chance(task, language, labels_of(task, asked))
    return baselines, guesses


def _notes(study: Study, learnt_from: dict[str, dict[str, str | None]]) -> list[str]:
    """What was reduced, and from what tasks were learnt."""
    preset, request = study.preset, study.request
    lines = []
    if preset.is_reduced:
        limits = f"at most {preset.max_train:,} examples learnt and {preset.max_test:,} a language tested"
        tuned = "heads alone tuned, on states as they are" if preset.scope == "head" else "all tuned"
        lines.append(f"Preset {preset.name}: not the benchmark's settings; {limits}; {tuned}.")
    for task, parts in learnt_from.items():
        others = {language: part for language, part in parts.items() if part not in (None, "train")}
        if others:
            told = ", ".join(f"{language} {part}" for language, part in others.items())
            lines.append(f"{TASKS[task].title} was learnt from: {told}.")
    if request.model is None and study.protocol.learns_text and request.texts is None:
        lines.append("Texts: the words of tagged sentences that are not tested (others by --texts).")
    for task, languages in study.tested.items():
        asked = request.languages or preset.languages or TASKS[task].languages
        missing = [one for one in asked if one not in languages and one != ENGLISH]
        if missing:
            lines.append(f"{TASKS[task].title}: nothing to score against in {', '.join(missing)}.")
    left_out = [TASKS[task].title for task in request.tasks if task not in study.tested]
    if left_out:
        lines.append(f"Left out, as there is nothing to score against: {', '.join(left_out)}.")
    return lines
